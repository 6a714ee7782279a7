// Elementary functions on vectors of doubles, compiled once per Highway target: our own, so that results do
// not depend on the host's libm. Only operations that IEEE 754 rounds exactly are used, never a fused
// multiply-add, so every target computes the same bits. Series are Taylor's unless a comment says otherwise:
// the reduced arguments are small enough, and anybody can check the coefficients. Errors are some 2^-50 of
// the result; callers round to fp32.

// Included once per target, hence this guard (see <hwy/foreach_target.h>).
#if defined(NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
#undef NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
#else
#define NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;
using Longs = hn::RebindToSigned<Doubles>;
using LongVector = hn::Vec<Longs>;
using NarrowFloats = hn::Rebind<float, Doubles>;  // as many floats as a vector has doubles

HWY_INLINE DoubleVector doubles(double value) { return hn::Set(Doubles(), value); }
HWY_INLINE LongVector longs(std::int64_t value) { return hn::Set(Longs(), value); }

HWY_INLINE DoubleVector load_doubles(const float* source) {
  return hn::PromoteTo(Doubles(), hn::LoadU(NarrowFloats(), source));
}

// Rounds once to fp32, to nearest even; too large numbers become infinite.
HWY_INLINE void store_floats(DoubleVector value, float* destination) {
#if NCEMU_PLAIN_TARGET
  for (std::size_t i = 0; i < hn::Lanes(Doubles()); ++i) {
    // Out of the range of fp32 a cast is undefined. From half a step above the largest number on, numbers
    // round to infinity, below to the largest.
    constexpr double overflow = 0x1.ffffffp127, largest = std::numeric_limits<float>::max();
    const double number = hn::ExtractLane(value, i);
    const double magnitude = std::fabs(number);
    float rounded = magnitude >= overflow ? std::numeric_limits<float>::infinity()
                    : magnitude > largest ? std::numeric_limits<float>::max()
                                          : static_cast<float>(magnitude);
    destination[i] = std::copysign(rounded, static_cast<float>(std::copysign(1.0, number)));
  }
#else
  hn::StoreU(hn::DemoteTo(NarrowFloats(), value), NarrowFloats(), destination);
#endif
}

// coefficients[0] + x * (coefficients[1] + x * ...), highest first in time.
template <std::size_t count>
HWY_INLINE DoubleVector polynomial(DoubleVector x, const double (&coefficients)[count]) {
  DoubleVector sum = doubles(coefficients[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) sum = hn::Add(hn::Mul(sum, x), doubles(coefficients[i]));
  return sum;
}

// Adding this to a small number rounds it to an integer, which the low bits of the sum then hold.
constexpr double round_magic = 0x1.8p52;
constexpr std::int64_t round_magic_bits = 0x4338000000000000;

// ln 2 in two parts; the high one has 32 bits, so that products with small integers are exact.
constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

// e^x = scale * (1 + fraction), scale a power of two.
struct Exponential {
  DoubleVector scale, fraction;
};

// 1/1!, 1/2!, ...: the remainder is below 2^-56 for |r| <= ln 2 / 2.
constexpr double exp_series[] = {
    1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,        1.0 / 5040,
    1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
};

HWY_INLINE Exponential exponential(DoubleVector x) {
  // Past these bounds every result of interest has become 0 or infinite in fp32.
  x = hn::Min(hn::Max(x, doubles(-700.0)), doubles(700.0));
  const DoubleVector shifted = hn::Add(hn::Mul(x, doubles(0x1.71547652b82fep+0)), doubles(round_magic));
  const DoubleVector n = hn::Sub(shifted, doubles(round_magic));
  const DoubleVector r = hn::Sub(hn::Sub(x, hn::Mul(n, doubles(ln2_high))), hn::Mul(n, doubles(ln2_low)));
  const LongVector exponent = hn::ShiftLeft<52>(hn::BitCast(Longs(), shifted));
  const DoubleVector scale = hn::BitCast(Doubles(), hn::Add(exponent, longs(0x3FF0000000000000)));
  return {scale, hn::Mul(r, polynomial(r, exp_series))};
}

HWY_INLINE DoubleVector exp(DoubleVector x) {
  const Exponential e = exponential(x);
  return hn::Add(e.scale, hn::Mul(e.scale, e.fraction));
}

// e^x - 1 without cancellation near 0.
HWY_INLINE DoubleVector expm1(DoubleVector x) {
  const Exponential e = exponential(x);
  return hn::Add(hn::Sub(e.scale, doubles(1.0)), hn::Mul(e.scale, e.fraction));
}

// ln(m) = 2 atanh(s), s = (m - 1) / (m + 1): s^2 <= 0.0295 for m within a factor of sqrt 2 of 1.
constexpr double atanh_series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                   1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};

// Of normal positive numbers; accurate near 1 too.
HWY_INLINE DoubleVector log_of_normal(DoubleVector x) {
  // x = 2^k m, m from sqrt 1/2 to sqrt 2.
  const LongVector bits = hn::BitCast(Longs(), x);
  const LongVector k = hn::ShiftRight<52>(hn::Sub(bits, longs(0x3FE6A09E667F3BCD)));
  const DoubleVector m = hn::BitCast(Doubles(), hn::Sub(bits, hn::ShiftLeft<52>(k)));
  const DoubleVector k_double =
      hn::Sub(hn::BitCast(Doubles(), hn::Add(k, longs(round_magic_bits))), doubles(round_magic));
  const DoubleVector f = hn::Sub(m, doubles(1.0));
  const DoubleVector s = hn::Div(f, hn::Add(f, doubles(2.0)));
  const DoubleVector series = polynomial(hn::Mul(s, s), atanh_series);
  const DoubleVector log_m = hn::Mul(hn::Add(s, s), series);
  return hn::Add(hn::Mul(k_double, doubles(ln2_high)), hn::Add(log_m, hn::Mul(k_double, doubles(ln2_low))));
}

// Of any number that is fp32: those are normal doubles but for 0 and infinity.
HWY_INLINE DoubleVector log(DoubleVector x) {
  const DoubleVector infinity = doubles(std::numeric_limits<double>::infinity());
  DoubleVector result = log_of_normal(x);
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, doubles(0.0)), hn::Neg(infinity), result);
  return hn::IfThenElse(hn::Lt(x, doubles(0.0)), doubles(std::numeric_limits<double>::quiet_NaN()), result);
}

// ln(1 + t) for 0 <= t <= 1; the part of t that 1 + t drops is added back.
HWY_INLINE DoubleVector log1p(DoubleVector t) {
  const DoubleVector u = hn::Add(t, doubles(1.0));
  const DoubleVector dropped = hn::Sub(t, hn::Sub(u, doubles(1.0)));
  return hn::Add(log_of_normal(u), hn::Div(dropped, u));
}

}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
