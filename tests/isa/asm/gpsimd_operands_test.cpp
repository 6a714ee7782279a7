// Operands that only instructions of gpsimd have: patterns of integers.

#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string tiles =
    ".sbuf i : i32[128, 512]\n"
    ".sbuf x : f32[128, 512]\n";

Iota iota(const std::string& operands) {
  const Program program = assembled(tiles + "iota " + operands + "\n");
  const auto found = all_of(program, Opcode::iota);
  REQUIRE(found.size() == 1);
  return std::get<Iota>(found[0].operands);
}

}  // namespace

TEST_CASE("a pattern of integers lists its dimensions slowest first, with names for the rest") {
  const Iota f = iota("i, pattern = [[-70000, 4], [2, 128]], offset = -5, channel_multiplier = 1 << 20");
  CHECK(f.pattern.dims[0] == AffineDim{2, 128});
  CHECK(f.pattern.dims[1] == AffineDim{-70000, 4});
  CHECK(f.pattern.dims[2] == AffineDim{0, 1});
  CHECK(f.offset == -5);
  CHECK(f.channel_multiplier == 1 << 20);
  const Iota lane = iota("i[:, 0:1], channel_multiplier = 1");
  CHECK(lane.pattern == AffineDims{});
}

TEST_CASE("a pattern that is none is told what one looks like, and one too large its limit") {
  CHECK(contains(errors(tiles + "iota i, pattern = [1, 512]\n"), "expected [step, num]"));
  CHECK(contains(errors(tiles + "iota i, pattern = 512\n"), "expected a list of at most four [step, num]"));
  CHECK(contains(errors(tiles + "iota i, pattern = [[1, 65536]]\n"),
                 "a count is between 1 and 65535, found 65536"));
  CHECK(contains(errors(tiles + "iota i, pattern = [[1 << 31, 512]]\n"),
                 "a step fits 32 bits, found 2147483648"));
  CHECK(contains(errors(tiles + "iota i, pattern = [[1, 511]]\n"),
                 "has 511 values, dst has 512 elements per partition"));
}

TEST_CASE("on_false is fp32 however it is written") {
  const Program program = assembled(tiles + "affine_select x, x, pattern = [[1, 512]], on_false = 3\n");
  const auto f = std::get<AffineSelect>(all_of(program, Opcode::affine_select).at(0).operands);
  CHECK(f.on_false == ScalarOperand{3.0F});
  CHECK(f.cmp == Comparison::eq);
}
