#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// The operators used here, as C++ writes them; max and min only ever see integers' values.
float plain_op(AluOp op, float a, float b) {
  switch (op) {
    case AluOp::add: return a + b;
    case AluOp::subtract: return a - b;
    case AluOp::mult: return a * b;
    case AluOp::max: return a > b ? a : b;
    case AluOp::min: return a < b ? a : b;
    case AluOp::is_gt: return a > b ? 1.0F : 0.0F;
    case AluOp::is_equal: return a == b ? 1.0F : 0.0F;
    case AluOp::abs: return std::fabs(a);
    case AluOp::bypass: return a;
    default: FAIL("not in this test"); return 0;
  }
}

std::uint32_t plain_bits(AluOp op, std::uint32_t a, std::uint32_t b) {
  switch (op) {
    case AluOp::bitwise_and: return a & b;
    case AluOp::bitwise_or: return a | b;
    case AluOp::bitwise_xor: return a ^ b;
    case AluOp::bitwise_not: return ~a;
    case AluOp::bypass: return a;
    default: FAIL("not in this test"); return 0;
  }
}

constexpr auto arithmetic = {AluOp::add, AluOp::subtract, AluOp::mult, AluOp::is_gt, AluOp::is_equal};
constexpr auto logic = {AluOp::bitwise_and, AluOp::bitwise_or, AluOp::bitwise_xor};

Space random_space(Random& r) { return pick(r, 0, 2) == 0 ? Space::psum : Space::sbuf; }
int size_for(Random& r, Space a, Space b = Space::sbuf) {
  return a == Space::psum || b == Space::psum ? pick_of(r, {1, 2, 60, 127, 128, 129, 300})
                                              : pick_of(r, awkward_sizes);
}

struct Pair {
  AccessPattern dst, src;
};
// Source and destination of one instruction; every second pair shares its memory, so that results may
// reach elements still to be read.
Pair random_pair(Random& r, DType to, DType from) {
  const RandomLanes lanes = random_lanes(r);
  const Space d = random_space(r), s = random_space(r);
  const int n = size_for(r, d, s);
  const bool apart = pick(r, 0, 1) == 1;
  Pair p;
  p.dst = random_pattern(r, d, to, lanes.start[0], lanes.partitions, random_counts(r, n), 4 * pick(r, 0, 8),
                         false);
  p.src = random_pattern(r, s, from, apart ? lanes.start[1] : lanes.start[0], lanes.partitions,
                         random_counts(r, n), (apart && s == Space::sbuf ? 48 * 1024 : 0) + 4 * pick(r, 0, 8),
                         true);
  if (!apart && size_of(to) == size_of(from) && pick(r, 0, 2) == 0) {  // in place
    p.src = p.dst;
    p.src.dtype = from;
  }
  return p;
}

AccessPattern column(DType type, int partitions, std::int64_t offset) {
  return sbuf(type, partitions, offset, 1);
}
PointerOperand pointer(const AccessPattern& p) { return {p.space, p.dtype, p.partition, p.offset, no_place}; }

}  // namespace

TEST_CASE("a row of halves and large values rounds to even and saturates as int8 and int32") {
  State s(small_program());
  const std::vector<float> in = {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 126.5F, 300, -300, 1e10F};
  const AccessPattern src = sbuf(DType::f32, 128, 0, 9);
  const AccessPattern i8 = sbuf(DType::i8, 128, 100, 9), i32 = sbuf(DType::i32, 128, 200, 9);
  fill(s, src, [&](int, std::int64_t i) { return in[static_cast<std::size_t>(i)]; });
  run(s, Opcode::tensor_copy, Unary{i8, src}, Engine::vector);
  run(s, Opcode::tensor_copy, Unary{i32, src}, Engine::vector);
  for (const int lane : {0, 127}) {
    CHECK(row(s, i8, lane) == std::vector<float>{0, 2, 2, 0, -2, 126, 127, -128, 127});
    CHECK(bits(s, i32, lane, 8) == 2147483647U);
    CHECK(bits(s, i32, lane, 7) == static_cast<std::uint32_t>(-300));
  }
}

TEST_CASE("tensor_copy converts every type to every other through fp32, whatever the patterns") {
  Random r(1);
  for (const DType to : every_type) {
    for (const DType from : every_type) {
      State s(small_program());
      const Pair p = random_pair(r, to, from);
      fill_random(s, p.src, r, false);
      Plain plain(s);
      run(s, Opcode::tensor_copy, Unary{p.dst, p.src}, Engine::vector);
      for (int lane = 0; lane < p.dst.partitions; ++lane) {
        for (std::int64_t i = 0; i < p.dst.elements(); ++i) {
          if (to == from) {
            plain.set_bits(p.dst, lane, i, plain.bits(p.src, lane, i));
          } else {
            plain.set(p.dst, lane, i, plain.value(p.src, lane, i));
          }
        }
      }
      CHECK_MESSAGE(plain.equals(s), name(to), " from ", name(from));
    }
  }
}

TEST_CASE("a copy between equal types keeps every bit, but on the scalar engine of v2 it goes through fp32") {
  Random r(2);
  for (const int generation : {2, 3}) {
    for (const Engine engine : {Engine::vector, Engine::gpsimd, Engine::scalar}) {
      for (const DType type : every_type) {
        State s(small_program(generation));
        const auto src = sbuf(type, 64, 0, 512), dst = sbuf(type, 64, 4096, 512);
        fill_random(s, src, r, true);
        run(s, Opcode::tensor_copy, Unary{dst, src}, engine);
        bool right = true;
        for (int lane = 0; lane < 64; ++lane) {
          for (std::int64_t i = 0; i < 512; ++i) {
            const std::uint32_t in = bits(s, src, lane, i);
            const bool converts = engine == Engine::scalar && generation == 2;
            right = right && bits(s, dst, lane, i) == (converts ? to_bits(type, from_bits(type, in)) : in);
          }
        }
        CHECK_MESSAGE(right, name(type), " on ", name(engine), " of v", generation);
      }
    }
  }
}

TEST_CASE("a copy onto itself one element later repeats the first element") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 3, 0, 1500), dst = sbuf(DType::f32, 3, 4, 1500);
  fill(s, src, [](int lane, std::int64_t i) { return static_cast<float>(lane * 10000 + i); });
  run(s, Opcode::tensor_copy, Unary{dst, src}, Engine::vector);
  for (int lane = 0; lane < 3; ++lane) {
    CHECK(row(s, dst, lane) == std::vector<float>(1500, static_cast<float>(lane * 10000)));
  }
}

TEST_CASE("memset writes its value, converted to the type, and integers exactly") {
  Random r(3);
  for (const DType type : every_type) {
    for (const ScalarOperand value : {ScalarOperand{0.0F}, ScalarOperand{-1.3F}, ScalarOperand{1e10F},
                                      ScalarOperand{std::numeric_limits<float>::quiet_NaN()},
                                      ScalarOperand{16777217}, ScalarOperand{-5}, ScalarOperand{40000}}) {
      State s(small_program());
      const auto p = random_pair(r, type, type).dst;
      Plain plain(s);
      run(s, Opcode::memset, Memset{p, value}, Engine::gpsimd);
      const auto* integer = std::get_if<std::int32_t>(&value);
      const std::uint32_t expected = integer == nullptr ? to_bits(type, std::get<float>(value))
                                     : is_integer(type) ? integer_to_bits(type, *integer)
                                                        : to_bits(type, static_cast<float>(*integer));
      for (int lane = 0; lane < p.partitions; ++lane) {
        for (std::int64_t i = 0; i < p.elements(); ++i) plain.set_bits(p, lane, i, expected);
      }
      CHECK_MESSAGE(plain.equals(s), name(type));
    }
  }
}

TEST_CASE("tensor_scalar applies two operators in order, with immediates and with one value per lane") {
  Random r(4);
  for (int round = 0; round < 100; ++round) {
    State s(small_program());
    const Pair p = random_pair(r, pick_of(r, every_type), pick_of(r, every_type));
    const int lanes = p.dst.partitions;
    const auto c0 = column(pick_of(r, every_type), lanes, 90 * 1024),
               c1 = column(DType::f32, lanes, 90 * 1024 + 4);
    fill_random(s, p.src, r, false);
    fill_random(s, c0, r, false);
    fill_random(s, c1, r, false);
    TensorScalar f;
    f.dst = p.dst;
    f.src = p.src;
    f.op0 = pick(r, 0, 8) == 0 ? AluOp::abs : pick_of(r, arithmetic);
    f.op1 = pick(r, 0, 2) == 0 ? AluOp::bypass : pick_of(r, arithmetic);
    f.reverse0 = f.op0 != AluOp::abs && pick(r, 0, 1);
    f.reverse1 = f.op1 != AluOp::bypass && pick(r, 0, 1);
    const float imm = random_value(r);
    const bool point0 = pick(r, 0, 1), point1 = pick(r, 0, 1);
    if (f.op0 != AluOp::abs) f.scalar0 = point0 ? ScalarOperand{pointer(c0)} : ScalarOperand{imm};
    if (f.op1 != AluOp::bypass)
      f.scalar1 = point1 ? ScalarOperand{pointer(c1)} : ScalarOperand{std::int32_t{3}};

    Plain plain(s);
    run(s, Opcode::tensor_scalar, f, Engine::vector);
    for (int lane = 0; lane < lanes; ++lane) {
      const float s0 = point0 ? plain.value(c0, lane, 0) : imm, s1 = point1 ? plain.value(c1, lane, 0) : 3.0F;
      for (std::int64_t i = 0; i < p.dst.elements(); ++i) {
        float v = plain.value(p.src, lane, i);
        v = f.reverse0 ? plain_op(f.op0, s0, v) : plain_op(f.op0, v, s0);
        v = f.reverse1 ? plain_op(f.op1, s1, v) : plain_op(f.op1, v, s1);
        plain.set(p.dst, lane, i, v);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("the bitvec class works on raw bits of integers, never through fp32") {
  Random r(5);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const Pair p = random_pair(r, pick_of(r, integer_types), pick_of(r, integer_types));
    const auto c = column(DType::u32, p.dst.partitions, 90 * 1024);
    const auto other =
        random_pattern(r, Space::sbuf, p.src.dtype, p.src.partition, p.src.partitions,
                       random_counts(r, static_cast<int>(p.src.elements())), 48 * 1024 + 100, true);
    for (const auto& a : {p.src, c, other}) fill_random(s, a, r, true);
    TensorScalar f;
    f.dst = p.dst;
    f.src = p.src;
    f.op0 = pick_of(r, logic);
    f.scalar0 = pointer(c);
    f.op1 = pick(r, 0, 1) ? AluOp::bitwise_xor : AluOp::bypass;
    if (f.op1 != AluOp::bypass) f.scalar1 = std::int32_t{-1};
    // Extended to 32 bits by its sign, truncated by the destination.
    const auto wide = [](const AccessPattern& a, std::uint32_t b) {
      return static_cast<std::uint32_t>(integer_from_bits(a.dtype, b));
    };
    Plain plain(s);
    run(s, Opcode::tensor_scalar, f, Engine::vector);
    for (int lane = 0; lane < f.dst.partitions; ++lane) {
      for (std::int64_t i = 0; i < f.dst.elements(); ++i) {
        std::uint32_t v = plain_bits(f.op0, wide(f.src, plain.bits(f.src, lane, i)), plain.bits(c, lane, 0));
        v = plain_bits(f.op1, v, 0xFFFFFFFF);
        plain.set_bits(f.dst, lane, i, v);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "tensor_scalar, round ", round);

    const AluOp op = pick_of(r, logic);
    run(s, Opcode::tensor_tensor, TensorTensor{f.dst, f.src, other, op}, Engine::vector);
    for (int lane = 0; lane < f.dst.partitions; ++lane) {
      for (std::int64_t i = 0; i < f.dst.elements(); ++i) {
        plain.set_bits(
            f.dst, lane, i,
            plain_bits(op, wide(f.src, plain.bits(f.src, lane, i)), wide(other, plain.bits(other, lane, i))));
      }
    }
    CHECK_MESSAGE(plain.equals(s), "tensor_tensor, round ", round);
  }
}

TEST_CASE("shifts by at least the width leave nothing") {
  State s(small_program());
  const auto src = sbuf(DType::u8, 1, 0, 4), dst = sbuf(DType::u8, 1, 8, 4);
  fill(s, src, [](int, std::int64_t i) { return static_cast<float>(0x81 + i); });
  TensorScalar f;
  f.dst = dst;
  f.src = src;
  f.op0 = AluOp::logical_shift_right;
  f.scalar0 = std::int32_t{1};
  run(s, Opcode::tensor_scalar, f, Engine::vector);
  CHECK(row(s, dst) == std::vector<float>{0x40, 0x41, 0x41, 0x42});
  f.scalar0 = std::int32_t{8};
  run(s, Opcode::tensor_scalar, f, Engine::vector);
  CHECK(row(s, dst) == std::vector<float>{0, 0, 0, 0});
}

TEST_CASE("tensor_tensor computes in fp32, element by element in stream order") {
  Random r(6);
  for (int round = 0; round < 100; ++round) {
    State s(small_program());
    const bool extremes = pick(r, 0, 3) == 0;  // max and min of integers
    const DType from = extremes ? pick_of(r, integer_types) : pick_of(r, every_type);
    const Pair p = random_pair(r, pick_of(r, every_type), from);
    const auto other = random_pattern(
        r, Space::sbuf, extremes ? from : pick_of(r, every_type), p.src.partition, p.src.partitions,
        random_counts(r, static_cast<int>(p.src.elements())), pick(r, 0, 1) ? 70 * 1024 : 0, true);
    fill_random(s, p.src, r, false);
    fill_random(s, other, r, false);
    const AluOp op = extremes ? pick_of(r, {AluOp::max, AluOp::min}) : pick_of(r, arithmetic);
    Plain plain(s);
    run(s, Opcode::tensor_tensor, TensorTensor{p.dst, p.src, other, op}, Engine::vector);
    for (int lane = 0; lane < p.dst.partitions; ++lane) {
      for (std::int64_t i = 0; i < p.dst.elements(); ++i) {
        plain.set(p.dst, lane, i, plain_op(op, plain.value(p.src, lane, i), plain.value(other, lane, i)));
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, " ", name(op));
  }
}

TEST_CASE("32-bit integer sums and products are exact and wrap on gpsimd, and go through fp32 on vector") {
  Random r(7);
  State s(small_program());
  const auto a = sbuf(DType::i32, 128, 0, 512), b = sbuf(DType::u32, 128, 4096, 512),
             c = sbuf(DType::i32, 128, 8192, 512);
  fill_random(s, a, r, true);
  fill_random(s, b, r, true);
  set_bits(s, a, 0, 0, 16777216);
  set_bits(s, b, 0, 0, 1);
  for (const AluOp op : {AluOp::add, AluOp::subtract, AluOp::mult}) {
    run(s, Opcode::tensor_tensor, TensorTensor{c, a, b, op}, Engine::gpsimd);
    bool right = true;
    for (int lane = 0; lane < 128; ++lane) {
      for (std::int64_t i = 0; i < 512; ++i) {
        const std::int64_t x = static_cast<std::int32_t>(bits(s, a, lane, i)), y = bits(s, b, lane, i);
        const std::uint64_t exact = op == AluOp::add ? static_cast<std::uint64_t>(x + y)
                                    : op == AluOp::subtract
                                        ? static_cast<std::uint64_t>(x - y)
                                        : static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
        right = right && bits(s, c, lane, i) == static_cast<std::uint32_t>(exact);
      }
    }
    CHECK_MESSAGE(right, name(op));
  }
  run(s, Opcode::tensor_tensor, TensorTensor{c, a, b, AluOp::add}, Engine::gpsimd);
  CHECK(bits(s, c, 0, 0) == 16777217);
  run(s, Opcode::tensor_tensor, TensorTensor{c, a, b, AluOp::add}, Engine::vector);
  CHECK(bits(s, c, 0, 0) == 16777216);
}

TEST_CASE("tensor_reduce takes the axes it names, as numpy does over the same axes") {
  State s(small_program());
  const auto src = pattern(Space::sbuf, DType::f32, 0, 128, 0, {{12, 2}, {4, 3}, {1, 4}});
  fill(s, src, [](int lane, std::int64_t i) { return static_cast<float>(i + lane); });
  const auto reduce = [&](Axes axes, int results) {
    const auto dst = sbuf(DType::f32, 128, 4096, results);
    TensorReduce f;
    f.dst = dst;
    f.src = src;
    f.axes = axes;
    run(s, Opcode::tensor_reduce, f, Engine::vector);
    return row(s, dst, 0);
  };
  CHECK(reduce(Axes::X, 6) == std::vector<float>{6, 22, 38, 54, 70, 86});  // numpy: x.sum(axis=2)
  CHECK(reduce(Axes::XY, 2) == std::vector<float>{66, 210});               // x.sum(axis=(1, 2))
  CHECK(reduce(Axes::XYZ, 1) == std::vector<float>{276});
  CHECK(reduce(Axes::XYZW, 1) == std::vector<float>{276});
  const auto two = sbuf(DType::f32, 128, 4096, 2);
  TensorReduce wrong;
  wrong.dst = two;
  wrong.src = src;
  CHECK_THROWS_WITH_AS(
      run(s, Opcode::tensor_reduce, wrong, Engine::vector),
      "tensor_reduce: dst has 128 partitions x 2 elements, expected 128 x 6: src has 24 elements, X "
      "takes 4 of them for each result",
      Fault);
}

TEST_CASE("tensor_reduce equals a chain in stream order, for long rows, all axes, types and in place") {
  Random r(8);
  for (int round = 0; round < 100; ++round) {
    State s(small_program());
    const RandomLanes lanes = random_lanes(r);
    const bool bitwise = pick(r, 0, 4) == 0, extremes = !bitwise && pick(r, 0, 2) == 0;
    const DType from = bitwise || extremes ? pick_of(r, integer_types) : pick_of(r, every_type);
    const DType to = bitwise ? from : pick_of(r, every_type);
    const auto counts = random_counts(r, pick_of(r, awkward_sizes));
    TensorReduce f;
    f.src = random_pattern(r, Space::sbuf, from, lanes.start[0], lanes.partitions, counts, 0, true);
    f.axes = pick_of(r, {Axes::X, Axes::XY, Axes::XYZ, Axes::XYZW});
    int results = 1, group = 1;
    for (std::size_t d = 0; d < 4; ++d)
      (d <= static_cast<std::size_t>(f.axes) ? group : results) *= counts[d];
    f.dst = random_pattern(r, Space::sbuf, to, lanes.start[0], lanes.partitions, random_counts(r, results),
                           pick(r, 0, 2) ? 48 * 1024 : 0, false);
    f.op = bitwise    ? pick_of(r, logic)
           : extremes ? pick_of(r, {AluOp::max, AluOp::min})
                      : pick_of(r, {AluOp::add, AluOp::mult, AluOp::subtract});
    f.negate = !bitwise && pick(r, 0, 1);
    fill_random(s, f.src, r, bitwise);
    Plain plain(s);
    run(s, Opcode::tensor_reduce, f, Engine::vector);
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      for (int k = 0; k < results; ++k) {
        const std::int64_t first = std::int64_t{k} * group;
        if (bitwise) {
          std::uint32_t v = plain.bits(f.src, lane, first);
          for (int i = 1; i < group; ++i) v = plain_bits(f.op, v, plain.bits(f.src, lane, first + i));
          plain.set_bits(f.dst, lane, k, v);
        } else {
          float v = plain.value(f.src, lane, first);
          for (int i = 1; i < group; ++i) v = plain_op(f.op, v, plain.value(f.src, lane, first + i));
          plain.set(f.dst, lane, k, f.negate ? -v : v);
        }
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, " ", name(f.op));
  }
}

TEST_CASE("reciprocal is IEEE division, at zero and infinity too") {
  Random r(9);
  for (int round = 0; round < 40; ++round) {
    State s(small_program());
    const Pair p = random_pair(r, pick_of(r, every_type), pick_of(r, every_type));
    fill_random(s, p.src, r, false);
    Plain plain(s);
    run(s, Opcode::reciprocal, Unary{p.dst, p.src}, Engine::vector);
    for (int lane = 0; lane < p.dst.partitions; ++lane) {
      for (std::int64_t i = 0; i < p.dst.elements(); ++i)
        plain.set(p.dst, lane, i, 1.0F / plain.value(p.src, lane, i));
    }
    CHECK(plain.equals(s));
  }
  State s(small_program());
  const auto p = sbuf(DType::f32, 1, 0, 3);
  fill(s, p, [](int, std::int64_t i) {
    return std::array{0.0F, -0.0F, std::numeric_limits<float>::infinity()}[static_cast<std::size_t>(i)];
  });
  run(s, Opcode::reciprocal, Unary{p, p}, Engine::vector);
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(row(s, p) == std::vector<float>{inf, -inf, 0});
}

TEST_CASE("an int8 tile of 100 multiplied by 0.99 falls by one a round and sticks at 50") {
  State s(small_program());
  const auto p = sbuf(DType::i8, 128, 0, 8);
  run(s, Opcode::memset, Memset{p, 100}, Engine::vector);
  TensorScalar f;
  f.dst = f.src = p;
  f.op0 = AluOp::mult;
  f.scalar0 = 0.99F;
  for (int round = 1; round <= 60; ++round) {
    run(s, Opcode::tensor_scalar, f, Engine::vector);
    REQUIRE(value(s, p, 127, 7) == static_cast<float>(std::max(50, 100 - round)));
  }
}

TEST_CASE("what does not fit together is refused with both sides in the message") {
  State s(small_program());
  const auto a = sbuf(DType::f32, 64, 0, 512), b = sbuf(DType::f32, 64, 4096, 256),
             c = sbuf(DType::f32, 32, 0, 512);
  CHECK_THROWS_WITH_AS(run(s, Opcode::tensor_copy, Unary{a, b}, Engine::vector),
                       "tensor_copy: dst has 64 partitions x 512 elements, src has 64 x 256", Fault);
  CHECK_THROWS_WITH_AS(run(s, Opcode::tensor_tensor, TensorTensor{a, a, c, AluOp::add}, Engine::vector),
                       "tensor_tensor: dst has 64 partitions x 512 elements, src1 has 32 x 512", Fault);
  TensorScalar f;
  f.dst = f.src = a;
  f.op0 = AluOp::mult;
  CHECK_THROWS_WITH_AS(run(s, Opcode::tensor_scalar, f, Engine::vector),
                       "tensor_scalar: scalar0 is missing, its operator takes two operands", Fault);
  f.scalar0 = 2.0F;
  f.op1 = AluOp::bitwise_and;
  f.scalar1 = 1;
  CHECK_THROWS_AS(run(s, Opcode::tensor_scalar, f, Engine::vector), Fault);
  CHECK_THROWS_WITH_AS(
      run(s, Opcode::tensor_tensor, TensorTensor{a, a, a, AluOp::bitwise_or}, Engine::vector),
      "tensor_tensor: bitwise_or works on the bits of integers, dst is f32", Fault);
  auto outside = sbuf(DType::f32, 64, 96 * 1024 - 8, 3);
  CHECK_THROWS_WITH_AS(run(s, Opcode::memset, Memset{outside, 0.0F}, Engine::vector),
                       "memset: dst takes bytes 98296-98307 of each partition, sbuf has 98304", Fault);
  CHECK_THROWS_AS(run(s, Opcode::nop, NoOperands{}, Engine::vector), Fault);
}
