// The GEMM kernels against plain loops, bit for bit: per 128 rows of K an fp32 sum with k ascending
// from zero, the groups added in fp32 in ascending order, one rounding to the output type.

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "isa/number.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Case {
  std::string kernel;
  DType in, out;
  std::int64_t m, k, n;
};

std::vector<float> plain_gemm(const Case& c, const std::vector<float>& at, const std::vector<float>& b) {
  std::vector<float> result(static_cast<std::size_t>(c.m * c.n));
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      float total = 0;
      for (std::int64_t k0 = 0; k0 < c.k; k0 += 128) {
        float group = 0;
        for (std::int64_t k = k0; k < std::min(c.k, k0 + 128); ++k) {
          group = std::fma(at[static_cast<std::size_t>(k * c.m + i)],
                           b[static_cast<std::size_t>(k * c.n + j)], group);
        }
        total = k0 == 0 ? group : total + group;
      }
      result[static_cast<std::size_t>(i * c.n + j)] = total;
    }
  }
  return result;
}

// Both signs and magnitudes from 1/64 to 4 times a normal value: errors of order and of rounding show only
// where large and small values meet in one sum.
std::vector<float> spread_values(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values = random_values(static_cast<std::size_t>(count), seed, 0.5F);
  std::mt19937 random(seed + 1000);
  for (float& value : values) value = std::ldexp(value, static_cast<int>(random() % 9) - 6);
  return values;
}

void check(const Case& c, const std::string& machine) {
  CAPTURE(c.kernel);
  CAPTURE(machine);
  CAPTURE(c.m);
  CAPTURE(c.k);
  CAPTURE(c.n);
  const Bytes at = to_bytes(c.in, spread_values(c.k * c.m, 1));
  const Bytes b = to_bytes(c.in, spread_values(c.k * c.n, 2));
  const Params params = {{"M", std::to_string(c.m)},
                         {"K", std::to_string(c.k)},
                         {"N", std::to_string(c.n)},
                         {"IN", std::string(name(c.in))},
                         {"OUT", std::string(name(c.out))}};
  const Program program = assemble_kernel(c.kernel, params, machine);
  const KernelResult result = run_program(program, {{"at", at}, {"b", b}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const Bytes expected = to_bytes(c.out, plain_gemm(c, to_floats(c.in, at), to_floats(c.in, b)));
  CHECK((result.outputs.at("c") == expected));
}

const std::string machines[] = {"inf2", "trn1", "trn2"};

}  // namespace

TEST_CASE("the fp8 GEMM is the plain loop to the bit, on every machine, in bf16 and f32") {
  for (const std::string& machine : machines) {
    for (const DType out : {DType::bf16, DType::f32}) {
      check({"fp8_gemm.nca", DType::f8e4m3, out, 256, 512, 1024}, machine);
    }
  }
}

TEST_CASE("the fp8 GEMM takes any size") {
  for (const std::int64_t m : {1, 127, 129}) {
    for (const std::int64_t k : {1, 127, 128, 129, 640}) {
      for (const std::int64_t n : {1, 511, 513}) {
        check({"fp8_gemm.nca", DType::f8e4m3, DType::bf16, m, k, n}, "trn1");
      }
    }
  }
  check({"fp8_gemm.nca", DType::f8e4m3, DType::bf16, 130, 700, 2570}, "trn2");
}

TEST_CASE("the other fp8 types run in the same kernel") {
  check({"fp8_gemm.nca", DType::f8e5m2, DType::f32, 128, 256, 512}, "trn1");
  check({"fp8_gemm.nca", DType::f8e3m4, DType::f32, 128, 256, 512}, "trn2");
}

TEST_CASE("the bf16 and fp16 GEMM are the plain loop to the bit") {
  for (const std::string& machine : machines) {
    check({"bf16_gemm.nca", DType::bf16, DType::bf16, 200, 300, 600}, machine);
  }
  check({"bf16_gemm.nca", DType::f16, DType::f32, 128, 128, 512}, "trn1");
}

TEST_CASE("the fp32 GEMM is the plain loop to the bit") {
  for (const std::string& machine : machines) {
    check({"fp32_gemm.nca", DType::f32, DType::f32, 129, 257, 513}, machine);
  }
}

TEST_CASE("an fp32 GEMM takes more than three bf16 GEMMs of the same shape") {
  // Splitting an operand in three bf16 parts would be cheaper.
  const Params params = {{"M", "512"}, {"K", "512"}, {"N", "1024"}};
  RunOptions options;
  options.mode = Mode::timing_only;
  for (const std::string& machine : machines) {
    const Ticks fp32 = run_program(assemble_kernel("fp32_gemm.nca", params, machine), {}, options).run.total;
    const Ticks bf16 = run_program(assemble_kernel("bf16_gemm.nca", params, machine), {}, options).run.total;
    CAPTURE(machine);
    CHECK(fp32 > 2 * bf16);
  }
}
