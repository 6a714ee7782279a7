#include <algorithm>
#include <cmath>

#include "kernels/references/references.h"

namespace ncemu::references {
namespace {

struct Pooled {
  std::vector<double> largest, mean, magnitude;
};

Pooled pool(const Call& call) {
  const Tensor& x = call.input("x");
  const auto k = static_cast<std::size_t>(call.number("K", 2)),
             s = static_cast<std::size_t>(call.number("S", 2));
  const std::size_t h = x.size(1), w = x.size(2);
  const auto area = static_cast<double>(k * k);
  Pooled pooled;
  for (std::size_t c = 0; c < x.size(0); ++c) {
    for (std::size_t i = 0; i * s + k <= h; ++i) {
      for (std::size_t j = 0; j * s + k <= w; ++j) {
        double top = -INFINITY, sum = 0, size = 0;
        for (std::size_t a = 0; a < k * k; ++a) {
          const double value = x.values[(c * h + i * s + a / k) * w + j * s + a % k];
          top = std::max(top, value);
          sum += value;
          size += std::abs(value);
        }
        pooled.largest.push_back(top);
        pooled.mean.push_back(sum / area);
        pooled.magnitude.push_back(size / area);
      }
    }
  }
  return pooled;
}

}  // namespace

Results max_pool(const Call& call) { return {{"y", {pool(call).largest, {}}}}; }

Results average_pool(const Call& call) {
  Pooled pooled = pool(call);
  return {{"y", {std::move(pooled.mean), std::move(pooled.magnitude)}}};
}

Results conv3x3(const Call& call) {
  const Tensor &x = call.input("x"), &weights = call.input("w");
  const std::size_t ci = x.size(0), h = x.size(1), w = x.size(2), co = weights.size(0), oh = h - 2,
                    ow = w - 2;
  Expected y{std::vector<double>(co * oh * ow), std::vector<double>(co * oh * ow)};
  for (std::size_t o = 0; o < co; ++o) {
    const double bias = call.has("bias") ? call.input("bias").values[o] : 0.0F;
    for (std::size_t r = 0; r < oh; ++r) {
      for (std::size_t c = 0; c < ow; ++c) {
        double sum = bias, size = std::abs(bias);
        for (std::size_t i = 0; i < ci; ++i) {
          for (std::size_t tap = 0; tap < 9; ++tap) {
            const double term = static_cast<double>(x.values[(i * h + r + tap / 3) * w + c + tap % 3]) *
                                weights.values[(o * ci + i) * 9 + tap];
            sum += term;
            size += std::abs(term);
          }
        }
        y.values[(o * oh + r) * ow + c] = sum;
        y.magnitude[(o * oh + r) * ow + c] = size;
      }
    }
  }
  return {{"y", std::move(y)}};
}

Results depthwise_conv1d(const Call& call) {
  const Tensor &x = call.input("x"), &w = call.input("w"), &bias = call.input("bias");
  const std::size_t channels = x.size(0), length = x.size(1), k = w.size(1);
  Expected y;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t t = 0; t < length; ++t) {
      double sum = bias.values[c], size = std::abs(bias.values[c]);
      for (std::size_t i = 0; i < k && i <= t; ++i) {  // i steps back
        const double term = static_cast<double>(w.values[c * k + k - 1 - i]) * x.values[c * length + t - i];
        sum += term;
        size += std::abs(term);
      }
      y.values.push_back(sum);
      y.magnitude.push_back(size);
    }
  }
  return {{"y", std::move(y)}};
}

}  // namespace ncemu::references
