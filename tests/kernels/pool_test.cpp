// Pooling and the depthwise convolution along time against plain loops.

#include <doctest/doctest.h>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

double last_rounding(DType type) {
  return type == DType::f32 ? 0x1p-24 : type == DType::f16 ? 0x1p-11 : 0x1p-8;
}

struct Pool {
  std::size_t channels, h, w, k, s;
};

void check_pool(const Pool& pool, DType type, const std::string& machine) {
  const auto [channels, h, w, k, s] = pool;
  CAPTURE(machine);
  CAPTURE(h);
  CAPTURE(k);
  CAPTURE(s);
  const Bytes bytes = to_bytes(type, random_values(channels * h * w, 1, 10.0F));
  const std::vector<float> x = to_floats(type, bytes);
  std::vector<float> largest;
  std::vector<double> mean, bound;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i * s + k <= h; ++i) {
      for (std::size_t j = 0; j * s + k <= w; ++j) {
        float top = -INFINITY;
        double sum = 0, size = 0;
        for (std::size_t a = 0; a < k * k; ++a) {
          const float value = x[(c * h + i * s + a / k) * w + j * s + a % k];
          top = std::max(top, value);
          sum += value;
          size += std::abs(value);
        }
        const auto area = static_cast<double>(k * k);
        largest.push_back(top);
        mean.push_back(sum / area);
        // Up to k * k additions, the factor and the last rounding.
        bound.push_back((area + 2) * fp32_rounding * size / area +
                        last_rounding(type) * std::abs(sum) / area + 1e-9);
      }
    }
  }
  const Params params = {{"CH", text(channels)}, {"H", text(h)}, {"W", text(w)},
                         {"K", text(k)},         {"S", text(s)}, {"T", std::string(name(type))}};
  CHECK((run_kernel("max_pool.nca", params, machine, {{"x", bytes}}).at("y") == to_bytes(type, largest)));
  const auto outputs = run_kernel("average_pool.nca", params, machine, {{"x", bytes}});
  CHECK(worst_error(to_floats(type, outputs.at("y")), mean, bound) < 1);
}

void check_depthwise(std::size_t channels, std::size_t length, std::size_t k, std::size_t width, DType type,
                     const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(length);
  CAPTURE(k);
  CAPTURE(width);
  const Bytes bytes = to_bytes(type, random_values(channels * length, 2));
  const Bytes taps = to_bytes(type, random_values(channels * k, 3));
  const std::vector<float> x = to_floats(type, bytes), w = to_floats(type, taps),
                           bias = random_values(channels, 4);
  std::vector<double> expected, bound;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t t = 0; t < length; ++t) {
      double sum = bias[c], size = std::abs(bias[c]);
      for (std::size_t i = 0; i < k && i <= t; ++i) {  // i steps back
        const double term = static_cast<double>(w[c * k + k - 1 - i]) * x[c * length + t - i];
        sum += term;
        size += std::abs(term);
      }
      expected.push_back(sum);
      bound.push_back(static_cast<double>(2 * k + 2) * fp32_rounding * size +
                      last_rounding(type) * std::abs(sum) + 1e-9);
    }
  }
  const auto outputs = run_kernel("depthwise_conv1d.nca",
                                  {{"CH", text(channels)},
                                   {"L", text(length)},
                                   {"K", text(k)},
                                   {"W", text(width)},
                                   {"T", std::string(name(type))}},
                                  machine, {{"x", bytes}, {"w", taps}, {"bias", to_bytes(DType::f32, bias)}});
  CHECK(worst_error(to_floats(type, outputs.at("y")), expected, bound) < 1);
}

}  // namespace

TEST_CASE("pooling windows that touch give their maximum exactly and their mean up to roundings") {
  for (const std::string& machine : all_machines) check_pool({130, 11, 13, 2, 2}, DType::bf16, machine);
  check_pool({5, 90, 14, 3, 3}, DType::f32, "trn1");
  check_pool({128, 150, 16, 1, 1}, DType::f16, "trn2");
  check_pool({1, 7, 7, 7, 7}, DType::f32, "trn2");
}

TEST_CASE("pooling windows that overlap, or leave gaps, do the same") {
  for (const std::string& machine : all_machines) check_pool({130, 11, 13, 3, 2}, DType::f32, machine);
  check_pool({3, 100, 20, 3, 1}, DType::bf16, "trn1");
  check_pool({129, 12, 17, 2, 3}, DType::f16, "trn2");
  check_pool({2, 1, 1, 1, 4}, DType::f32, "trn1");
}

TEST_CASE("the depthwise convolution sees the past only, across tiles and before time 0") {
  for (const std::string& machine : all_machines) check_depthwise(130, 100, 4, 33, DType::f32, machine);
  check_depthwise(128, 1100, 4, 2048, DType::bf16, "trn1");
  check_depthwise(1, 1, 1, 1, DType::f32, "trn1");
  check_depthwise(3, 20, 9, 2, DType::f16, "trn2");  // tiles shorter than the window
}
