// Quantising rows and the way back, bit for bit: every step of the kernels is one rounded fp32 operation.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

// Rows of very different size, one of zeros, both signs.
std::vector<float> rows_of_all_sizes(std::size_t rows, std::size_t columns) {
  std::vector<float> values = random_values(rows * columns, 1);
  for (std::size_t r = 0; r < rows; ++r) {
    const float factor = r == 1 ? 0.0F : std::ldexp(1.0F, static_cast<int>(r % 23) - 11);
    for (std::size_t c = 0; c < columns; ++c) values[r * columns + c] *= factor;
  }
  return values;
}

Params parameters(std::size_t rows, std::size_t columns, DType from, DType to) {
  return {{"R", std::to_string(rows)},
          {"C", std::to_string(columns)},
          {"T", std::string(name(from))},
          {"Q", std::string(name(to))}};
}

// The largest number of each type: datasheet 4.2; e5m2 and e3m4 with infinities.
float largest(DType type) {
  return type == DType::i8       ? 127.0F
         : type == DType::f8e4m3 ? 240.0F
         : type == DType::f8e5m2 ? 57344.0F
                                 : 15.5F;
}

void check_there_and_back(std::size_t rows, std::size_t columns, DType from, DType to,
                          const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(std::string(name(to)));
  const Bytes x = to_bytes(from, rows_of_all_sizes(rows, columns));
  const Params params = parameters(rows, columns, from, to);
  const KernelResult there =
      run_program(assemble_kernel("quantize_rows.nca", params, machine), {{"x", x}}, {});
  REQUIRE_MESSAGE(there.run.status == RunStatus::finished, there.run.message);

  const std::vector<float> in = to_floats(from, x);
  std::vector<float> scales(rows), quantised(rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    float top = 1e-30F;
    for (std::size_t c = 0; c < columns; ++c) top = std::max(top, std::abs(in[r * columns + c]));
    scales[r] = top * static_cast<float>(1.0 / static_cast<double>(largest(to)));
    const float inverse = 1.0F / scales[r];
    for (std::size_t c = 0; c < columns; ++c) quantised[r * columns + c] = in[r * columns + c] * inverse;
  }
  const Bytes q = to_bytes(to, quantised);
  CHECK((there.outputs.at("q") == q));
  CHECK((there.outputs.at("scale") == to_bytes(DType::f32, scales)));

  const KernelResult back = run_program(assemble_kernel("dequantize_rows.nca", params, machine),
                                        {{"q", q}, {"scale", to_bytes(DType::f32, scales)}}, {});
  REQUIRE_MESSAGE(back.run.status == RunStatus::finished, back.run.message);
  std::vector<float> restored = to_floats(to, q);
  for (std::size_t i = 0; i < restored.size(); ++i) restored[i] *= scales[i / columns];
  CHECK((back.outputs.at("y") == to_bytes(from, restored)));

  // What the pair is for: no element is further off than half a step of the type at the row's maximum: 1/2 of
  // 127 steps, or 2^-4 (e4m3), 2^-3 (e5m2), 2^-5 (e3m4) of the element's power of two; and the maximum itself
  // is kept.
  const double half_step = to == DType::i8       ? 0.5 / 127
                           : to == DType::f8e4m3 ? 0x1p-4
                           : to == DType::f8e5m2 ? 0x1p-3
                                                 : 0x1p-5;
  for (std::size_t r = 0; r < rows; ++r) {
    double top = 0, worst = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const double original = static_cast<double>(in[r * columns + c]);
      top = std::max(top, std::abs(original));
      worst = std::max(worst, std::abs(static_cast<double>(restored[r * columns + c]) - original));
    }
    CHECK(worst <= 1.01 * half_step * top);
  }
}

}  // namespace

TEST_CASE("rows are quantised to the whole range of their type and restored, bit for bit") {
  for (const std::string& machine : machines) {
    for (const DType to : {DType::f8e4m3, DType::i8}) {
      check_there_and_back(130, 300, DType::bf16, to, machine);
    }
  }
  check_there_and_back(3, 1, DType::f32, DType::i8, "trn1");
  check_there_and_back(127, 2000, DType::f32, DType::f8e5m2, "trn1");
  check_there_and_back(129, 511, DType::f16, DType::f8e3m4, "trn2");
}

TEST_CASE("quantize_rows says which types it knows") {
  CHECK_THROWS_WITH_AS(assemble_kernel("quantize_rows.nca", {{"Q", "u8"}}, "trn1"),
                       doctest::Contains("Q is i8, f8e4m3, f8e5m2 or f8e3m4"), std::exception);
}
