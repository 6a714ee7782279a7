// rng, set_rng_seed, dropout.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/vector_operands.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// As the reference page says it.
std::uint32_t seeded(std::uint32_t seed, int lane) {
  std::uint32_t h = seed + static_cast<std::uint32_t>(lane + 1) * 0x9e3779b9U;
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  return (h ^ (h >> 16)) != 0 ? h ^ (h >> 16) : 0x9e3779b9U;
}
std::uint32_t draw(std::uint32_t& g) {
  g = g ^ (g << 13);
  g = g ^ (g >> 17);
  g = g ^ (g << 5);
  return g;
}

void seed(State& s, std::uint32_t value) {
  const auto p = sbuf(DType::u32, 1, 90 * 1024, 1);
  set_bits(s, p, 0, 0, value);
  run(s, Opcode::set_rng_seed, Source{p}, Engine::vector);
}

}  // namespace

TEST_CASE("a lane's generator is Marsaglia's xorshift: after 2463534242 comes 723471715") {
  // G. Marsaglia, Xorshift RNGs, 2003: the seed and first value of xor().
  State s(small_program());
  s.vector_random[5] = 2463534242U;
  const auto dst = sbuf(DType::u32, 128, 0, 2);
  run(s, Opcode::rng, Destination{dst}, Engine::vector);
  CHECK(bits(s, dst, 5, 0) == 723471715U);
}

TEST_CASE("rng draws in stream order, lane by lane from its own generator, and keeps the low bits") {
  Random r(61);
  for (int round = 0; round < 40; ++round) {
    State s(small_program());
    const RandomLanes lanes = random_lanes(r);
    const int n = pick_of(r, awkward_sizes);
    const auto dst = random_pattern(r, Space::sbuf, pick_of(r, integer_types), lanes.start[0],
                                    lanes.partitions, random_counts(r, n), 0, false);
    const auto start = static_cast<std::uint32_t>(r());
    if (round > 0) seed(s, start);
    std::array<std::uint32_t, 128> generators;
    for (int lane = 0; lane < 128; ++lane)
      generators[static_cast<std::size_t>(lane)] = seeded(round > 0 ? start : 0, lane);
    Plain plain(s);
    for (int twice = 0; twice < 2; ++twice) {
      run(s, Opcode::rng, Destination{dst}, Engine::vector);
      for (int lane = 0; lane < lanes.partitions; ++lane) {
        std::uint32_t& g = generators[static_cast<std::size_t>(dst.partition + lane)];
        for (std::int64_t i = 0; i < n; ++i) plain.set_bits(dst, lane, i, draw(g));
      }
      CHECK_MESSAGE(plain.equals(s), "round ", round);
    }
  }
}

TEST_CASE("lanes and seeds differ") {
  State s(small_program());
  const auto a = sbuf(DType::u32, 128, 0, 4), b = sbuf(DType::u32, 128, 64, 4);
  seed(s, 1);
  run(s, Opcode::rng, Destination{a}, Engine::vector);
  seed(s, 2);
  run(s, Opcode::rng, Destination{b}, Engine::vector);
  int equal = 0;
  for (int lane = 0; lane < 127; ++lane) {
    equal += bits(s, a, lane, 0) == bits(s, a, lane + 1, 0) ? 1 : 0;
    equal += bits(s, a, lane, 0) == bits(s, b, lane, 0) ? 1 : 0;
  }
  CHECK(equal == 0);
}

TEST_CASE("rng on gpsimd draws from gpsimd's generators and leaves those of vector alone") {
  State s(small_program(3));
  const auto dst = sbuf(DType::u32, 128, 0, 3);
  auto generators = s.gpsimd_generators;
  const auto vector_before = s.vector_random;
  run(s, Opcode::rng, Destination{dst}, Engine::gpsimd);
  for (const std::size_t lane : {0U, 127U}) {
    for (std::int64_t i = 0; i < 3; ++i)
      CHECK(bits(s, dst, static_cast<int>(lane), i) == generators[lane].next());
  }
  CHECK(s.vector_random == vector_before);
}

TEST_CASE("dropout replaces an element where its draw is below the drop rate, or not below the keep rate") {
  Random r(62);
  for (int round = 0; round < 80; ++round) {
    State s(small_program());
    RandomOperands o(r);
    Dropout f;
    const DType type = pick_of(r, every_type);
    f.dst = o.operand(0, pick(r, 0, 2) ? type : pick_of(r, every_type));
    f.src = o.operand(1, type);
    f.threshold_type = pick_of(r, {ThresholdType::drop_rate, ThresholdType::keep_rate});
    const auto column = o.column(DType::f32, 0);
    fill_random(s, f.src, r, f.dst.dtype == type);
    fill(s, column, [&](int, std::int64_t) { return static_cast<float>(pick(r, 0, 4)) * 0.25F; });
    const bool per_lane = pick(r, 0, 1);
    f.threshold = per_lane ? ScalarOperand{pointer(column)} : ScalarOperand{0.3F};
    seed(s, 99);
    Plain plain(s);
    run(s, Opcode::dropout, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      std::uint32_t g = seeded(99, f.dst.partition + lane);
      const float threshold = per_lane ? plain.value(column, lane, 0) : 0.3F;
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        const double u = static_cast<double>(draw(g) >> 8) / 16777216.0;
        const bool below = u < double{threshold};
        if (below == (f.threshold_type == ThresholdType::drop_rate)) {
          plain.set_bits(f.dst, lane, i, 0);
        } else if (f.dst.dtype == type) {
          plain.set_bits(f.dst, lane, i, plain.bits(f.src, lane, i));
        } else {
          plain.set(f.dst, lane, i, plain.value(f.src, lane, i));
        }
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("a drop rate of 0 keeps all, 1 drops all, and 0.25 drops about a quarter") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 512), dst = sbuf(DType::f32, 128, 4096, 512);
  fill(s, src, [](int, std::int64_t) { return 2.0F; });
  const auto dropped = [&](float rate) {
    run(s, Opcode::dropout, Dropout{dst, src, rate, ThresholdType::drop_rate}, Engine::vector);
    int count = 0;
    for (int lane = 0; lane < 128; ++lane) {
      for (const float x : row(s, dst, lane)) count += x == 0 ? 1 : 0;
    }
    return count;
  };
  CHECK(dropped(0) == 0);
  CHECK(dropped(1) == 128 * 512);
  // Five standard deviations of a binomial count.
  CHECK(std::abs(dropped(0.25F) - 128 * 128) < 5 * 111);
}

TEST_CASE("a seed is one element of 32 bits, and random bits are integers") {
  State s(small_program());
  CHECK_THROWS_AS(run(s, Opcode::set_rng_seed, Source{sbuf(DType::u32, 2, 0, 1)}, Engine::vector), Fault);
  CHECK_THROWS_AS(run(s, Opcode::set_rng_seed, Source{sbuf(DType::u16, 1, 0, 1)}, Engine::vector), Fault);
  CHECK_THROWS_WITH_AS(run(s, Opcode::rng, Destination{sbuf(DType::f32, 2, 0, 1)}, Engine::vector),
                       "rng: dst is f32, expected an integer type", Fault);
}
