// The scales of the fp8 GEMM and its double rows against plain loops, bit for bit.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "isa/fault.h"
#include "tests/support/kernel.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

Params sizes(std::int64_t m, std::int64_t k, std::int64_t n) {
  return {{"M", std::to_string(m)}, {"K", std::to_string(k)}, {"N", std::to_string(n)}};
}

// Normal values that use the whole range of e4m3, both signs.
std::vector<float> values(std::int64_t count, std::uint32_t seed) {
  return random_values(static_cast<std::size_t>(count), seed, 30.0F);
}

// Scales of rows from 2^-9 to 2^2, none a power of two: a scale that is applied twice, to a neighbour's row
// or after the rounding to bf16 shows.
std::vector<float> row_scales(std::int64_t count) {
  std::vector<float> scales(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    scales[i] = std::ldexp(1.0F + static_cast<float>(i % 61) / 61.0F, static_cast<int>(i % 12) - 9);
  }
  return scales;
}

void check_scaled(const std::string& mode, std::int64_t m, std::int64_t k, std::int64_t n,
                  const std::string& machine) {
  CAPTURE(mode);
  CAPTURE(machine);
  CAPTURE(m);
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n);
  const Bytes at = to_bytes(DType::f8e4m3, values(k * m, 1)), b = to_bytes(DType::f8e4m3, values(k * n, 2));
  const std::vector<float> scales = row_scales(mode == "row" ? m : 1);
  Params params = sizes(m, k, n);
  params["SCALES"] = mode;
  const KernelResult result =
      run_program(assemble_kernel("fp8_gemm.nca", params, machine),
                  {{"at", at}, {"b", b}, {"scale", to_bytes(DType::f32, scales)}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  std::vector<float> expected = gemm(to_floats(DType::f8e4m3, at), to_floats(DType::f8e4m3, b),
                                     static_cast<std::size_t>(k), rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) expected[i * columns + j] *= scales[mode == "row" ? i : 0];
  }
  CHECK((result.outputs.at("c") == to_bytes(DType::bf16, expected)));
}

void check_double_row(DType type, std::int64_t m, std::int64_t k, std::int64_t n,
                      const std::string& scale_mode = "none") {
  CAPTURE(scale_mode);
  CAPTURE(m);
  CAPTURE(k);
  CAPTURE(n);
  const Bytes at = to_bytes(type, values(k * m, 3)), b = to_bytes(type, values(k * n, 4));
  Params params = sizes(m, k, n);
  params["IN"] = std::string(name(type));
  params["OUT"] = "f32";
  params["SCALES"] = scale_mode;
  const std::vector<float> scales = row_scales(scale_mode == "row" ? m : 1);
  std::map<std::string, Bytes> inputs = {{"at", at}, {"b", b}};
  if (scale_mode != "none") inputs["scale"] = to_bytes(DType::f32, scales);
  const KernelResult result =
      run_program(assemble_kernel("fp8_double_row_gemm.nca", params, "trn2"), inputs, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  std::vector<float> expected =
      double_row_gemm(to_floats(type, at), to_floats(type, b), static_cast<std::size_t>(k),
                      static_cast<std::size_t>(m), static_cast<std::size_t>(n));
  if (scale_mode != "none") {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] *= scales[scale_mode == "row" ? i / static_cast<std::size_t>(n) : 0];
    }
  }
  CHECK((result.outputs.at("c") == to_bytes(DType::f32, expected)));
}

}  // namespace

TEST_CASE("scales of the tensor and of rows multiply the fp32 sums before the one rounding to bf16") {
  for (const std::string& machine : machines) {
    check_scaled("tensor", 140, 260, 600, machine);
    check_scaled("row", 140, 260, 600, machine);
  }
  check_scaled("row", 530, 64, 2100, "trn1");
  check_scaled("row", 530, 64, 2100, "trn2");
  check_scaled("row", 1, 129, 1, "trn2");
}

TEST_CASE("the double-row GEMM is the plain loop over pairs of rows to the bit") {
  check_double_row(DType::f8e4m3, 256, 512, 1024);
  check_double_row(DType::f8e5m2, 128, 256, 512);
  check_double_row(DType::f8e4m3, 200, 300, 600, "row");
  check_double_row(DType::f8e4m3, 200, 300, 600, "tensor");
}

TEST_CASE("the double-row GEMM takes any size") {
  for (const std::int64_t k : {1, 128, 129, 256, 300, 385, 640}) {
    check_double_row(DType::f8e4m3, 130, k, 513);
  }
  check_double_row(DType::f8e4m3, 1, 256, 1);
}

TEST_CASE("the double-row GEMM says on NeuronCore-v2 that it needs v3") {
  try {
    assemble_kernel("fp8_double_row_gemm.nca", {}, "trn1");
    FAIL("it assembled");
  } catch (const Fault& fault) {
    CHECK(std::string(fault.what()).find("double rows exist from NeuronCore-v3") != std::string::npos);
  }
}

TEST_CASE("double rows nearly halve the time of a large fp8 GEMM") {
  const Params params = sizes(2048, 2048, 2048);
  CHECK(time_kernel("fp8_double_row_gemm.nca", params, "trn2").total_us <
        0.55 * time_kernel("fp8_gemm.nca", params, "trn2").total_us);
}
