// The three transposes, bit for bit.

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

// Any bits: NaN, Inf, -0 and subnormals among them.
Bytes random_bytes(std::size_t count) {
  Bytes bytes(count);
  std::mt19937 random(7);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 0xFF);
  return bytes;
}

void check(const std::string& kernel, std::size_t rows, std::size_t columns, DType type, const Bytes& x,
           const std::string& machine) {
  CAPTURE(kernel);
  CAPTURE(machine);
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(std::string(name(type)));
  const auto size = static_cast<std::size_t>(size_of(type));
  const KernelResult result = run_program(
      assemble_kernel(
          kernel,
          {{"R", std::to_string(rows)}, {"C", std::to_string(columns)}, {"T", std::string(name(type))}},
          machine),
      {{"x", x}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  Bytes expected(x.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      std::memcpy(expected.data() + (c * rows + r) * size, x.data() + (r * columns + c) * size, size);
    }
  }
  CHECK((result.outputs.at("y") == expected));
}

void check_bits(const std::string& kernel, std::size_t rows, std::size_t columns, DType type,
                const std::string& machine) {
  check(kernel, rows, columns, type, random_bytes(rows * columns * static_cast<std::size_t>(size_of(type))),
        machine);
}

void check_values(const std::string& kernel, std::size_t rows, std::size_t columns, DType type,
                  const std::string& machine) {
  check(kernel, rows, columns, type, to_bytes(type, random_values(rows * columns, 5, 8.0F)), machine);
}

}  // namespace

TEST_CASE("the tensor engine's transpose is exact for finite values, at any size") {
  for (const std::string& machine : machines) {
    for (const DType type : {DType::bf16, DType::f16, DType::f32}) {
      check_values("transpose_tensor.nca", 200, 300, type, machine);
    }
  }
  check_values("transpose_tensor.nca", 1, 1, DType::bf16, "trn1");
  check_values("transpose_tensor.nca", 513, 129, DType::bf16, "trn1");
  check_values("transpose_tensor.nca", 640, 2100, DType::bf16, "trn2");
}

TEST_CASE("on NeuronCore-v3 the tensor engine moves bits") {
  check_bits("transpose_tensor.nca", 129, 257, DType::bf16, "trn2");
  check_bits("transpose_tensor.nca", 129, 257, DType::f16, "trn2");
}

TEST_CASE("the vector engine's transpose moves bits of every width") {
  for (const std::string& machine : machines) {
    for (const DType type : {DType::i8, DType::bf16, DType::f32}) {
      check_bits("transpose_vector.nca", 96, 320, type, machine);
    }
  }
  check_bits("transpose_vector.nca", 32, 32, DType::u16, "trn1");
  check_bits("transpose_vector.nca", 1056, 1120, DType::bf16, "trn1");
  check_bits("transpose_vector.nca", 544, 1024, DType::i32, "trn2");
}

TEST_CASE("the transposing transfer moves bits of every width, at any size") {
  for (const std::string& machine : machines) {
    for (const DType type : {DType::u8, DType::bf16, DType::f32}) {
      check_bits("transpose_dma.nca", 70, 130, type, machine);
    }
  }
  check_bits("transpose_dma.nca", 1, 1, DType::bf16, "trn1");
  check_bits("transpose_dma.nca", 2050, 3, DType::bf16, "trn2");
  check_bits("transpose_dma.nca", 256, 256, DType::bf16, "trn2");
}

TEST_CASE("only NeuronCore-v3 transposes in its DMA engines as fast as the tensor engine does") {
  const Params params = {{"R", "2048"}, {"C", "2048"}};
  CHECK(time_kernel("transpose_dma.nca", params, "trn1").total_us >
        10 * time_kernel("transpose_tensor.nca", params, "trn1").total_us);
  CHECK(time_kernel("transpose_dma.nca", params, "trn2").total_us <
        1.2 * time_kernel("transpose_tensor.nca", params, "trn2").total_us);
}
