#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("the five reductions of the numbers 1 to 4 in one column") {
  const struct {
    AluOp op;
    float result;
  } cases[] = {{AluOp::add, 10},
               {AluOp::average, 2.5F},
               {AluOp::max, 4},
               {AluOp::bitwise_or, 7},
               {AluOp::bitwise_and, 0}};
  for (const auto& c : cases) {
    CAPTURE(name(c.op));
    State s(small_program());
    const DType type = is_bitvec(c.op) ? DType::i32 : DType::f32;
    const auto src = sbuf(type, 4, 0, 1), dst = pattern(Space::sbuf, type, 32, 1, 64, {{1, 1}});
    fill(s, src, [](int p, std::int64_t) { return static_cast<float>(p + 1); });
    run(s, Opcode::tensor_partition_reduce, PartitionReduce{dst, src, c.op}, Engine::gpsimd);
    CHECK(row(s, dst) == std::vector<float>{c.result});
  }
}

TEST_CASE("reductions across random partitions, strides and types are the plain loop, lanes ascending") {
  Random r(31);
  for (int round = 0; round < 4; ++round) {
    for (const DType type : every_type) {
      for (const AluOp op : {AluOp::add, AluOp::average, AluOp::max, AluOp::bitwise_and, AluOp::bitwise_or}) {
        const bool bitwise = is_bitvec(op);
        if (bitwise && !is_integer(type)) continue;
        const DType to = bitwise ? pick_of(r, integer_types) : pick_of(r, every_type);
        State s(small_program());
        const RandomLanes lanes = random_lanes(r);
        const int n = pick_of(r, awkward_sizes);
        const auto dst = random_pattern(r, Space::sbuf, to, 32 * pick(r, 0, 3), 1, random_counts(r, n),
                                        4 * pick(r, 0, 8), false);
        const auto src = random_pattern(r, Space::sbuf, type, lanes.start[1], lanes.partitions,
                                        random_counts(r, n), 48 * 1024, true);
        // No NaN and no zeros of both signs, so that max is C's.
        fill(s, src, [&](int, std::int64_t) { return std::normal_distribution<float>(0, 20)(r); });
        Plain plain(s);
        run(s, Opcode::tensor_partition_reduce, PartitionReduce{dst, src, op}, Engine::gpsimd);
        for (std::int64_t i = 0; i < n; ++i) {
          float sum = plain.value(src, 0, i);
          auto word = static_cast<std::uint32_t>(
              integer_from_bits(is_integer(type) ? type : DType::u32, plain.bits(src, 0, i)));
          for (int p = 1; p < src.partitions; ++p) {
            const float x = plain.value(src, p, i);
            sum = op == AluOp::max ? std::max(sum, x) : sum + x;
            if (!bitwise) continue;
            const auto w = static_cast<std::uint32_t>(integer_from_bits(type, plain.bits(src, p, i)));
            word = op == AluOp::bitwise_and ? word & w : word | w;
          }
          if (op == AluOp::average) sum /= static_cast<float>(src.partitions);
          bitwise ? plain.set_bits(dst, 0, i, word) : plain.set(dst, 0, i, sum);
        }
        CHECK_MESSAGE(plain.equals(s), name(op), " ", name(to), " from ", name(type));
      }
    }
  }
}

TEST_CASE("a reduction over its own first partition reads a column before it writes it") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 1500), dst = sbuf(DType::f32, 1, 0, 1500);
  fill(s, src, [](int p, std::int64_t i) { return static_cast<float>(p == 0 ? i : 1); });
  run(s, Opcode::tensor_partition_reduce, PartitionReduce{dst, src, AluOp::add}, Engine::gpsimd);
  for (const int i : {0, 1, 1023, 1024, 1499}) CHECK(value(s, dst, 0, i) == static_cast<float>(i + 127));
}

TEST_CASE("a reduction into two partitions is refused") {
  State s(small_program());
  CHECK_THROWS_AS(
      run(s, Opcode::tensor_partition_reduce,
          PartitionReduce{sbuf(DType::f32, 2, 64, 4), sbuf(DType::f32, 8, 0, 4), AluOp::add}, Engine::gpsimd),
      Fault);
}
