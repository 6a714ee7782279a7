// Operands that only instructions of the vector engine have: patterns that may be left out, and the lane
// mask.

#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string tiles =
    ".sbuf x : f32[128, 64]\n"
    ".sbuf y : f32[128, 64]\n"
    ".sbuf n : i32[128, 64]\n"
    ".sbuf u : u8[128, 64]\n"
    ".sbuf v : f32[128, 8]\n"
    ".sbuf k : u32[128, 8]\n";

Instruction only(const std::string& line) {
  const Program program = assembled(tiles + line + "\n");
  REQUIRE(program.stream(Engine::vector).size() == 1);
  return program.stream(Engine::vector)[0];
}
template <typename Form>
Form operands(const std::string& line) {
  return std::get<Form>(only(line).operands);
}

}  // namespace

TEST_CASE("an optional pattern is named, and absent when it is not written or none") {
  CHECK_FALSE(operands<MatchReplace>("match_replace8 y, x, value = -1.0").index);
  CHECK_FALSE(operands<MatchReplace>("match_replace8 y, x, index = none").index);
  const auto with = operands<MatchReplace>("match_replace8 y, x, index = k");
  REQUIRE(with.index);
  CHECK(with.index->dtype == DType::u32);
  CHECK(with.index->elements() == 8);
  const auto copy = operands<CopyPredicated>("tensor_copy_predicated y, u, src = x[:, 0:1].broadcast(1, 64)");
  REQUIRE(copy.src);
  CHECK(copy.src->dims[0] == Dim{0, 64});
}

TEST_CASE("an integer stays an integer where it fills an integer tile under a predicate") {
  CHECK(operands<CopyPredicated>("tensor_copy_predicated n, u, value = 16777217").value ==
        ScalarOperand{16777217});
  CHECK(operands<CopyPredicated>("tensor_copy_predicated y, u, value = 2").value == ScalarOperand{2.0F});
}

TEST_CASE("the lane mask is a list of 32 numbers") {
  std::string list;
  for (int i = 0; i < 32; ++i) list += (i == 0 ? "" : ", ") + std::to_string(i == 5 ? 255 : 31 - i);
  const auto mask = operands<LoadMask>("load_mask mask = [" + list + "]").mask;
  CHECK(mask.source[0] == 31);
  CHECK(mask.source[5] == ShuffleMask::keep);
  CHECK(mask.source[31] == 0);
  CHECK(contains(errors(tiles + "load_mask mask = [1, 2, 3]\n"),
                 "operand 'mask' of load_mask must be a list of 32 lanes, found 3 of them"));
  CHECK(contains(errors(tiles + "load_mask mask = 3\n"), "must be a list of 32 lanes, found something else"));
  CHECK(contains(errors(tiles + "load_mask mask = [" + list + " + 300]\n"), "lane 31 of the mask"));
  CHECK(contains(errors(tiles + "load_mask mask = [" + list + " + 40]\n"),
                 "entry 31 is 40, expected 0 to 31, or 255"));
}

TEST_CASE("the engine of an accumulator is chosen by name") {
  CHECK(assembled(tiles + "read_accumulator x[:, 0:1]\n").stream(Engine::scalar).size() == 1);
  CHECK(assembled(tiles + "read_accumulator x[:, 0:1], engine = vector\n").stream(Engine::vector).size() ==
        1);
}
