// bn_stats and bn_aggr.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/vector_operands.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// The formulas of the reference page, one lane.
std::array<float, 3> welford(const std::vector<float>& values) {
  float count = 0, mean = 0, m2 = 0;
  for (const float x : values) {
    count = count + 1;
    const float delta = x - mean;
    mean = mean + delta / count;
    m2 = m2 + delta * (x - mean);
  }
  return {count, mean, m2};
}

}  // namespace

TEST_CASE(
    "bn_stats of 1, 2, 3, 4 counts 2 and 2, means 2 and 3; bn_aggr makes 2.5 and 1.25 of them") {  // A.1
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 4), stats = sbuf(DType::f32, 128, 64, 6),
             out = sbuf(DType::f32, 128, 128, 2);
  fill(s, src, [](int, std::int64_t i) { return static_cast<float>(i + 1); });
  run(s, Opcode::bn_stats, Unary{stats, src}, Engine::vector);
  run(s, Opcode::bn_aggr, Unary{out, stats}, Engine::vector);
  for (const int lane : {0, 127}) {
    CHECK(row(s, stats, lane) == std::vector<float>{2, 2, 2, 2, 3, 2});
    CHECK(row(s, out, lane) == std::vector<float>{2.5F, 1.25F});
  }
}

TEST_CASE("bn_stats of a single element has no odd elements") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 1, 0, 1), stats = sbuf(DType::f32, 1, 64, 6);
  fill(s, src, [](int, std::int64_t) { return 7.0F; });
  run(s, Opcode::bn_stats, Unary{stats, src}, Engine::vector);
  CHECK(row(s, stats) == std::vector<float>{1, 7, 0, 0, 0, 0});
}

TEST_CASE("bn_stats follows Welford's recurrence over even and odd elements of the stream") {
  Random r(31);
  for (int round = 0; round < 100; ++round) {
    State s(small_program());
    const RandomLanes lanes = random_lanes(r);
    const int n = pick_of(r, {1, 2, 3, 127, 128, 129, 511, 512});
    const auto src = random_pattern(r, Space::sbuf, pick_of(r, every_type), lanes.start[0], lanes.partitions,
                                    random_counts(r, n), 0, true);
    const Space space = pick(r, 0, 1) ? Space::psum : Space::sbuf;
    const auto dst = random_pattern(r, space, pick_of(r, every_type), lanes.start[1], lanes.partitions,
                                    random_counts(r, 6), space == Space::psum ? 0 : 64 * 1024, false);
    fill_random(s, src, r, false);
    Plain plain(s);
    run(s, Opcode::bn_stats, Unary{dst, src}, Engine::vector);
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      std::vector<float> even, odd;
      for (std::int64_t i = 0; i < n; ++i) (i % 2 == 0 ? even : odd).push_back(plain.value(src, lane, i));
      const auto e = welford(even), o = welford(odd);
      for (std::int64_t k = 0; k < 3; ++k) {
        plain.set(dst, lane, k, e[static_cast<std::size_t>(k)]);
        plain.set(dst, lane, k + 3, o[static_cast<std::size_t>(k)]);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("bn_aggr merges triples from left to right by Chan's rule") {
  Random r(32);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const int lanes = pick_of(r, {1, 5, 128}), triples = pick_of(r, {1, 2, 3, 43, 341, 342, 400});
    const auto src = sbuf(DType::f32, lanes, 0, 3 * triples), dst = sbuf(DType::f32, lanes, 8192, 2);
    fill(s, src, [&](int, std::int64_t i) {
      return i % 3 == 0   ? static_cast<float>(pick(r, 0, 9))
             : i % 3 == 1 ? random_value(r)
                          : static_cast<float>(pick(r, 0, 50));
    });
    Plain plain(s);
    run(s, Opcode::bn_aggr, Unary{dst, src}, Engine::vector);
    for (int lane = 0; lane < lanes; ++lane) {
      float n = plain.value(src, lane, 0), m = plain.value(src, lane, 1), m2 = plain.value(src, lane, 2);
      for (std::int64_t t = 1; t < triples; ++t) {
        const float nb = plain.value(src, lane, 3 * t), mb = plain.value(src, lane, 3 * t + 1),
                    m2b = plain.value(src, lane, 3 * t + 2);
        if (nb == 0) continue;
        if (n == 0) {
          n = nb;
          m = mb;
          m2 = m2b;
          continue;
        }
        const float delta = mb - m, total = n + nb;
        m = m + delta * nb / total;
        m2 = m2 + m2b + delta * delta * n * nb / total;
        n = total;
      }
      plain.set(dst, lane, 0, m);
      plain.set(dst, lane, 1, m2 / n);
    }
    bool equal = true;
    for (int lane = 0; lane < lanes; ++lane) {
      bool empty = true;
      for (std::int64_t t = 0; t < triples; ++t) empty = empty && plain.value(src, lane, 3 * t) == 0;
      for (std::int64_t k = 0; k < 2 && !empty; ++k)
        equal = equal && plain.bits(dst, lane, k) == bits(s, dst, lane, k);
    }
    CHECK_MESSAGE(equal, "round ", round);
  }
}

TEST_CASE("mean and variance of a long row, block by block, are those of the whole row") {
  State s(small_program());
  Random r(33);
  constexpr int blocks = 4, n = 512;
  const auto src = sbuf(DType::f32, 128, 0, blocks * n), out = sbuf(DType::f32, 128, 40960, 2);
  fill(s, src, [&](int, std::int64_t) { return std::normal_distribution<float>(3, 2)(r); });
  for (int b = 0; b < blocks; ++b) {
    run(s, Opcode::bn_stats,
        Unary{sbuf(DType::f32, 128, 32768 + 24 * b, 6), sbuf(DType::f32, 128, 4 * n * b, n)}, Engine::vector);
  }
  run(s, Opcode::bn_aggr, Unary{out, sbuf(DType::f32, 128, 32768, 6 * blocks)}, Engine::vector);
  for (const int lane : {0, 77, 127}) {
    double mean = 0, square = 0;
    for (const float x : row(s, src, lane)) mean += x / (blocks * n);
    for (const float x : row(s, src, lane)) square += (x - mean) * (x - mean) / (blocks * n);
    // Rounded sums against exact ones: not bit for bit.
    CHECK(value(s, out, lane, 0) == doctest::Approx(mean).epsilon(1e-5));
    CHECK(value(s, out, lane, 1) == doctest::Approx(square).epsilon(1e-5));
  }
}

TEST_CASE("statistics of other sizes are refused") {
  State s(small_program());
  const auto a = sbuf(DType::f32, 4, 0, 8), six = sbuf(DType::f32, 4, 64, 6),
             long_row = sbuf(DType::f32, 4, 0, 513);
  CHECK_THROWS_WITH_AS(run(s, Opcode::bn_stats, Unary{a, a}, Engine::vector),
                       "bn_stats: dst has 4 partitions x 8 elements, expected 4 x 6", Fault);
  CHECK_THROWS_AS(run(s, Opcode::bn_stats, Unary{six, long_row}, Engine::vector), Fault);
  CHECK_THROWS_WITH_AS(run(s, Opcode::bn_aggr, Unary{sbuf(DType::f32, 4, 64, 2), a}, Engine::vector),
                       "bn_aggr: src has 8 elements per partition, expected triples (count, mean, M2)",
                       Fault);
}
