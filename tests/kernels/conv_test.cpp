// The 3x3 convolution against plain loops.

#include <doctest/doctest.h>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Size {
  std::size_t ci, co, h, w;
};

void check(const std::string& kernel, const Size& size, DType type, const std::string& machine) {
  const auto [ci, co, h, w] = size;
  CAPTURE(kernel);
  CAPTURE(machine);
  CAPTURE(ci);
  CAPTURE(co);
  CAPTURE(w);
  const Bytes xb = to_bytes(type, random_values(ci * h * w, 1)),
              wb = to_bytes(type, random_values(co * ci * 9, 2, 0.2F));
  const std::vector<float> x = to_floats(type, xb), weights = to_floats(type, wb),
                           bias = random_values(co, 3, 4.0F);
  const std::size_t oh = h - 2, ow = w - 2;
  std::vector<double> expected, bound;
  // One rounding to the output's type; before it, up to 9 * CI + 1 additions in fp32.
  const double last = type == DType::f32 ? 0x1p-24 : type == DType::f16 ? 0x1p-11 : 0x1p-8;
  for (std::size_t o = 0; o < co; ++o) {
    for (std::size_t r = 0; r < oh; ++r) {
      for (std::size_t c = 0; c < ow; ++c) {
        double sum = bias[o], size_of_sum = std::abs(bias[o]);
        for (std::size_t i = 0; i < ci; ++i) {
          for (std::size_t tap = 0; tap < 9; ++tap) {
            const double term = static_cast<double>(x[(i * h + r + tap / 3) * w + c + tap % 3]) *
                                weights[(o * ci + i) * 9 + tap];
            sum += term;
            size_of_sum += std::abs(term);
          }
        }
        expected.push_back(sum);
        bound.push_back(last * std::abs(sum) + static_cast<double>(9 * ci + 2) * fp32_rounding * size_of_sum +
                        0x1p-24);
      }
    }
  }
  const auto outputs = run_kernel(
      kernel,
      {{"CI", text(ci)}, {"CO", text(co)}, {"H", text(h)}, {"W", text(w)}, {"T", std::string(name(type))}},
      machine, {{"x", xb}, {"w", wb}, {"bias", to_bytes(DType::f32, bias)}});
  CHECK(worst_error(to_floats(type, outputs.at("y")), expected, bound) < 1);
}

}  // namespace

TEST_CASE("the 3x3 convolution is the plain loop up to its roundings, at awkward sizes") {
  for (const std::string& machine : all_machines) {
    check("conv3x3.nca", {130, 140, 9, 37}, DType::f16, machine);
    check("conv3x3.nca", {3, 5, 8, 300}, DType::f32, machine);
  }
  check("conv3x3.nca", {1, 1, 3, 3}, DType::f32, "trn1");
  check("conv3x3.nca", {20, 130, 40, 66}, DType::f16,
        "trn1");  // two bands, the last with two tiles, one short
  check("conv3x3.nca", {64, 128, 5, 514}, DType::bf16, "trn2");
  check("conv3x3.nca", {128, 129, 40, 10}, DType::bf16, "trn1");
}

TEST_CASE("the published form of the convolution computes the same") {
  for (const std::string machine : {"trn1", "trn2"})
    check("published/conv3x3.nca", {130, 64, 11, 66}, DType::f16, machine);
}
