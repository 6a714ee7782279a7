#include <cmath>

#include "kernels/references/references.h"

namespace ncemu::references {

// Strictly from left to right in fp32.
Results prefix_scan(const Call& call) {
  const Tensor& x = call.input("x");
  const std::size_t length = x.size(1);
  std::vector<float> y = x.values;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % length > 0) y[i] = y[i - 1] + y[i];
  }
  return {{"y", {{y.begin(), y.end()}, {}}}};
}

Results selective_scan(const Call& call) {
  const Tensor &delta = call.input("delta"), &u = call.input("u"), &a = call.input("a"), &b = call.input("b"),
               &c = call.input("c");
  const std::size_t channels = delta.size(0), length = delta.size(1), states = a.size(1);
  Expected y{std::vector<double>(channels * length), std::vector<double>(channels * length)};
  for (std::size_t p = 0; p < channels; ++p) {
    for (std::size_t t = 0; t < length && call.has("d"); ++t) {
      const double term = static_cast<double>(call.input("d").values[p]) * u.values[p * length + t];
      y.values[p * length + t] = term;
      y.magnitude[p * length + t] = std::abs(term);
    }
    for (std::size_t s = 0; s < states; ++s) {
      double h = 0, size = 0;
      for (std::size_t t = 0; t < length; ++t) {
        const double step = delta.values[p * length + t], decay = std::exp(step * a.values[p * states + s]);
        const double drive = step * u.values[p * length + t] * b.values[s * length + t];
        h = decay * h + drive;
        size = decay * size + std::abs(drive);
        y.values[p * length + t] += h * c.values[s * length + t];
        y.magnitude[p * length + t] += size * std::abs(c.values[s * length + t]);
      }
    }
  }
  return {{"y", std::move(y)}};
}

}  // namespace ncemu::references
