// load_mask, stream_shuffle, transpose.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/vector_operands.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

ShuffleMask mask_of(const std::function<int(int)>& source) {
  ShuffleMask mask;
  for (int i = 0; i < 32; ++i)
    mask.source[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(source(i));
  return mask;
}

}  // namespace

TEST_CASE("the mask 31 - i reverses the lanes of each quadrant") {  // datasheet A.1
  State s(small_program());
  const auto src = sbuf(DType::f32, 64, 0, 3), dst = sbuf(DType::f32, 64, 64, 3);
  fill(s, src, [](int lane, std::int64_t i) { return static_cast<float>(100 * lane + i); });
  run(s, Opcode::load_mask, LoadMask{mask_of([](int i) { return 31 - i; })}, Engine::vector);
  run(s, Opcode::stream_shuffle, Unary{dst, src}, Engine::vector);
  for (int lane = 0; lane < 64; ++lane) {
    const int from = lane < 32 ? 31 - lane : 95 - lane;
    CHECK(row(s, dst, lane) == row(s, src, from));
  }
}

TEST_CASE("stream_shuffle moves bits within quadrants, also in place, and 255 keeps a lane") {
  Random r(51);
  for (int round = 0; round < 80; ++round) {
    State s(small_program());
    const int lanes = pick_of(r, {32, 64, 128}), n = pick_of(r, awkward_sizes);
    const DType type = pick_of(r, every_type);
    const int starts = 128 / lanes;
    const auto src = random_pattern(r, Space::sbuf, type, lanes * pick(r, 0, starts - 1), lanes,
                                    random_counts(r, n), 0, false);
    auto dst = random_pattern(r, Space::sbuf, type, lanes * pick(r, 0, starts - 1), lanes,
                              random_counts(r, n), 48 * 1024, false);
    if (pick(r, 0, 1)) dst = src;
    fill_random(s, src, r, true);
    const ShuffleMask mask = mask_of([&](int) { return pick(r, 0, 4) == 0 ? 255 : pick(r, 0, 31); });
    run(s, Opcode::load_mask, LoadMask{mask}, Engine::vector);
    Plain before(s), plain(s);
    run(s, Opcode::stream_shuffle, Unary{dst, src}, Engine::vector);
    for (int lane = 0; lane < lanes; ++lane) {
      const int source = mask.source[static_cast<std::size_t>(lane % 32)];
      for (std::int64_t i = 0; i < n && source != 255; ++i)
        plain.set_bits(dst, lane, i, before.bits(src, lane - lane % 32 + source, i));
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("one source lane can be spread over a quadrant, and a lane that src lacks is an error") {
  State s(small_program());
  const auto src = pattern(Space::psum, DType::f32, 64, 1, 0, {{1, 5}}), dst = sbuf(DType::f32, 20, 0, 5);
  fill(s, src, [](int, std::int64_t i) { return static_cast<float>(i); });
  CHECK_THROWS_WITH_AS(run(s, Opcode::stream_shuffle, Unary{dst, src}, Engine::vector),
                       "stream_shuffle: no mask is loaded; load_mask brings one", Fault);
  run(s, Opcode::load_mask, LoadMask{mask_of([](int) { return 0; })}, Engine::vector);
  run(s, Opcode::stream_shuffle, Unary{dst, src}, Engine::vector);
  for (const int lane : {0, 19}) CHECK(row(s, dst, lane) == std::vector<float>{0, 1, 2, 3, 4});
  CHECK(bits(s, sbuf(DType::u32, 32, 0, 1), 20, 0) == 0xFFFFFFFF);
  run(s, Opcode::load_mask, LoadMask{mask_of([](int i) { return i == 7 ? 3 : 0; })}, Engine::vector);
  CHECK_THROWS_WITH_AS(run(s, Opcode::stream_shuffle, Unary{dst, src}, Engine::vector),
                       "stream_shuffle: lane 7 takes lane 3 of src, which has 1", Fault);
  CHECK_THROWS_WITH_AS(run(s, Opcode::load_mask, LoadMask{mask_of([](int) { return 40; })}, Engine::vector),
                       "load_mask: entry 0 of the mask is 40, expected 0 to 31, or 255", Fault);
}

TEST_CASE("transpose of a [32, 64] tile transposes both of its blocks in place") {  // datasheet A.1
  State s(small_program());
  const auto t = sbuf(DType::f32, 32, 0, 64), out = sbuf(DType::f32, 32, 1024, 64);
  fill(s, t, [](int lane, std::int64_t i) { return static_cast<float>(1000 * lane + i); });
  run(s, Opcode::transpose, Unary{out, t}, Engine::vector);
  for (int row_of = 0; row_of < 32; ++row_of) {
    for (int c = 0; c < 32; ++c) {
      for (int g = 0; g < 2; ++g)
        REQUIRE(value(s, out, row_of, g * 32 + c) == static_cast<float>(1000 * c + g * 32 + row_of));
    }
  }
}

TEST_CASE("transpose moves the bits of any type, over any free dimensions, in place too") {
  Random r(52);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const int lanes = pick_of(r, {32, 64, 128}), n = 32 * pick_of(r, {1, 2, 3, 16, 33});
    const DType type = pick_of(r, every_type);
    const auto src = random_pattern(r, Space::sbuf, type, 0, lanes, random_counts(r, n), 0, false);
    auto dst =
        random_pattern(r, Space::sbuf, type, 128 - lanes, lanes, random_counts(r, n), 48 * 1024, false);
    if (pick(r, 0, 1)) dst = src;
    fill_random(s, src, r, true);
    Plain before(s), plain(s);
    run(s, Opcode::transpose, Unary{dst, src}, Engine::vector);
    for (int q = 0; q < lanes; q += 32) {
      for (int g = 0; g < n; g += 32) {
        for (int a = 0; a < 32; ++a) {
          for (int b = 0; b < 32; ++b) plain.set_bits(dst, q + a, g + b, before.bits(src, q + b, g + a));
        }
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("transpose refuses parts of blocks and other types") {
  State s(small_program());
  const auto a = sbuf(DType::f32, 32, 0, 48), b = sbuf(DType::bf16, 32, 1024, 32),
             c = sbuf(DType::f32, 32, 0, 32);
  CHECK_THROWS_WITH_AS(run(s, Opcode::transpose, Unary{a, a}, Engine::vector),
                       "transpose: src has 32 partitions x 48 elements, expected multiples of 32", Fault);
  CHECK_THROWS_WITH_AS(run(s, Opcode::transpose, Unary{b, c}, Engine::vector),
                       "transpose: dst is bf16, src is f32; they must be equal", Fault);
}
