#include "tools/files/normal.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace ncemu {
namespace {

using Coefficients = std::array<double, 8>;

// AS 241, PPND16: numerator and denominator of a rational function per region, lowest power first.
// clang-format off
constexpr Coefficients centre_over  = {3.3871328727963666080E+0, 1.3314166789178437745E+2, 1.9715909503065514427E+3,
                                       1.3731693765509461125E+4, 4.5921953931549871457E+4, 6.7265770927008700853E+4,
                                       3.3430575583588128105E+4, 2.5090809287301226727E+3};
constexpr Coefficients centre_under = {1.0,                      4.2313330701600911252E+1, 6.8718700749205790830E+2,
                                       5.3941960214247511077E+3, 2.1213794301586595867E+4, 3.9307895800092710610E+4,
                                       2.8729085735721942674E+4, 5.2264952788528545610E+3};
constexpr Coefficients middle_over  = {1.42343711074968357734E+0, 4.63033784615654529590E+0, 5.76949722146069140550E+0,
                                       3.64784832476320460504E+0, 1.27045825245236838258E+0, 2.41780725177450611770E-1,
                                       2.27238449892691845833E-2, 7.74545014278341407640E-4};
constexpr Coefficients middle_under = {1.0,                       2.05319162663775882187E+0, 1.67638483018380384940E+0,
                                       6.89767334985100004550E-1, 1.48103976427480074590E-1, 1.51986665636164571966E-2,
                                       5.47593808499534494600E-4, 1.05075007164441684324E-9};
constexpr Coefficients tail_over    = {6.65790464350110377720E+0, 5.46378491116411436990E+0, 1.78482653991729133580E+0,
                                       2.96560571828504891230E-1, 2.65321895265761230930E-2, 1.24266094738807843860E-3,
                                       2.71155556874348757815E-5, 2.01033439929228813265E-7};
constexpr Coefficients tail_under   = {1.0,                       5.99832206555887937690E-1, 1.36929880922735805310E-1,
                                       1.48753612908506148525E-2, 7.86869131145613259100E-4, 1.84631831751005468180E-5,
                                       1.42151175831644588870E-7, 2.04426310338993978564E-15};
// clang-format on

double ratio(const Coefficients& over, const Coefficients& under, double r) {
  double n = over[7], d = under[7];
  for (std::size_t i = 7; i-- > 0;) {
    n = n * r + over[i];
    d = d * r + under[i];
  }
  return n / d;
}

}  // namespace

double portable_log(double x) {
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172,
  // whose series needs 11 terms for 2^-57.
  auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double sum = 0;
  for (int k = 21; k >= 3; k -= 2) sum = (sum + 1.0 / k) * z;
  const double log_m = 2 * s + 2 * s * sum;
  // ln 2 in two parts, the first with trailing zeros, so that exponent * high is exact.
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  return exponent * ln2_high + (log_m + exponent * ln2_low);
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return q * ratio(centre_over, centre_under, 0.180625 - q * q);
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? ratio(middle_over, middle_under, r - 1.6) : ratio(tail_over, tail_under, r - 5);
  return q < 0 ? -x : x;
}

}  // namespace ncemu
