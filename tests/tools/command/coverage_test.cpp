#include "tools/command/coverage.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace ncemu;
using namespace ncemu::command;

namespace {

Program with_output(DType dtype, std::vector<std::int64_t> shape) {
  Program program;
  program.tensors.push_back(
      {.name = "x", .kind = TensorKind::input, .dtype = dtype, .shape = shape, .data = {}});
  program.tensors.push_back(
      {.name = "c", .kind = TensorKind::output, .dtype = dtype, .shape = shape, .data = {}});
  return program;
}

Instruction store_to(HbmPattern dst) {
  Instruction instruction;
  instruction.opcode = Opcode::dma_copy;
  instruction.operands = DmaCopy{.dst = dst, .src = AccessPattern{}};
  return instruction;
}

HbmPattern pattern(std::uint16_t tensor, DType dtype, std::int64_t offset, std::uint32_t count,
                   std::int32_t step = 1) {
  HbmPattern p;
  p.tensor = tensor;
  p.dtype = dtype;
  p.offset = offset;
  p.dims[0] = {step, count};
  return p;
}

}  // namespace

TEST_CASE("an output that nobody wrote is reported, inputs are not") {
  const Program program = with_output(DType::f32, {4, 100});
  Coverage coverage(program);
  coverage.note(store_to(pattern(0, DType::f32, 0, 400)));
  CHECK(coverage.complaints() == std::vector<std::string>{"output 'c' was never written"});
}

TEST_CASE("a partly written output names how many are missing and the first of them") {
  const Program program = with_output(DType::bf16, {4, 100});
  Coverage coverage(program);
  coverage.note(store_to(pattern(1, DType::bf16, 0, 103)));
  coverage.note(store_to(pattern(1, DType::bf16, 104, 296)));
  CHECK(coverage.complaints() ==
        std::vector<std::string>{"output 'c': 1 of 400 elements were never written, the first at [1, 3]"});
  coverage.note(store_to(pattern(1, DType::bf16, 103, 1)));
  CHECK(coverage.complaints().empty());
}

TEST_CASE("strided stores mark only what they write") {
  const Program program = with_output(DType::u8, {1000});
  Coverage coverage(program);
  coverage.note(store_to(pattern(1, DType::u8, 0, 500, 2)));
  CHECK(coverage.complaints() ==
        std::vector<std::string>{"output 'c': 500 of 1000 elements were never written, the first at [1]"});
  coverage.note(store_to(pattern(1, DType::u8, 1, 500, 2)));
  CHECK(coverage.complaints().empty());
}

TEST_CASE("an element of which a part is written still counts as missing") {
  const Program program = with_output(DType::f32, {2});
  Coverage coverage(program);
  coverage.note(store_to(pattern(1, DType::u8, 0, 7)));
  CHECK(coverage.complaints() ==
        std::vector<std::string>{"output 'c': 1 of 2 elements were never written, the first at [1]"});
}

// Whole words of the bitmap and both of its ends.
TEST_CASE("every range of a small output marks exactly its bytes") {
  const Program program = with_output(DType::u8, {200});
  for (std::uint32_t begin = 0; begin < 200; begin += 7) {
    for (std::uint32_t end = begin + 1; end <= 200; end += 5) {
      Coverage coverage(program);
      coverage.note(store_to(pattern(1, DType::u8, begin, end - begin)));
      const std::uint32_t missing = 200 - (end - begin);
      const std::uint32_t first = begin == 0 ? end : 0;
      const std::vector<std::string> complaints = coverage.complaints();
      if (missing == 0) {
        CHECK(complaints.empty());
      } else {
        REQUIRE(complaints.size() == 1);
        CHECK(complaints[0] ==
              fmt::format("output 'c': {} of 200 elements were never written, the first at [{}]", missing,
                          first));
      }
    }
  }
}
