#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/affine_patterns.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("offset 100, multiplier 10, pattern [[1, 3]] is 120, 121, 122 in partition 2") {  // datasheet A.1
  State s(small_program());
  const AccessPattern dst = sbuf(DType::i32, 128, 64, 3);
  Iota f{.dst = dst, .pattern = {}, .offset = 100, .channel_multiplier = 10};
  f.pattern.dims[0] = {1, 3};
  run(s, Opcode::iota, f, Engine::gpsimd);
  CHECK(row(s, dst, 2) == std::vector<float>{120, 121, 122});
  CHECK(row(s, dst, 127) == std::vector<float>{1370, 1371, 1372});
}

TEST_CASE("the last dimension of an iota pattern runs fastest") {
  State s(small_program());
  const AccessPattern dst = sbuf(DType::f32, 1, 0, 6);
  Iota f{.dst = dst, .pattern = {}, .offset = 0, .channel_multiplier = 0};
  f.pattern.dims[0] = {1, 3};  // [[100, 2], [1, 3]]
  f.pattern.dims[1] = {100, 2};
  run(s, Opcode::iota, f, Engine::gpsimd);
  CHECK(row(s, dst) == std::vector<float>{0, 1, 2, 100, 101, 102});
}

TEST_CASE("lanes count from the first partition of the destination") {
  State s(small_program());
  const AccessPattern dst = pattern(Space::sbuf, DType::i32, 64, 32, 0, {{1, 1}});
  run(s, Opcode::iota, Iota{.dst = dst, .pattern = {}, .offset = 0, .channel_multiplier = 1}, Engine::gpsimd);
  CHECK(row(s, dst, 0) == std::vector<float>{0});
  CHECK(row(s, dst, 31) == std::vector<float>{31});
}

TEST_CASE("values wrap in 32 bits; 32-bit types keep their bits, others take the rounded value") {
  State s(small_program());
  Iota f{.dst = sbuf(DType::u32, 1, 0, 2), .pattern = {}, .offset = 2147483647, .channel_multiplier = 0};
  f.pattern.dims[0] = {1, 2};
  run(s, Opcode::iota, f, Engine::gpsimd);
  CHECK(bits(s, f.dst, 0, 0) == 0x7FFFFFFF);
  CHECK(bits(s, f.dst, 0, 1) == 0x80000000);
  f.dst = sbuf(DType::f32, 1, 0, 2);
  run(s, Opcode::iota, f, Engine::gpsimd);
  CHECK(row(s, f.dst) == std::vector<float>{2147483648.0F, -2147483648.0F});
  f.dst = sbuf(DType::i16, 1, 0, 2);
  run(s, Opcode::iota, f, Engine::gpsimd);
  CHECK(row(s, f.dst) == std::vector<float>{32767, -32768});
}

TEST_CASE("iota writes every type over random patterns as the formula says, and nothing else") {
  Random r(11);
  for (int round = 0; round < 12; ++round) {
    for (const DType type : every_type) {
      State s(small_program(2 + round % 2));
      const RandomLanes lanes = random_lanes(r);
      const int n = pick_of(r, awkward_sizes);
      const Values v = random_values(r, n);
      const AccessPattern dst = random_pattern(r, Space::sbuf, type, lanes.start[0], lanes.partitions,
                                               random_counts(r, n), 4 * pick(r, 0, 8), false);
      Plain plain(s);
      run(s, Opcode::iota, Iota{dst, v.pattern, v.offset, v.multiplier}, Engine::gpsimd);
      for (int p = 0; p < dst.partitions; ++p) {
        for (std::int64_t i = 0; i < n; ++i) {
          const std::int32_t value = v.of(p, i);
          const bool whole = type == DType::i32 || type == DType::u32;
          const float rounded = static_cast<float>(value);
          plain.set_bits(dst, p, i, whole ? static_cast<std::uint32_t>(value) : to_bits(type, rounded));
        }
      }
      CHECK_MESSAGE(plain.equals(s), name(type), " round ", round);
    }
  }
}

TEST_CASE("iota refuses a pattern of another size than its destination") {
  State s(small_program());
  Iota f{.dst = sbuf(DType::i32, 1, 0, 4), .pattern = {}, .offset = 0, .channel_multiplier = 0};
  f.pattern.dims[0] = {1, 3};
  CHECK_THROWS_WITH_AS(run(s, Opcode::iota, f, Engine::gpsimd),
                       "iota: pattern has 3 values, dst has 4 elements per partition", Fault);
}
