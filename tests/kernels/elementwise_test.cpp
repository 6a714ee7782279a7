// Vector add and softmax against plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "isa/number.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

void check_add(std::int64_t rows, std::int64_t columns, std::int64_t width, DType type,
               const std::string& machine) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(machine);
  const auto count = static_cast<std::size_t>(rows * columns);
  const Bytes a = to_bytes(type, random_values(count, 1, 3.0F));
  const Bytes b = to_bytes(type, random_values(count, 2, 3.0F));
  const Program program = assemble_kernel("vector_add.nca",
                                          {{"R", std::to_string(rows)},
                                           {"C", std::to_string(columns)},
                                           {"W", std::to_string(width)},
                                           {"T", std::string(name(type))}},
                                          machine);
  const KernelResult result = run_program(program, {{"a", a}, {"b", b}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const std::vector<float> x = to_floats(type, a), y = to_floats(type, b);
  std::vector<float> sum(count);
  for (std::size_t i = 0; i < count; ++i) sum[i] = x[i] + y[i];
  CHECK((result.outputs.at("c") == to_bytes(type, sum)));
}

// The kernel computes exp and the sum in fp32 and rounds the result once more: a relative error of a few fp32
// roundings over the row and half a unit in the last place of the output type, or half of its smallest
// number.
void check_softmax(std::int64_t rows, std::int64_t columns, DType type, double tolerance,
                   const std::string& machine, std::int64_t width = 0) {
  const double underflow = type == DType::f16 ? std::ldexp(1.0, -25) : std::ldexp(1.0, -134);
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(machine);
  const Bytes x = to_bytes(type, random_values(static_cast<std::size_t>(rows * columns), 3, 6.0F));
  const Program program = assemble_kernel("softmax.nca",
                                          {{"R", std::to_string(rows)},
                                           {"C", std::to_string(columns)},
                                           {"T", std::string(name(type))},
                                           {"W", std::to_string(width)}},
                                          machine);
  const KernelResult result = run_program(program, {{"x", x}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const std::vector<float> in = to_floats(type, x), out = to_floats(type, result.outputs.at("y"));
  double worst = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto* row = in.data() + r * columns;
    const double top = *std::max_element(row, row + columns);
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(row[c] - top);
    for (std::int64_t c = 0; c < columns; ++c) {
      const double expected = std::exp(row[c] - top) / sum;
      const double error = std::abs(out[static_cast<std::size_t>(r * columns + c)] - expected);
      worst = std::max(worst, (error - underflow) / expected);
    }
  }
  CHECK(worst < tolerance);
}

}  // namespace

TEST_CASE("vector add is exact at awkward sizes on every machine") {
  for (const std::string& machine : machines) check_add(200, 700, 512, DType::f32, machine);
  check_add(1, 1, 2000, DType::f32, "trn1");
  check_add(127, 129, 128, DType::bf16, "trn1");
  check_add(129, 511, 100, DType::f16, "trn2");
  check_add(256, 2000, 2000, DType::f32, "trn1");
}

TEST_CASE("softmax of rows is the double-precision softmax up to its roundings") {
  for (const std::string& machine : machines) check_softmax(300, 257, DType::f32, 2e-5, machine);
  check_softmax(1, 1, DType::f32, 1e-6, "trn1");
  check_softmax(127, 512, DType::bf16, 4.1e-3, "trn1");
  check_softmax(129, 511, DType::f16, 5.2e-4, "trn2");
  check_softmax(512, 128, DType::bf16, 4.1e-3, "trn2");
}

TEST_CASE("softmax of rows in parts is the same function, wherever in the row the maximum is") {
  for (const std::string& machine : machines) check_softmax(300, 257, DType::f32, 2e-5, machine, 64);
  check_softmax(3, 2, DType::f32, 1e-6, "trn1", 1);
  check_softmax(127, 512, DType::bf16, 4.1e-3, "trn1", 100);
  check_softmax(2, 30000, DType::bf16, 4.1e-3, "trn1");  // too long for SBUF in one part
}
