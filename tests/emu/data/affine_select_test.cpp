#include <doctest/doctest.h>

#include "tests/emu/data/affine_patterns.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

bool plain_holds(std::int32_t v, Comparison cmp) {
  return cmp == Comparison::gt   ? v > 0
         : cmp == Comparison::ge ? v >= 0
         : cmp == Comparison::eq ? v == 0
                                 : v != 0;
}

}  // namespace

TEST_CASE("with v = p - f and ge the lower triangle is kept and the rest filled") {  // datasheet A.1
  State s(small_program());
  const AccessPattern src = sbuf(DType::bf16, 128, 0, 128), dst = sbuf(DType::f32, 128, 1024, 128);
  fill(s, src, [](int p, std::int64_t i) { return static_cast<float>(p + i); });
  AffineSelect f{.dst = dst,
                 .src = src,
                 .pattern = {},
                 .channel_multiplier = 1,
                 .cmp = Comparison::ge,
                 .on_false = -1e30F};
  f.pattern.dims[0] = {-1, 128};
  run(s, Opcode::affine_select, f, Engine::gpsimd);
  for (const int p : {0, 1, 63, 127}) {
    for (int i = 0; i < 128; ++i) {
      const float kept = from_bits(DType::bf16, to_bits(DType::bf16, static_cast<float>(p + i)));
      CHECK(value(s, dst, p, i) == (i <= p ? kept : -1e30F));
    }
  }
}

TEST_CASE("equal types keep every bit of what is selected, and the fill is converted") {
  State s(small_program());
  const AccessPattern src = sbuf(DType::i32, 1, 0, 2), dst = sbuf(DType::i32, 1, 64, 2);
  set_bits(s, src, 0, 0, 16777217);  // no fp32 value
  set_bits(s, src, 0, 1, 5);
  AffineSelect f{.dst = dst, .src = src, .pattern = {}, .on_false = 7.6F};
  f.pattern.dims[0] = {1, 2};
  run(s, Opcode::affine_select, f, Engine::gpsimd);  // eq by default: the first element only
  CHECK(bits(s, dst, 0, 0) == 16777217);
  CHECK(bits(s, dst, 0, 1) == 8);
}

TEST_CASE("affine_select of every pair of types over random patterns is the plain loop") {
  Random r(12);
  for (const DType to : every_type) {
    for (const DType from : every_type) {
      State s(small_program(2 + pick(r, 0, 1)));
      const RandomLanes lanes = random_lanes(r);
      const int n = pick_of(r, awkward_sizes);
      const Values v = random_values(r, n);
      const Comparison cmp = pick_of(r, {Comparison::gt, Comparison::ge, Comparison::eq, Comparison::ne});
      const float on_false = random_value(r);
      AccessPattern dst = random_pattern(r, Space::sbuf, to, lanes.start[0], lanes.partitions,
                                         random_counts(r, n), 4 * pick(r, 0, 8), false);
      AccessPattern src = random_pattern(r, Space::sbuf, from, lanes.start[1], lanes.partitions,
                                         random_counts(r, n), 48 * 1024, true);
      if (size_of(to) == size_of(from) && pick(r, 0, 2) == 0) {  // in place
        src = dst;
        src.dtype = from;
      }
      fill_random(s, src, r, to == from);
      Plain plain(s);
      run(s, Opcode::affine_select,
          AffineSelect{.dst = dst,
                       .src = src,
                       .pattern = v.pattern,
                       .offset = v.offset,
                       .channel_multiplier = v.multiplier,
                       .cmp = cmp,
                       .on_false = on_false},
          Engine::gpsimd);
      for (int p = 0; p < dst.partitions; ++p) {
        for (std::int64_t i = 0; i < n; ++i) {
          if (!plain_holds(v.of(p, i), cmp)) {
            plain.set(dst, p, i, on_false);
          } else if (to == from) {
            plain.set_bits(dst, p, i, plain.bits(src, p, i));
          } else {
            plain.set(dst, p, i, plain.value(src, p, i));
          }
        }
      }
      CHECK_MESSAGE(plain.equals(s), name(to), " from ", name(from));
    }
  }
}
