// The GEMM ladder against plain loops, bit for bit, and what each rung is worth.

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/kernel.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};
// From the first rung to the last.
const std::string rungs[] = {"gemm_naive.nca", "gemm_stationary.nca", "gemm_buffered.nca", "gemm_blocked.nca",
                             "bf16_gemm.nca"};

Params sizes(std::int64_t m, std::int64_t k, std::int64_t n) {
  return {{"M", std::to_string(m)}, {"K", std::to_string(k)}, {"N", std::to_string(n)}};
}

// Both signs, magnitudes over nine powers of two: an error of order shows where large and small values meet.
std::vector<float> spread_values(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values = random_values(static_cast<std::size_t>(count), seed, 0.5F);
  std::mt19937 random(seed + 1000);
  for (float& value : values) value = std::ldexp(value, static_cast<int>(random() % 9) - 6);
  return values;
}

void check(const std::string& kernel, DType type, std::int64_t m, std::int64_t k, std::int64_t n,
           const std::string& machine) {
  CAPTURE(kernel);
  CAPTURE(machine);
  CAPTURE(m);
  CAPTURE(k);
  CAPTURE(n);
  const Bytes at = to_bytes(type, spread_values(k * m, 1)), b = to_bytes(type, spread_values(k * n, 2));
  Params params = sizes(m, k, n);
  params["IN"] = params["OUT"] = std::string(name(type));
  const KernelResult result =
      run_program(assemble_kernel(kernel, params, machine), {{"at", at}, {"b", b}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const auto expected = gemm(to_floats(type, at), to_floats(type, b), static_cast<std::size_t>(k),
                             static_cast<std::size_t>(m), static_cast<std::size_t>(n));
  CHECK((result.outputs.at("c") == to_bytes(type, expected)));
}

}  // namespace

TEST_CASE("every rung of the GEMM ladder is the plain loop to the bit, in bf16 and fp32") {
  for (const std::string& kernel : rungs) {
    for (const std::string& machine : machines) check(kernel, DType::bf16, 140, 260, 600, machine);
    check(kernel, DType::f32, 129, 257, 513, "trn1");
    check(kernel, DType::f32, 128, 256, 1024, "trn2");
    check(kernel, DType::bf16, 1, 1, 1, "trn1");
    check(kernel, DType::bf16, 65, 300, 1100, "trn2");
  }
}

TEST_CASE("the best schedule is right with several blocks of B and several groups of rows of A") {
  // Four rows of blocks start a block of B; rows beyond come in groups of four, the last short. 2,560 columns
  // are two blocks, the second of one bank.
  check("bf16_gemm.nca", DType::bf16, 650, 130, 2560, "trn1");
  check("bf16_gemm.nca", DType::bf16, 530, 64, 4097, "trn2");
}

TEST_CASE("each rung of the ladder takes less time than the one below it") {
  for (const std::string& machine : machines) {
    double before = INFINITY;
    for (const std::string& kernel : rungs) {
      CAPTURE(kernel);
      CAPTURE(machine);
      const double us = time_kernel(kernel, sizes(2048, 2048, 2048), machine).total_us;
      CHECK(us < 0.95 * before);
      before = us;
    }
  }
}

TEST_CASE("the best GEMM keeps the tensor engine as busy as it promises") {
  // clang-format off
  const struct { const char* kernel; const char* machine; int size; double percent; } promises[] = {
      // kernel                   machine  size  mfu_estimated_percent
      {"bf16_gemm.nca",            "trn1", 2048, 85},
      {"fp8_gemm.nca",             "trn1", 2048, 85},
      {"bf16_gemm.nca",            "trn2", 2048, 90},
      {"fp8_double_row_gemm.nca",  "trn2", 2048, 88},
      {"bf16_gemm.nca",            "trn1", 4096, 88},
      {"fp8_gemm.nca",             "trn1", 4096, 88},
      {"bf16_gemm.nca",            "trn2", 4096, 93},
      {"fp8_double_row_gemm.nca",  "trn2", 4096, 93},
      // clang-format on
  };
  for (const auto& promise : promises) {
    CAPTURE(promise.kernel);
    CAPTURE(promise.machine);
    CAPTURE(promise.size);
    const Summary summary =
        time_kernel(promise.kernel, sizes(promise.size, promise.size, promise.size), promise.machine);
    REQUIRE(summary.mfu_estimated_percent.has_value());
    CHECK(*summary.mfu_estimated_percent >= promise.percent);
  }
}
