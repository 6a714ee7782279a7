#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

void fill_indices(State& s, const AccessPattern& p, Random& r, std::int64_t limit) {
  for (int lane = 0; lane < p.partitions; ++lane) {
    for (std::int64_t i = 0; i < p.elements(); ++i)
      set_bits(s, p, lane, i, static_cast<std::uint32_t>(pick(r, 0, static_cast<int>(limit) - 1)));
  }
}

}  // namespace

TEST_CASE("n_gather takes each lane's elements by that lane's indices") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 2, 0, 4), index = sbuf(DType::u32, 2, 256, 3),
             dst = sbuf(DType::f32, 2, 512, 3);
  fill(s, src, [](int p, std::int64_t i) { return static_cast<float>(10 * p + i); });
  const std::uint32_t chosen[2][3] = {{3, 0, 0}, {1, 2, 3}};
  for (int p = 0; p < 2; ++p)
    for (int j = 0; j < 3; ++j) set_bits(s, index, p, j, chosen[p][j]);
  run(s, Opcode::n_gather, Gather{dst, src, index}, Engine::gpsimd);
  CHECK(row(s, dst, 0) == std::vector<float>{3, 0, 0});
  CHECK(row(s, dst, 1) == std::vector<float>{11, 12, 13});
}

TEST_CASE("gathers move the bits of integers that fp32 cannot hold") {
  State s(small_program());
  const auto src = sbuf(DType::i32, 16, 0, 2), dst = sbuf(DType::i32, 16, 128, 2);
  const auto wide = sbuf(DType::u32, 16, 256, 2), narrow = sbuf(DType::u16, 16, 512, 1);
  for (int p = 0; p < 16; ++p) {
    set_bits(s, src, p, 0, 16777217);
    set_bits(s, src, p, 1, 2147483647);
    set_bits(s, wide, p, 0, 1);
    set_bits(s, wide, p, 1, 0);
    set_bits(s, narrow, p, 0, p == 0 ? 1 : 0);
  }
  run(s, Opcode::n_gather, Gather{dst, src, wide}, Engine::gpsimd);
  CHECK(bits(s, dst, 15, 0) == 2147483647);
  CHECK(bits(s, dst, 15, 1) == 16777217);
  run(s, Opcode::local_gather, LocalGather{dst, src, narrow, 1, 2}, Engine::gpsimd);
  CHECK(bits(s, dst, 7, 0) == 2147483647);
  CHECK(bits(s, dst, 7, 1) == 16777217);
}

TEST_CASE("an index outside the source is told with its place and the source's size") {
  State s(small_program());
  const auto src = pattern(Space::sbuf, DType::f32, 32, 16, 0, {{1, 10}});
  const auto wide = pattern(Space::sbuf, DType::u32, 32, 16, 256, {{1, 3}});
  const auto narrow = pattern(Space::sbuf, DType::u16, 32, 16, 512, {{1, 3}});
  const auto dst = pattern(Space::sbuf, DType::f32, 32, 16, 1024, {{1, 3}});
  fill(s, wide, [](int, std::int64_t) { return 0.0F; });
  fill(s, narrow, [](int, std::int64_t) { return 0.0F; });
  set_bits(s, wide, 4, 2, 10);
  CHECK_THROWS_WITH_AS(run(s, Opcode::n_gather, Gather{dst, src, wide}, Engine::gpsimd),
                       "n_gather: index 10 (element 2 of partition 36) leads to elements 10 to 10 of src, "
                       "which has 10 per partition",
                       Fault);
  set_bits(s, narrow, 5, 1, 7);
  const auto rows = pattern(Space::sbuf, DType::f32, 32, 16, 1024, {{1, 48 * 4}});
  CHECK_THROWS_WITH_AS(run(s, Opcode::local_gather, LocalGather{rows, src, narrow, 4, 0}, Engine::gpsimd),
                       "local_gather: index 7 (element 1 of partition 37) leads to elements 7 to 10 of src, "
                       "which has 10 per partition",
                       Fault);
}

TEST_CASE("n_gather of random shapes, strides and types is the plain loop") {
  Random r(21);
  for (int round = 0; round < 6; ++round) {
    for (const DType type : every_type) {
      State s(small_program());
      const RandomLanes lanes = random_lanes(r);
      const int n = pick_of(r, awkward_sizes), from = pick_of(r, awkward_sizes);
      const auto at = [&](DType t, int start, int count, std::int64_t begin, bool repeats) {
        return random_pattern(r, Space::sbuf, t, start, lanes.partitions, random_counts(r, count), begin,
                              repeats);
      };
      const Gather f{at(type, lanes.start[0], n, 4 * pick(r, 0, 8), false),
                     at(type, lanes.start[1], from, 32 * 1024, true),
                     at(DType::u32, lanes.start[2], n, 64 * 1024, true)};
      fill_random(s, f.src, r, true);
      fill_indices(s, f.index, r, from);
      Plain plain(s);
      run(s, Opcode::n_gather, f, Engine::gpsimd);
      for (int p = 0; p < f.dst.partitions; ++p) {
        for (std::int64_t j = 0; j < n; ++j)
          plain.set_bits(f.dst, p, j, plain.bits(f.src, p, plain.bits(f.index, p, j)));
      }
      CHECK_MESSAGE(plain.equals(s), name(type), " round ", round);
    }
  }
}

TEST_CASE("n_gather over its own source reads a lane before it writes it") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 1, 0, 2000), index = sbuf(DType::u32, 1, 16384, 2000);
  fill(s, src, [](int, std::int64_t i) { return static_cast<float>(i); });
  for (int j = 0; j < 2000; ++j) set_bits(s, index, 0, j, static_cast<std::uint32_t>(1999 - j));
  run(s, Opcode::n_gather, Gather{src, src, index}, Engine::gpsimd);
  CHECK(value(s, src, 0, 0) == 1999);
  CHECK(value(s, src, 0, 1999) == 0);
}

TEST_CASE("16 lanes of local_gather share indices, taken lane by lane and then column by column") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 32, 0, 64), index = sbuf(DType::u16, 32, 512, 2);
  const auto dst = sbuf(DType::f32, 32, 1024, 18);
  fill(s, src, [](int p, std::int64_t i) { return static_cast<float>(1000 * p + i); });
  // Index number j of the first processor is j, of the second 63 - j.
  fill(s, index, [](int p, std::int64_t k) {
    const auto j = static_cast<float>(p % 16 + 16 * k);
    return p < 16 ? j : 63 - j;
  });
  run(s, Opcode::local_gather, LocalGather{dst, src, index, 1, 18}, Engine::gpsimd);
  for (int p = 0; p < 32; ++p) {
    for (int j = 0; j < 18; ++j)
      CHECK(value(s, dst, p, j) == static_cast<float>(1000 * p + (p < 16 ? j : 63 - j)));
  }
}

TEST_CASE("local_gather of random shapes, runs, strides and types is the plain loop") {
  Random r(22);
  for (int round = 0; round < 40; ++round) {
    const DType type = pick_of(r, every_type);
    State s(small_program());
    const int partitions = 16 * pick(r, 1, 8);
    const int run_length = pick_of(r, {1, 2, 4, 8, 16, 32});
    const int columns = pick(r, 1, 12), valid = pick(r, 1, 16 * columns);
    const int from = run_length + pick(r, 0, 500);
    const auto at = [&](DType t, int count, std::int64_t begin, bool repeats) {
      return random_pattern(r, Space::sbuf, t, 0, partitions, random_counts(r, count), begin, repeats);
    };
    LocalGather f{at(type, valid * run_length, 4 * pick(r, 0, 8), false), at(type, from, 64 * 1024, true),
                  at(DType::u16, columns, 90 * 1024, false), static_cast<std::uint8_t>(run_length),
                  static_cast<std::uint16_t>(valid)};
    if (valid == 16 * columns && round % 2 == 0) f.num_valid_indices = 0;
    fill_random(s, f.src, r, true);
    fill_indices(s, f.index, r, from - run_length + 1);
    Plain plain(s);
    run(s, Opcode::local_gather, f, Engine::gpsimd);
    for (int p = 0; p < partitions; ++p) {
      const int processor = p / 16;
      for (int j = 0; j < valid; ++j) {
        const std::int64_t start = plain.bits(f.index, 16 * processor + j % 16, j / 16);
        for (int e = 0; e < run_length; ++e)
          plain.set_bits(f.dst, p, j * run_length + e, plain.bits(f.src, p, start + e));
      }
    }
    CHECK_MESSAGE(plain.equals(s), name(type), " round ", round);
  }
}
