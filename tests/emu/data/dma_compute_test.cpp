#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// A number wins against NaN, and +0 is above -0 (emu/data/alu.h).
float smaller(float a, float b) {
  if (a != a) return b;
  if (b != b) return a;
  if (a == 0 && b == 0) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

float joined(ComputeOp op, float a, float b, float scale) {
  switch (op) {
    case ComputeOp::add: return a + b;
    case ComputeOp::min: return smaller(a, b);
    case ComputeOp::max: return -smaller(-a, -b);
    case ComputeOp::fma: {
      const volatile float product = b * scale;
      return a + product;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("dma_compute joins its sources in order, in fp32, one rounding per step") {
  Random r(71);
  for (int round = 0; round < 200; ++round) {
    State s(small_program());
    const int lanes = pick_of(r, {1, 5, 31, 128}), n = pick_of(r, {1, 2, 60, 127});
    const auto counts = random_counts(r, n);
    DmaCompute f;
    f.op = static_cast<ComputeOp>(pick(r, 0, 3));
    f.sources.clear();
    const int sources = pick_of(r, {1, 2, 3, 16});
    std::vector<AccessPattern> tiles;
    for (int i = 0; i <= sources; ++i) {
      tiles.push_back(random_pattern(r, Space::sbuf, pick_of(r, every_type), 0, lanes, random_counts(r, n),
                                     i * 4096, i > 0));
      fill_random(s, tiles.back(), r, false);
      if (i == 0) continue;
      f.sources.push_back({tiles.back(), f.op == ComputeOp::fma ? random_value(r) : 1.0F});
    }
    // Onto its first source now and then: everything is read before anything is written.
    if (pick(r, 0, 3) == 0)
      tiles[0] = random_pattern(r, Space::sbuf, tiles[1].dtype, 0, lanes, counts, 4096, false);
    f.dst = tiles[0];
    Plain m(s);
    std::vector<float> results;
    for (int p = 0; p < lanes; ++p) {
      for (int i = 0; i < n; ++i) {
        float result = m.value(tiles[1], p, i);
        if (f.op == ComputeOp::fma) result *= f.sources[0].scale;
        for (std::size_t k = 1; k < f.sources.size(); ++k)
          result = joined(f.op, result, m.value(tiles[k + 1], p, i), f.sources[k].scale);
        results.push_back(result);
      }
    }
    for (int p = 0; p < lanes; ++p) {
      for (int i = 0; i < n; ++i) m.set(tiles[0], p, i, results[static_cast<std::size_t>(p * n + i)]);
    }
    run(s, Opcode::dma_compute, f, Engine::sync);
    REQUIRE_MESSAGE(m.equals(s), "round ", round, " ", name(f.op));
  }
}

TEST_CASE("the order of the sources decides the rounding") {
  State s(small_program());
  const auto big = sbuf(DType::f32, 1, 0, 1), minus = sbuf(DType::f32, 1, 64, 1),
             one = sbuf(DType::f32, 1, 128, 1), out = sbuf(DType::f32, 1, 192, 1);
  set_bits(s, big, 0, 0, to_bits(DType::f32, 1e8F));
  set_bits(s, minus, 0, 0, to_bits(DType::f32, -1e8F));
  set_bits(s, one, 0, 0, to_bits(DType::f32, 1.0F));
  DmaCompute f;
  f.dst = out;
  f.sources = {{big}, {minus}, {one}};
  run(s, Opcode::dma_compute, f, Engine::sync);
  CHECK(value(s, out, 0, 0) == 1.0F);
  f.sources = {{big}, {one}, {minus}};  // 1e8 + 1 rounds to 1e8
  run(s, Opcode::dma_compute, f, Engine::sync);
  CHECK(value(s, out, 0, 0) == 0.0F);
}

TEST_CASE("a source of another size is refused") {
  State s(small_program());
  DmaCompute f;
  f.dst = sbuf(DType::f32, 1, 0, 4);
  f.sources = {{sbuf(DType::f32, 1, 64, 4)}, {sbuf(DType::f32, 1, 64, 5)}};
  CHECK_THROWS_WITH_AS(run(s, Opcode::dma_compute, f, Engine::sync),
                       "dma_compute: dst has 4 elements, a source has 5", Fault);
}
