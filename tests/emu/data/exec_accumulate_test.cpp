// tensor_scalar_reduce, tensor_scalar_cumulative, tensor_tensor_scan.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/vector_operands.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float identity(AluOp op) {
  switch (op) {
    case AluOp::mult: return 1;
    case AluOp::max: return -infinity;
    case AluOp::min: return infinity;
    default: return 0;
  }
}

bool same(const std::array<float, 128>& a, const std::array<float, 128>& b) {
  return std::ranges::equal(a, b,
                            [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

bool resets(ReduceCommand c) { return c == ReduceCommand::reset || c == ReduceCommand::reset_reduce; }
bool reduces(ReduceCommand c) { return c == ReduceCommand::reduce || c == ReduceCommand::reset_reduce; }

}  // namespace

TEST_CASE("tensor_scalar_reduce writes what it reduces, and reduces in stream order") {
  Random r(21);
  for (int round = 0; round < 150; ++round) {
    State s(small_program());
    RandomOperands o(r);
    TensorScalarReduce f;
    f.dst = o.operand(0, pick_of(r, every_type));
    f.src = o.operand(1, pick_of(r, every_type));
    f.op0 = pick_of(r, {AluOp::bypass, AluOp::abs, AluOp::add, AluOp::subtract, AluOp::mult});
    f.reduce_op = pick_of(r, running_operators);
    f.reduce_cmd = pick_of(
        r, {ReduceCommand::idle, ReduceCommand::reset, ReduceCommand::reduce, ReduceCommand::reset_reduce});
    f.negate = pick(r, 0, 1);
    const auto column = o.column(DType::bf16, 0), result = o.column(pick_of(r, every_type), 1);
    const bool per_lane = pick(r, 0, 1), read_out = pick(r, 0, 1);
    if (!is_unary(f.op0)) f.scalar0 = per_lane ? ScalarOperand{pointer(column)} : ScalarOperand{0.75F};
    if (read_out) f.reduce_res = pointer(result);
    fill_random(s, f.src, r, false);
    fill_random(s, column, r, false);
    for (float& a : s.vector_accumulators) a = random_value(r);
    auto accumulators = s.vector_accumulators;
    Plain plain(s);
    run(s, Opcode::tensor_scalar_reduce, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      float& acc = accumulators[static_cast<std::size_t>(f.dst.partition + lane)];
      if (resets(f.reduce_cmd)) acc = identity(f.reduce_op);
      const float scalar = per_lane ? plain.value(column, lane, 0) : 0.75F;
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        const float x = plain_op(f.op0, plain.value(f.src, lane, i), scalar);
        if (reduces(f.reduce_cmd)) acc = plain_op(f.reduce_op, acc, x);
        plain.set(f.dst, lane, i, x);
      }
    }
    for (int lane = 0; lane < o.lanes() && read_out; ++lane) {
      const float acc = accumulators[static_cast<std::size_t>(f.dst.partition + lane)];
      plain.set(result, lane, 0, f.negate ? -acc : acc);
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, " ", name(f.op0), " ", name(f.reduce_op));
    CHECK_MESSAGE(same(accumulators, s.vector_accumulators), "round ", round);
  }
}

TEST_CASE("a plain instruction between two halves of a reduction leaves the accumulator alone") {
  // On the vector engine: idle leaves the registers (datasheet 6.6 lets the hardware change them).
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 4), dst = sbuf(DType::f32, 128, 64, 4);
  const auto sum = sbuf(DType::f32, 128, 128, 1);
  fill(s, src, [](int, std::int64_t i) { return static_cast<float>(i + 1); });
  TensorScalarReduce f{.dst = dst, .src = src};
  run(s, Opcode::tensor_scalar_reduce, f, Engine::vector);
  f.reduce_cmd = ReduceCommand::idle;
  run(s, Opcode::tensor_scalar_reduce, f, Engine::vector);
  run(s, Opcode::tensor_copy, Unary{dst, src}, Engine::vector);
  f.reduce_cmd = ReduceCommand::reduce;
  f.reduce_res = pointer(sum);
  run(s, Opcode::tensor_scalar_reduce, f, Engine::vector);
  CHECK(value(s, sum, 127, 0) == 20);
}

TEST_CASE("a result placed over the destination wins, as it is written last") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 4, 0, 4), dst = sbuf(DType::f32, 4, 64, 4);
  fill(s, src, [](int, std::int64_t) { return 3.0F; });
  TensorScalarReduce f{.dst = dst, .src = src};
  f.reduce_res = pointer(sbuf(DType::f32, 4, 68, 1));
  run(s, Opcode::tensor_scalar_reduce, f, Engine::vector);
  CHECK(row(s, dst, 3) == std::vector<float>{3, 12, 3, 3});
}

TEST_CASE("tensor_scalar_cumulative over 1, 2, 3 doubled is 2, 6, 12") {  // datasheet A.1
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 3), dst = sbuf(DType::bf16, 128, 64, 3);
  fill(s, src, [](int, std::int64_t i) { return static_cast<float>(i + 1); });
  TensorScalarCumulative f{.dst = dst, .src = src, .op0 = AluOp::mult, .scalar0 = 2.0F};
  run(s, Opcode::tensor_scalar_cumulative, f, Engine::vector);
  for (const int lane : {0, 127}) CHECK(row(s, dst, lane) == std::vector<float>{2, 6, 12});
}

TEST_CASE("tensor_scalar_cumulative computes op1(new, running), from the identity, the register or scalar1") {
  Random r(22);
  for (int round = 0; round < 150; ++round) {
    State s(small_program());
    RandomOperands o(r);
    TensorScalarCumulative f;
    f.dst = o.operand(0, pick_of(r, {DType::f32, DType::bf16, DType::f16, DType::i8, DType::u16}));
    f.src = o.operand(1, pick_of(r, {DType::f32, DType::bf16, DType::f8e4m3, DType::i16, DType::u8}));
    f.op0 = pick_of(r, {AluOp::bypass, AluOp::abs, AluOp::add, AluOp::mult});
    f.op1 = pick_of(r, running_operators);
    f.reduce_cmd =
        pick_of(r, {ReduceCommand::reduce, ReduceCommand::reset_reduce, ReduceCommand::load_reduce});
    const auto c0 = o.column(DType::f32, 0), c1 = o.column(DType::f32, 1);
    const bool per_lane = pick(r, 0, 1);
    if (!is_unary(f.op0)) f.scalar0 = per_lane ? ScalarOperand{pointer(c0)} : ScalarOperand{0.5F};
    if (f.reduce_cmd == ReduceCommand::load_reduce)
      f.scalar1 = per_lane ? ScalarOperand{pointer(c1)} : ScalarOperand{-4.0F};
    for (const auto& p : {f.src, c0, c1}) fill_random(s, p, r, false);
    for (float& a : s.vector_accumulators) a = random_value(r);
    auto accumulators = s.vector_accumulators;
    Plain plain(s);
    run(s, Opcode::tensor_scalar_cumulative, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      float& acc = accumulators[static_cast<std::size_t>(f.dst.partition + lane)];
      if (f.reduce_cmd == ReduceCommand::reset_reduce) acc = identity(f.op1);
      if (f.reduce_cmd == ReduceCommand::load_reduce) acc = per_lane ? plain.value(c1, lane, 0) : -4.0F;
      const float scalar = per_lane ? plain.value(c0, lane, 0) : 0.5F;
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        acc = plain_op(f.op1, plain_op(f.op0, plain.value(f.src, lane, i), scalar), acc);
        plain.set(f.dst, lane, i, acc);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, " ", name(f.op0), " ", name(f.op1));
    CHECK_MESSAGE(same(accumulators, s.vector_accumulators), "round ", round);
  }
}

TEST_CASE("tensor_tensor_scan by mult and add over 2, 3, 4 and ones from 0 is 1, 4, 17") {  // datasheet A.1
  State s(small_program());
  const auto a = sbuf(DType::f32, 128, 0, 3), b = sbuf(DType::f32, 128, 64, 3),
             dst = sbuf(DType::f32, 128, 128, 3);
  fill(s, a, [](int, std::int64_t i) { return static_cast<float>(i + 2); });
  fill(s, b, [](int, std::int64_t) { return 1.0F; });
  run(s, Opcode::tensor_tensor_scan, TensorTensorScan{.dst = dst, .src0 = a, .src1 = b}, Engine::vector);
  for (const int lane : {0, 127}) CHECK(row(s, dst, lane) == std::vector<float>{1, 4, 17});
}

TEST_CASE("tensor_tensor_scan keeps its state in fp32, with either order of operands") {
  Random r(23);
  for (int round = 0; round < 150; ++round) {
    State s(small_program());
    RandomOperands o(r);
    TensorTensorScan f;
    f.dst = o.operand(0, pick_of(r, every_type));
    f.src0 = o.operand(1, pick_of(r, every_type));
    f.src1 = o.operand(2, pick_of(r, every_type));
    f.op0 = pick_of(r, running_operators);
    f.op1 = pick_of(r, running_operators);
    f.reverse0 = pick(r, 0, 1);
    f.reverse1 = pick(r, 0, 1);
    const auto column = o.column(DType::f32, 0);
    const bool per_lane = pick(r, 0, 1);
    f.initial = per_lane ? ScalarOperand{pointer(column)} : ScalarOperand{0.25F};
    for (const auto& p : {f.src0, f.src1, column}) fill_random(s, p, r, false);
    Plain plain(s);
    run(s, Opcode::tensor_tensor_scan, f, Engine::vector);
    for (int lane = 0; lane < o.lanes(); ++lane) {
      float state = per_lane ? plain.value(column, lane, 0) : 0.25F;
      for (std::int64_t i = 0; i < o.elements(); ++i) {
        const float x = plain.value(f.src0, lane, i), y = plain.value(f.src1, lane, i);
        const float t = f.reverse0 ? plain_op(f.op0, state, x) : plain_op(f.op0, x, state);
        state = f.reverse1 ? plain_op(f.op1, y, t) : plain_op(f.op1, t, y);
        plain.set(f.dst, lane, i, state);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, " ", name(f.op0), " ", name(f.op1));
  }
}

TEST_CASE("a scan in two chunks joined by the last column is the scan of the whole") {
  State s(small_program());
  Random r(24);
  const auto a = sbuf(DType::f32, 64, 0, 300), b = sbuf(DType::f32, 64, 2048, 300);
  const auto whole = sbuf(DType::f32, 64, 4096, 300), parts = sbuf(DType::f32, 64, 8192, 300);
  fill_random(s, a, r, false);
  fill_random(s, b, r, false);
  run(s, Opcode::tensor_tensor_scan, TensorTensorScan{.dst = whole, .src0 = a, .src1 = b}, Engine::vector);
  const auto part = [](AccessPattern p, int first, int count) {
    p.offset += static_cast<std::uint32_t>(4 * first);
    p.dims[0].count = static_cast<std::uint16_t>(count);
    return p;
  };
  TensorTensorScan f{.dst = part(parts, 0, 129), .src0 = part(a, 0, 129), .src1 = part(b, 0, 129)};
  run(s, Opcode::tensor_tensor_scan, f, Engine::vector);
  f = {.dst = part(parts, 129, 171), .src0 = part(a, 129, 171), .src1 = part(b, 129, 171)};
  f.initial = pointer(part(parts, 128, 1));
  run(s, Opcode::tensor_tensor_scan, f, Engine::vector);
  bool equal = true;
  for (int lane = 0; lane < 64; ++lane) {
    for (std::int64_t i = 0; i < 300; ++i)
      equal = equal && bits(s, whole, lane, i) == bits(s, parts, lane, i);
  }
  CHECK(equal);
}

TEST_CASE("commands without meaning are refused") {
  State s(small_program());
  const auto p = sbuf(DType::f32, 4, 0, 4);
  TensorScalarReduce reduce{.dst = p, .src = p};
  reduce.reduce_cmd = ReduceCommand::load_reduce;
  CHECK_THROWS_WITH_AS(run(s, Opcode::tensor_scalar_reduce, reduce, Engine::vector),
                       "tensor_scalar_reduce: reduce_cmd = load_reduce has no initial value to load", Fault);
  TensorScalarCumulative cumulative{.dst = p, .src = p};
  cumulative.reduce_cmd = ReduceCommand::idle;
  CHECK_THROWS_WITH_AS(
      run(s, Opcode::tensor_scalar_cumulative, cumulative, Engine::vector),
      "tensor_scalar_cumulative: reduce_cmd is idle, expected reduce, reset_reduce or load_reduce", Fault);
}
