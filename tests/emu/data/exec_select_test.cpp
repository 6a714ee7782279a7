// tensor_copy_predicated, scalar_tensor_tensor, range_select, select_reduce.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/vector_operands.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr float lowest = -3.4028234663852886e38F;

// Some zero, some not.
void fill_predicate(State& s, const AccessPattern& p, Random& r) {
  for (int lane = 0; lane < p.partitions; ++lane) {
    for (std::int64_t i = 0; i < p.elements(); ++i)
      set_bits(s, p, lane, i, pick(r, 0, 1) ? 0U : static_cast<std::uint32_t>(r()));
  }
}

}  // namespace

TEST_CASE("tensor_copy_predicated moves the bits of the elements whose predicate is not 0, and no others") {
  Random r(11);
  for (int round = 0; round < 150; ++round) {
    State s(small_program());
    RandomOperands o(r);
    CopyPredicated f;
    const DType type = pick_of(r, every_type);
    f.dst = o.operand(0, type);
    f.predicate = o.operand(1, pick_of(r, {DType::u8, DType::u16, DType::u32}));
    f.src = o.operand(2, type);
    f.reverse = pick(r, 0, 1);
    fill_random(s, f.dst, r, true);
    fill_random(s, *f.src, r, true);
    fill_predicate(s, f.predicate, r);
    Plain plain(s);
    run(s, Opcode::tensor_copy_predicated, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        const bool holds = plain.bits(f.predicate, lane, i) != 0;
        if (holds != f.reverse) plain.set_bits(f.dst, lane, i, plain.bits(*f.src, lane, i));
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("tensor_copy_predicated without src fills with its value, integers exactly") {
  Random r(12);
  for (const DType type : every_type) {
    for (const ScalarOperand value :
         {ScalarOperand{-1.3F}, ScalarOperand{1e10F}, ScalarOperand{16777217}, ScalarOperand{-5}}) {
      State s(small_program());
      RandomOperands o(r);
      CopyPredicated f;
      f.dst = o.operand(0, type);
      f.predicate = o.operand(1, DType::u8);
      f.value = value;
      fill_random(s, f.dst, r, true);
      fill_predicate(s, f.predicate, r);
      Plain plain(s);
      run(s, Opcode::tensor_copy_predicated, f, Engine::vector);
      const auto* integer = std::get_if<std::int32_t>(&value);
      const std::uint32_t expected = integer == nullptr ? to_bits(type, std::get<float>(value))
                                     : is_integer(type) ? integer_to_bits(type, *integer)
                                                        : to_bits(type, static_cast<float>(*integer));
      for (int lane = 0; lane < o.lanes(); ++lane) {
        for (std::int64_t i = 0; i < o.elements(); ++i) {
          if (plain.bits(f.predicate, lane, i) != 0) plain.set_bits(f.dst, lane, i, expected);
        }
      }
      CHECK_MESSAGE(plain.equals(s), name(type));
    }
  }
}

TEST_CASE("tensor_copy_predicated into one repeated element leaves the last selected source there") {
  State s(small_program());
  const auto dst = pattern(Space::sbuf, DType::f32, 0, 2, 0, {{0, 8}});
  const auto src = sbuf(DType::f32, 2, 64, 8), predicate = sbuf(DType::u8, 2, 128, 8);
  fill(s, src, [](int lane, std::int64_t i) { return static_cast<float>(10 * lane + i); });
  fill(s, predicate, [](int lane, std::int64_t i) { return i < 5 - lane ? 1.0F : 0.0F; });
  run(s, Opcode::tensor_copy_predicated, CopyPredicated{dst, predicate, src}, Engine::vector);
  CHECK(value(s, dst, 0, 0) == 4);
  CHECK(value(s, dst, 1, 0) == 13);
}

TEST_CASE("tensor_copy_predicated refuses a source of another type and a source that is missing") {
  State s(small_program());
  const auto a = sbuf(DType::f32, 4, 0, 8), p = sbuf(DType::u8, 4, 64, 8), b = sbuf(DType::bf16, 4, 128, 8);
  CHECK_THROWS_WITH_AS(run(s, Opcode::tensor_copy_predicated, CopyPredicated{a, p, b}, Engine::vector),
                       "tensor_copy_predicated: src is bf16, dst is f32; they must be equal", Fault);
  CHECK_THROWS_AS(run(s, Opcode::tensor_copy_predicated, CopyPredicated{a, p}, Engine::vector), Fault);
}

TEST_CASE("scalar_tensor_tensor applies a scalar, then a tensor, with either order of operands") {
  Random r(13);
  for (int round = 0; round < 150; ++round) {
    State s(small_program());
    RandomOperands o(r);
    ScalarTensorTensor f;
    f.dst = o.operand(0, pick_of(r, every_type));
    f.src0 = o.operand(1, pick_of(r, every_type));
    f.src1 = o.operand(2, pick_of(r, every_type));
    const auto column = o.column(pick_of(r, every_type), 0);
    for (const auto& p : {f.src0, f.src1, column}) fill_random(s, p, r, false);
    f.op0 = pick_of(r, {AluOp::bypass, AluOp::abs, AluOp::add, AluOp::subtract, AluOp::mult, AluOp::is_gt});
    f.op1 = pick_of(r, running_operators);
    f.reverse1 = pick(r, 0, 1);
    const float imm = random_value(r);
    const bool per_lane = pick(r, 0, 1);
    if (!is_unary(f.op0)) {
      f.reverse0 = pick(r, 0, 1);
      f.scalar0 = per_lane ? ScalarOperand{pointer(column)} : ScalarOperand{imm};
    }
    Plain plain(s);
    run(s, Opcode::scalar_tensor_tensor, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      const float scalar = per_lane ? plain.value(column, lane, 0) : imm;
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        float t = plain.value(f.src0, lane, i);
        t = f.reverse0 ? plain_op(f.op0, scalar, t) : plain_op(f.op0, t, scalar);
        const float x = plain.value(f.src1, lane, i);
        plain.set(f.dst, lane, i, f.reverse1 ? plain_op(f.op1, x, t) : plain_op(f.op1, t, x));
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, " ", name(f.op0), " ", name(f.op1));
  }
}

TEST_CASE("range_select keeps the indices between its bounds and reduces each lane by max") {
  Random r(14);
  for (int round = 0; round < 100; ++round) {
    State s(small_program(3));
    RandomOperands o(r);
    RangeSelect f;
    f.dst = o.operand(0, pick_of(r, {DType::f32, DType::bf16, DType::f16, DType::f8e5m2}));
    f.src = o.operand(1, pick_of(r, {DType::f32, DType::bf16, DType::f16}));
    f.comp0 = pick_of(r, {AluOp::is_equal, AluOp::is_ge, AluOp::is_gt});
    f.comp1 = pick_of(r, {AluOp::is_le, AluOp::is_lt});
    f.range_start = static_cast<float>(pick(r, 0, 2) * 100);
    f.reduce_cmd = pick_of(
        r, {ReduceCommand::idle, ReduceCommand::reset, ReduceCommand::reduce, ReduceCommand::reset_reduce});
    const auto low = o.column(DType::f32, 0), high = o.column(DType::f32, 1),
               result = o.column(DType::f32, 2);
    f.bound0 = pointer(low);
    f.bound1 = pointer(high);
    if (pick(r, 0, 1)) f.reduce_res = pointer(result);
    fill_random(s, f.src, r, false);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      const float start = f.range_start + static_cast<float>(pick(r, 0, o.elements()));
      set_bits(s, low, lane, 0, to_bits(DType::f32, start));
      set_bits(s, high, lane, 0, to_bits(DType::f32, start + static_cast<float>(pick(r, 0, 50))));
    }
    s.vector_accumulators.fill(7);
    auto accumulators = s.vector_accumulators;
    Plain plain(s);
    run(s, Opcode::range_select, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      float& acc = accumulators[static_cast<std::size_t>(f.dst.partition + lane)];
      if (f.reduce_cmd == ReduceCommand::reset || f.reduce_cmd == ReduceCommand::reset_reduce)
        acc = -std::numeric_limits<float>::infinity();
      const float from = plain.value(low, lane, 0), to = plain.value(high, lane, 0);
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        const float at = f.range_start + static_cast<float>(i);
        const bool selected = plain_op(f.comp0, at, from) != 0 && plain_op(f.comp1, at, to) != 0;
        const float x = selected ? plain.value(f.src, lane, i) : lowest;
        if (f.reduce_cmd == ReduceCommand::reduce || f.reduce_cmd == ReduceCommand::reset_reduce)
          acc = plain_max(acc, x);
        plain.set(f.dst, lane, i, x);
      }
    }
    for (int lane = 0; lane < o.lanes(); ++lane) {
      const float acc = accumulators[static_cast<std::size_t>(f.dst.partition + lane)];
      if (std::holds_alternative<PointerOperand>(f.reduce_res)) plain.set(result, lane, 0, acc);
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
    CHECK_MESSAGE(accumulators == s.vector_accumulators, "round ", round);
  }
}

TEST_CASE("what range_select does not select is the lowest fp32 number, minus infinity in narrower types") {
  for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::f8e5m2, DType::f8e4m3}) {
    State s(small_program(3));
    const auto src = sbuf(DType::f32, 1, 0, 2), dst = sbuf(type, 1, 64, 2),
               bound = sbuf(DType::f32, 1, 128, 1);
    fill(s, src, [](int, std::int64_t) { return 1.0F; });
    fill(s, bound, [](int, std::int64_t) { return 1.0F; });
    RangeSelect f{.dst = dst, .src = src};
    f.bound0 = f.bound1 = pointer(bound);
    f.comp1 = AluOp::is_ge;
    run(s, Opcode::range_select, f, Engine::vector);
    CHECK(value(s, dst, 0, 0) == (type == DType::f32 ? lowest : -std::numeric_limits<float>::infinity()));
    CHECK(value(s, dst, 0, 1) == 1);
  }
}

TEST_CASE("select_reduce takes on_true where the predicate holds, and its max goes into the accumulator") {
  Random r(15);
  for (int round = 0; round < 100; ++round) {
    State s(small_program());
    RandomOperands o(r);
    SelectReduce f;
    f.dst = o.operand(0, pick_of(r, every_type));
    f.on_true = o.operand(1, pick_of(r, {DType::f32, DType::bf16, DType::i8, DType::u16}));
    f.predicate = o.operand(2, pick_of(r, {DType::i8, DType::u8, DType::i16, DType::u16}));
    f.reverse = pick(r, 0, 1);
    f.reduce_cmd = pick_of(r, {ReduceCommand::idle, ReduceCommand::reduce, ReduceCommand::reset_reduce});
    const auto column = o.column(DType::f32, 0);
    const bool per_lane = pick(r, 0, 1);
    f.on_false = per_lane ? ScalarOperand{pointer(column)} : ScalarOperand{-2.5F};
    fill_random(s, f.on_true, r, false);
    fill_random(s, column, r, false);
    fill_predicate(s, f.predicate, r);
    s.vector_accumulators.fill(3);
    auto accumulators = s.vector_accumulators;
    Plain plain(s);
    run(s, Opcode::select_reduce, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      float& acc = accumulators[static_cast<std::size_t>(f.dst.partition + lane)];
      if (f.reduce_cmd == ReduceCommand::reset_reduce) acc = -std::numeric_limits<float>::infinity();
      const float other = per_lane ? plain.value(column, lane, 0) : -2.5F;
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        const bool holds = (plain.bits(f.predicate, lane, i) != 0) != f.reverse;
        const float x = holds ? plain.value(f.on_true, lane, i) : other;
        if (f.reduce_cmd != ReduceCommand::idle) acc = plain_max(acc, x);
        plain.set(f.dst, lane, i, x);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
    const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    CHECK_MESSAGE(std::ranges::equal(accumulators, s.vector_accumulators, same), "round ", round);
  }
}

TEST_CASE("read_accumulator gives the accumulators of the engine it runs on") {
  State s(small_program());
  s.vector_accumulators.fill(1.5F);
  s.scalar_accumulators.fill(2.5F);
  const auto dst = pattern(Space::sbuf, DType::f32, 32, 32, 0, {{1, 1}});
  run(s, Opcode::read_accumulator, Destination{dst}, Engine::vector);
  CHECK(value(s, dst, 31, 0) == 1.5F);
  run(s, Opcode::read_accumulator, Destination{dst}, Engine::scalar);
  CHECK(value(s, dst, 31, 0) == 2.5F);
}
