// Which elements of an output were written, whatever the shape of the stores.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "emu/observe/initialisation.h"
#include "tests/emu/observe/observed.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

Program with_output(DType dtype, std::vector<std::int64_t> shape) {
  Program program;
  program.tensors.push_back(
      {.name = "x", .kind = TensorKind::input, .dtype = dtype, .shape = shape, .data = {}});
  program.tensors.push_back(
      {.name = "c", .kind = TensorKind::output, .dtype = dtype, .shape = shape, .data = {}});
  return program;
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

// The messages after stores to these patterns.
std::vector<std::string> complaints(Program program, const std::vector<HbmPattern>& stores) {
  Initialisation checks(program);
  for (const HbmPattern& dst : stores) {
    HbmPattern src = dst;
    src.tensor = 0;
    src.dtype = program.tensors[0].dtype;
    start(program, checks, Engine::sync, Opcode::dma_copy, DmaCopy{.dst = dst, .src = src});
  }
  std::vector<std::string> texts;
  for (const Finding& f : checks.outputs()) texts.push_back(f.message);
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("an output that nobody wrote is reported, inputs are not") {
  CHECK(complaints(with_output(DType::f32, {4, 100}), {pattern(0, DType::f32, 0, 400)}) ==
        Texts{"output 'c' was never written"});
}

TEST_CASE("a partly written output names how many are missing and the first of them") {
  const Program program = with_output(DType::bf16, {4, 100});
  const HbmPattern before = pattern(1, DType::bf16, 0, 103), behind = pattern(1, DType::bf16, 104, 296);
  CHECK(complaints(program, {before, behind}) ==
        Texts{"output 'c': 1 of 400 elements were never written, the first at c[1, 3]"});
  CHECK(complaints(program, {before, behind, pattern(1, DType::bf16, 103, 1)}).empty());
}

TEST_CASE("strided stores mark only what they write") {
  const Program program = with_output(DType::u8, {1000});
  const HbmPattern even = pattern(1, DType::u8, 0, 500, 2), odd = pattern(1, DType::u8, 1, 500, 2);
  CHECK(complaints(program, {even}) ==
        Texts{"output 'c': 500 of 1000 elements were never written, the first at c[1]"});
  CHECK(complaints(program, {even, odd}).empty());
}

TEST_CASE("an element of which a part is written still counts as missing") {
  CHECK(complaints(with_output(DType::f32, {2}), {pattern(1, DType::u8, 0, 7)}) ==
        Texts{"output 'c': 1 of 2 elements were never written, the first at c[1]"});
}

// Whole words of the bitmap and both of its ends; and the border between two pages of 64 KiB.
TEST_CASE("every range of an output marks exactly its bytes") {
  for (const std::int64_t origin : {0, 65'536 - 100}) {
    const std::int64_t size = origin + 200;
    const Program program = with_output(DType::u8, {size});
    for (std::uint32_t begin = 0; begin < 200; begin += 7) {
      for (std::uint32_t end = begin + 1; end <= 200; end += 5) {
        std::vector<HbmPattern> stores = {pattern(1, DType::u8, origin + begin, end - begin)};
        if (origin > 0) stores.push_back(pattern(1, DType::u8, 0, static_cast<std::uint32_t>(origin)));
        const std::uint32_t missing = 200 - (end - begin);
        const std::int64_t first = origin + (begin == 0 ? end : 0);
        const Texts expected =
            missing == 0
                ? Texts{}
                : Texts{fmt::format("output 'c': {} of {} elements were never written, the first at c[{}]",
                                    missing, size, first)};
        CHECK(complaints(program, stores) == expected);
      }
    }
  }
}
