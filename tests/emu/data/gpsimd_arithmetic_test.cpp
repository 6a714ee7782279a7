// What tensor_tensor does on gpsimd and nowhere else: exact 32-bit integers and powers (datasheet 6.5.2).

#include <doctest/doctest.h>

#include <cmath>

#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("exact sums, differences and products of random integers wrap like C's unsigned ones") {
  Random r(81);
  for (int round = 0; round < 30; ++round) {
    State s(small_program(2 + round % 2));
    const RandomLanes lanes = random_lanes(r);
    const int n = pick_of(r, awkward_sizes);
    const auto at = [&](int start, std::int64_t begin, bool repeats) {
      return random_pattern(r, Space::sbuf, pick_of(r, {DType::i32, DType::u32}), start, lanes.partitions,
                            random_counts(r, n), begin, repeats);
    };
    const TensorTensor f{at(lanes.start[0], 64, false), at(lanes.start[1], 32 * 1024, true),
                         at(lanes.start[2], 64 * 1024, true),
                         pick_of(r, {AluOp::add, AluOp::subtract, AluOp::mult})};
    fill_random(s, f.src0, r, true);
    fill_random(s, f.src1, r, true);
    Plain plain(s);
    run(s, Opcode::tensor_tensor, f, Engine::gpsimd);
    for (int p = 0; p < f.dst.partitions; ++p) {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::uint32_t a = plain.bits(f.src0, p, i), b = plain.bits(f.src1, p, i);
        plain.set_bits(f.dst, p, i, f.op == AluOp::add ? a + b : f.op == AluOp::mult ? a * b : a - b);
      }
    }
    CHECK_MESSAGE(plain.equals(s), name(f.op), " round ", round);
  }
}

TEST_CASE("powers on gpsimd are within one unit in the last place of C's in long double") {
  Random r(82);
  for (const DType type : {DType::f32, DType::bf16, DType::i32}) {
    State s(small_program());
    const auto a = sbuf(type, 128, 0, 129), b = sbuf(DType::f32, 128, 8192, 129),
               dst = sbuf(DType::f32, 128, 16384, 129);
    fill(s, a, [&](int, std::int64_t) { return std::uniform_real_distribution<float>(0.01F, 30)(r); });
    fill(s, b, [&](int, std::int64_t) { return std::uniform_real_distribution<float>(-4, 4)(r); });
    run(s, Opcode::tensor_tensor, TensorTensor{dst, a, b, AluOp::pow}, Engine::gpsimd);
    int wrong = 0;
    for (int p = 0; p < 128; ++p) {
      for (std::int64_t i = 0; i < 129; ++i) {
        const auto exact = static_cast<float>(std::pow(static_cast<long double>(value(s, a, p, i)),
                                                       static_cast<long double>(value(s, b, p, i))));
        const float got = value(s, dst, p, i);
        const bool near = got == exact || std::nextafter(got, exact) == exact;
        wrong += near ? 0 : 1;
      }
    }
    CHECK_MESSAGE(wrong == 0, name(type));
  }
}
