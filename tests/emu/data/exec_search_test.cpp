// max8, match_value_load, find_index8, match_replace8.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/vector_operands.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

AccessPattern list(State& s, DType type, std::int64_t offset, const std::vector<float>& values) {
  const auto p = sbuf(type, 128, offset, static_cast<int>(values.size()));
  fill(s, p, [&](int, std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
  return p;
}

// Values of which many are equal.
float few_values(Random& r) { return static_cast<float>(pick(r, -4, 12)) * 0.5F; }

std::uint32_t all_ones(DType type) { return type == DType::u16 ? 0xFFFFU : 0xFFFFFFFFU; }

}  // namespace

TEST_CASE("max8 gives the eight largest, descending, equal ones each") {  // datasheet A.1
  State s(small_program());
  const auto src = list(s, DType::f32, 0, {3, 9, 9, 1, 5, 7, 2, 8, 4, 6});
  const auto dst = sbuf(DType::bf16, 128, 64, 8);
  run(s, Opcode::max8, Unary{dst, src}, Engine::vector);
  for (const int lane : {0, 127}) CHECK(row(s, dst, lane) == std::vector<float>{9, 9, 8, 7, 6, 5, 4, 3});
}

TEST_CASE("max8 is the head of the sorted row, NaN last") {
  Random r(41);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const RandomLanes lanes = random_lanes(r);
    const int n = pick_of(r, {8, 9, 127, 128, 512, 1025, 5000});
    const auto src = random_pattern(r, Space::sbuf, pick_of(r, {DType::f32, DType::bf16, DType::i8}),
                                    lanes.start[0], lanes.partitions, random_counts(r, n), 0, true);
    const auto dst = pattern(Space::psum, DType::f32, lanes.start[1], lanes.partitions, 0, {{2, 8}});
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      for (std::int64_t i = 0; i < n; ++i)
        set_bits(s, src, lane, i, to_bits(src.dtype, pick(r, 0, 3) ? random_value(r) : few_values(r)));
    }
    Plain plain(s);
    run(s, Opcode::max8, Unary{dst, src}, Engine::vector);
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < n; ++i) values.push_back(plain.value(src, lane, i));
      std::stable_sort(values.begin(), values.end(),
                       [](float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); });
      for (std::int64_t i = 0; i < 8; ++i) plain.set(dst, lane, i, values[static_cast<std::size_t>(i)]);
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("find_index8 gives successive places of equal values, and all ones where there is none") {
  State s(small_program());
  const auto index = sbuf(DType::u32, 128, 512, 8);
  const auto find = [&](const std::vector<float>& data, const std::vector<float>& values) {
    run(s, Opcode::match_value_load, Source{list(s, DType::f32, 256, values)}, Engine::vector);
    run(s, Opcode::find_index8, Unary{index, list(s, DType::f32, 0, data)}, Engine::vector);
    std::vector<std::uint32_t> found;
    for (std::int64_t j = 0; j < 8; ++j) found.push_back(bits(s, index, 127, j));
    return found;
  };
  constexpr std::uint32_t none = 0xFFFFFFFF;
  CHECK(find({1, 7, 7, 2, 7, 0, 0, 0}, {7, 7, 7, 1, 2, 3, 3, 3}) ==
        std::vector<std::uint32_t>{1, 2, 4, 0, 3, none, none, none});
  CHECK(find({7, 4, 7, 9, 1, 1, 1, 1}, {7, 7, 8, 4, 9, 1, 1, 7}) ==
        std::vector<std::uint32_t>{0, 2, none, 1, 3, 4, 5, none});
}

TEST_CASE("find_index8 finds what a plain search finds, in u16 and u32") {
  Random r(42);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const RandomLanes lanes = random_lanes(r);
    const int n = pick_of(r, {8, 9, 127, 300, 1025});
    const DType index_type = pick_of(r, {DType::u16, DType::u32});
    const auto src = random_pattern(r, Space::sbuf, pick_of(r, {DType::f32, DType::bf16, DType::i16}),
                                    lanes.start[0], lanes.partitions, random_counts(r, n), 0, true);
    const auto values = pattern(Space::sbuf, DType::f32, lanes.start[0], lanes.partitions, 65536, {{1, 8}});
    const auto dst = random_pattern(r, Space::sbuf, index_type, lanes.start[1], lanes.partitions,
                                    random_counts(r, 8), 70000, false);
    for (const auto& p : {src, values}) fill(s, p, [&](int, std::int64_t) { return few_values(r); });
    run(s, Opcode::match_value_load, Source{values}, Engine::vector);
    Plain plain(s);
    run(s, Opcode::find_index8, Unary{dst, src}, Engine::vector);
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      for (std::int64_t j = 0; j < 8; ++j) {
        const float wanted = plain.value(values, lane, j);
        int to_skip = 0;  // smaller j with the same value
        for (std::int64_t k = 0; k < j; ++k) to_skip += plain.value(values, lane, k) == wanted ? 1 : 0;
        std::uint32_t at = all_ones(index_type);
        for (std::int64_t i = 0; i < n; ++i) {
          if (plain.value(src, lane, i) == wanted && to_skip-- == 0) {
            at = static_cast<std::uint32_t>(i);
            break;
          }
        }
        plain.set_bits(dst, lane, j, at);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("match_replace8 takes equal values from the last register to the first") {  // datasheet A.1
  State s(small_program());
  const auto src = list(s, DType::f32, 0, {1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8});
  const auto dst = sbuf(DType::f32, 128, 128, 11);
  const auto index = sbuf(DType::u32, 128, 512, 8);
  run(s, Opcode::match_value_load, Source{list(s, DType::f32, 256, {3, 8, 8, 8, 8, 8, 8, 8})},
      Engine::vector);
  run(s, Opcode::match_replace8, MatchReplace{dst, src, -1.0F, index}, Engine::vector);
  for (const int lane : {0, 127}) {
    CHECK(row(s, index, lane) == std::vector<float>{2, 10, 9, 8, 7, 6, 5, 4});
    CHECK(row(s, dst, lane) == std::vector<float>{1, 2, -1, 4, -1, -1, -1, -1, -1, -1, -1});
  }
}

TEST_CASE("match_replace8 replaces one element per register and keeps the bits of the others") {
  Random r(43);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const RandomLanes lanes = random_lanes(r);
    const int n = pick_of(r, {8, 9, 127, 300, 1025});
    const DType type = pick_of(r, {DType::f32, DType::bf16, DType::i32, DType::u8});
    const DType to = pick(r, 0, 2) ? type : DType::f32;
    const auto src =
        random_pattern(r, Space::sbuf, type, lanes.start[0], lanes.partitions, random_counts(r, n), 0, false);
    auto dst = random_pattern(r, Space::sbuf, to, lanes.start[1], lanes.partitions, random_counts(r, n),
                              32768, false);
    if (pick(r, 0, 2) == 0) dst = src;  // in place, as top-k loops do
    const auto values = pattern(Space::sbuf, DType::f32, lanes.start[0], lanes.partitions, 80000, {{1, 8}});
    const auto index = pattern(Space::sbuf, DType::u16, lanes.start[1], lanes.partitions, 81000, {{1, 8}});
    fill(s, src, [&](int, std::int64_t) { return pick(r, 0, 3) ? few_values(r) : random_value(r); });
    fill(s, values, [&](int, std::int64_t) { return few_values(r); });
    run(s, Opcode::match_value_load, Source{values}, Engine::vector);
    MatchReplace f{dst, src, -100.5F};
    if (pick(r, 0, 1)) f.index = index;
    Plain plain(s);
    run(s, Opcode::match_replace8, f, Engine::vector);
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      std::vector<bool> taken(static_cast<std::size_t>(n));
      std::array<std::uint32_t, 8> found{};
      for (std::size_t j = 8; j-- > 0;) {
        for (std::size_t i = 0; i < taken.size(); ++i) {
          if (taken[i] || plain.value(src, lane, static_cast<std::int64_t>(i)) !=
                              plain.value(values, lane, static_cast<std::int64_t>(j)))
            continue;
          taken[i] = true;
          found[j] = static_cast<std::uint32_t>(i);
          break;
        }
      }
      for (std::int64_t i = 0; i < n; ++i) {
        if (taken[static_cast<std::size_t>(i)]) {
          plain.set(dst, lane, i, -100.5F);
        } else if (dst.dtype == type) {
          plain.set_bits(dst, lane, i, plain.bits(src, lane, i));
        } else {
          plain.set(dst, lane, i, plain.value(src, lane, i));
        }
      }
      for (std::int64_t j = 0; f.index && j < 8; ++j)
        plain.set_bits(index, lane, j, found[static_cast<std::size_t>(j)]);
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("rounds of max8 and match_replace8 sort a row, eight at a time") {
  State s(small_program());
  Random r(44);
  const auto data = sbuf(DType::f32, 128, 0, 100);
  fill(s, data, [&](int, std::int64_t) { return few_values(r); });
  std::vector<float> expected = row(s, data, 5);
  std::sort(expected.rbegin(), expected.rend());
  std::vector<float> found;
  const auto top = sbuf(DType::f32, 128, 1024, 8);
  for (int k = 0; k < 12; ++k) {
    run(s, Opcode::max8, Unary{top, data}, Engine::vector);
    run(s, Opcode::match_value_load, Source{top}, Engine::vector);
    run(s, Opcode::match_replace8, MatchReplace{data, data, -std::numeric_limits<float>::infinity()},
        Engine::vector);
    for (const float x : row(s, top, 5)) found.push_back(x);
  }
  expected.resize(96);
  CHECK(found == expected);
}

TEST_CASE("a search before its match values are loaded names the partition") {
  State s(small_program());
  const auto data = sbuf(DType::f32, 64, 0, 16), index = sbuf(DType::u32, 64, 128, 8);
  fill(s, data, [](int, std::int64_t) { return 0.0F; });
  run(s, Opcode::match_value_load, Source{sbuf(DType::f32, 32, 256, 8)}, Engine::vector);
  CHECK_THROWS_WITH_AS(
      run(s, Opcode::find_index8, Unary{index, data}, Engine::vector),
      "find_index8: no match values are loaded in partition 32; match_value_load brings them", Fault);
  CHECK_THROWS_WITH_AS(run(s, Opcode::max8, Unary{sbuf(DType::f32, 64, 128, 7), data}, Engine::vector),
                       "max8: dst has 64 partitions x 7 elements, expected 64 x 8", Fault);
}
