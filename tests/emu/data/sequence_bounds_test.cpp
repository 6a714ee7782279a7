#include <doctest/doctest.h>

#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("the bounds of 0 1 1 2 2 2 0 3 3, in every pair of types") {  // datasheet A.1
  const std::vector<float> ids = {0, 1, 1, 2, 2, 2, 0, 3, 3};
  const std::vector<float> bounds = {9, 1, 1, 3, 3, 3, 9, 7, 7, -1, 3, 3, 6, 6, 6, -1, 9, 9};
  for (const DType from : {DType::f32, DType::i32}) {
    for (const DType to : {DType::f32, DType::i32}) {
      State s(small_program());
      const auto src = sbuf(from, 1, 0, 9), dst = pattern(Space::sbuf, to, 64, 1, 128, {{9, 2}, {1, 9}});
      fill(s, src, [&](int, std::int64_t i) { return ids[static_cast<std::size_t>(i)]; });
      run(s, Opcode::sequence_bounds, Unary{dst, src}, Engine::gpsimd);
      CHECK(row(s, dst) == bounds);
    }
  }
}

TEST_CASE("segment numbers that differ only beyond fp32 are different as i32") {
  State s(small_program());
  const auto src = sbuf(DType::i32, 1, 0, 3), dst = sbuf(DType::i32, 1, 64, 6);
  set_bits(s, src, 0, 0, 16777216);
  set_bits(s, src, 0, 1, 16777217);
  set_bits(s, src, 0, 2, 16777217);
  run(s, Opcode::sequence_bounds, Unary{dst, src}, Engine::gpsimd);
  CHECK(row(s, dst) == std::vector<float>{0, 1, 1, 1, 3, 3});
}

TEST_CASE("bounds of random segments over random strides are those found element by element") {
  Random r(41);
  for (int round = 0; round < 100; ++round) {
    State s(small_program());
    const int n = pick_of(r, awkward_sizes);
    const DType from = pick_of(r, {DType::f32, DType::i32}), to = pick_of(r, {DType::f32, DType::i32});
    const auto src =
        random_pattern(r, Space::sbuf, from, 32 * pick(r, 0, 3), 1, random_counts(r, n), 48 * 1024, false);
    const auto dst =
        random_pattern(r, Space::sbuf, to, 32 * pick(r, 0, 3), 1, random_counts(r, 2 * n), 64, false);
    float id = 0;
    fill(s, src,
         [&](int, std::int64_t) { return pick(r, 0, 3) == 0 ? id = static_cast<float>(pick(r, 0, 3)) : id; });
    Plain plain(s);
    run(s, Opcode::sequence_bounds, Unary{dst, src}, Engine::gpsimd);
    std::vector<float> ids;
    for (int i = 0; i < n; ++i) ids.push_back(plain.value(src, 0, i));
    for (int i = 0; i < n; ++i) {
      // Walk out from the element both ways.
      const auto at = [&](int k) { return ids[static_cast<std::size_t>(k)]; };
      int start = i, end = i + 1;
      while (start > 0 && at(start - 1) == at(i)) --start;
      while (end < n && at(end) == at(i)) ++end;
      plain.set(dst, 0, i, static_cast<float>(at(i) == 0 ? n : start));
      plain.set(dst, 0, n + i, static_cast<float>(at(i) == 0 ? -1 : end));
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}
