#include "tests/support/sequential.h"

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Writes programs as the builder leaves them: streams and the order of the text.
struct Text {
  Program program = small_program();

  Instruction& add(Engine engine, Opcode opcode, Operands operands = NoOperands{}) {
    Instruction i;
    i.opcode = opcode;
    i.operands = std::move(operands);
    program.order.push_back(engine);
    program.stream(engine).push_back(i);
    return program.stream(engine).back();
  }
  std::uint32_t here() const { return static_cast<std::uint32_t>(program.order.size()); }
  void manual(Engine engine, std::uint32_t begin) {
    program.manual_blocks.push_back({engine, begin, here(), 0});
  }
};

constexpr Register r1{1}, r2{2}, r3{3};

Wait at_least(std::uint8_t semaphore, std::uint16_t value) {
  return {semaphore, Comparison::ge, false, value};
}
Update increment(std::uint8_t semaphore) {
  return {semaphore, UpdateOperation::sem_inc, UpdateWhen::complete, 0};
}
TensorScalar plus(const AccessPattern& dst, const AccessPattern& src, ScalarOperand value) {
  TensorScalar f;
  f.dst = dst;
  f.src = src;
  f.op0 = AluOp::add;
  f.scalar0 = value;
  return f;
}

const AccessPattern x = sbuf(DType::f32, 128, 0, 8), y = sbuf(DType::f32, 128, 64, 8);

}  // namespace

TEST_CASE("instructions of different engines take effect in the order of the text") {
  Text t;
  t.add(Engine::vector, Opcode::memset, Memset{x, 1.0F});
  t.add(Engine::gpsimd, Opcode::tensor_copy, Unary{y, x});
  t.add(Engine::vector, Opcode::memset, Memset{x, 2.0F});
  t.add(Engine::vector, Opcode::tensor_tensor, TensorTensor{y, x, y, AluOp::add});
  State s(t.program);
  run_sequentially(t.program, s);
  CHECK(row(s, y, 127) == std::vector<float>(8, 3));
}

TEST_CASE("a loop's counter indexes tiles in every stream that has instructions in it") {
  // for r1 in 2 .. 8 step 2, for r2 in 0 .. r3: x[r1] = 10, then y[r1] += 1 by another engine
  Text t;
  t.add(Engine::vector, Opcode::memset, Memset{y, 0.0F});
  t.add(Engine::vector, Opcode::register_move, RegisterMove{r3, 3});
  t.add(Engine::gpsimd, Opcode::register_move, RegisterMove{r3, 3});
  const std::uint32_t begin = t.here();
  auto one = sbuf(DType::f32, 128, 0, 1);
  one.index = r1;
  one.index_step = 1;
  auto count = one;
  count.offset = y.offset;
  t.add(Engine::vector, Opcode::memset, Memset{one, 10.0F});
  const std::uint32_t inner = t.here();
  t.add(Engine::gpsimd, Opcode::tensor_scalar, plus(count, count, 1.0F));
  t.add(Engine::vector, Opcode::nop);
  t.program.loops.push_back({r1, 2, 8, 2, begin, t.here(), 0});
  t.program.loops.push_back({r2, 0, r3, 1, inner, t.here(), 0});
  t.add(Engine::vector, Opcode::tensor_copy, Unary{sbuf(DType::f32, 128, 128, 8), y});
  State s(t.program);
  run_sequentially(t.program, s);
  CHECK(row(s, y, 5) == std::vector<float>{0, 0, 3, 0, 3, 0, 3, 0});
  CHECK(row(s, sbuf(DType::f32, 128, 128, 8), 5) == row(s, y, 5));
  CHECK(value(s, x, 5, 6) == 10);
  CHECK(std::isnan(value(s, x, 5, 7)));
}

TEST_CASE("a loop whose bound differs between streams is refused, an empty one runs nothing") {
  Text t;
  t.add(Engine::vector, Opcode::register_move, RegisterMove{r3, 1});
  const std::uint32_t begin = t.here();
  t.add(Engine::vector, Opcode::memset, Memset{x, 1.0F});
  t.program.loops.push_back({r1, 0, r3, 1, begin, t.here(), 0});
  {
    State s(t.program);
    run_sequentially(t.program, s);
    CHECK(value(s, x, 0, 0) == 1);
  }
  t.program.stream(Engine::vector)[0].operands = RegisterMove{r3, 0};
  {
    State s(t.program);
    run_sequentially(t.program, s);
    CHECK(std::isnan(value(s, x, 0, 0)));
  }
  t.add(Engine::gpsimd, Opcode::nop);
  t.program.loops[0].end = t.here();
  t.program.stream(Engine::vector)[0].operands = RegisterMove{r3, 1};
  State s(t.program);
  CHECK_THROWS_AS(run_sequentially(t.program, s), Fault);
}

TEST_CASE("a hand-written block branches within itself and computes with registers") {
  // r1 = 5; r2 = 0; do { r2 += r1; r1 -= 1 } while (r1 > 0); store r2 as a float's bits and as an integer
  Text t;
  const std::uint32_t begin = t.here();
  t.add(Engine::sync, Opcode::register_move, RegisterMove{r1, 5});
  t.add(Engine::sync, Opcode::register_move, RegisterMove{r2, 0});
  t.add(Engine::sync, Opcode::register_alu, RegisterAlu{r2, r2, r1, AluOp::add});
  t.add(Engine::sync, Opcode::register_alu, RegisterAlu{r1, r1, 1, AluOp::subtract});
  t.add(Engine::sync, Opcode::compare_branch, CompareBranch{r1, 0, Comparison::gt, {2}});
  t.add(Engine::sync, Opcode::register_store, RegisterStore{sbuf(DType::i32, 1, 0, 1), r2});
  t.add(Engine::sync, Opcode::compare_branch, CompareBranch{r1, 0, Comparison::always, {8}});
  t.add(Engine::sync, Opcode::register_store, RegisterStore{sbuf(DType::i32, 1, 0, 1), r1});
  t.manual(Engine::sync, begin);
  t.add(Engine::sync, Opcode::register_load, RegisterLoad{r3, sbuf(DType::i32, 1, 0, 1)});
  t.add(Engine::sync, Opcode::register_store, RegisterStore{sbuf(DType::i16, 1, 4, 1), r3});
  State s(t.program);
  run_sequentially(t.program, s);
  CHECK(value(s, sbuf(DType::i32, 1, 0, 1), 0, 0) == 15);
  CHECK(value(s, sbuf(DType::i16, 1, 4, 1), 0, 0) == 15);
}

TEST_CASE("neighbouring blocks take turns at waits, and a wait that nothing can satisfy is named") {
  Text t;
  std::uint32_t begin = t.here();
  t.add(Engine::vector, Opcode::tensor_scalar, plus(y, x, 1.0F)).wait = at_least(100, 1);
  t.program.stream(Engine::vector).back().update = increment(101);
  t.manual(Engine::vector, begin);
  begin = t.here();
  t.add(Engine::gpsimd, Opcode::memset, Memset{x, 4.0F}).update = increment(100);
  t.add(Engine::gpsimd, Opcode::tensor_scalar, plus(y, y, 2.0F)).wait = at_least(101, 1);
  t.manual(Engine::gpsimd, begin);
  {
    State s(t.program);
    run_sequentially(t.program, s);
    CHECK(row(s, y, 3) == std::vector<float>(8, 7));
  }
  t.program.stream(Engine::gpsimd).back().wait = at_least(101, 2);
  State s(t.program);
  CHECK_THROWS_WITH_AS(run_sequentially(t.program, s),
                       doctest::Contains("waits for semaphore 101 ge 2, which is 1"), Fault);
}

TEST_CASE("a transfer signals once from each of the 16 DMA engines") {
  Text t;
  const std::uint32_t begin = t.here();
  t.add(Engine::vector, Opcode::memset, Memset{x, 4.0F});
  DmaCopy copy;
  copy.dst = y;
  copy.src = x;
  t.add(Engine::vector, Opcode::dma_copy, copy).update = increment(7);
  t.add(Engine::vector, Opcode::event_semaphore).wait = at_least(7, 16);
  t.add(Engine::vector, Opcode::event_semaphore).wait = {7, Comparison::eq, false, 16};
  t.add(Engine::vector, Opcode::semaphore_clear, SemaphoreRange{7, 1});
  t.add(Engine::vector, Opcode::event_semaphore).wait = {7, Comparison::eq, false, 0};
  t.manual(Engine::vector, begin);
  State s(t.program);
  run_sequentially(t.program, s);
  CHECK(value(s, y, 0, 0) == 4);
}

TEST_CASE(
    "a register among scalar operands is a float's bits for arithmetic and an integer for the bitvec class") {
  Text t;
  t.add(Engine::vector, Opcode::register_move, RegisterMove{r1, 0x40400000});  // 3.0
  t.add(Engine::vector, Opcode::memset, Memset{x, 1.0F});
  t.add(Engine::vector, Opcode::tensor_scalar, plus(x, x, r1));
  t.add(Engine::vector, Opcode::register_move, RegisterMove{r1, 6});
  const auto n = sbuf(DType::i32, 128, 64, 8);
  t.add(Engine::vector, Opcode::memset, Memset{n, r1});
  TensorScalar f;
  f.dst = f.src = n;
  f.op0 = AluOp::logical_shift_left;
  f.scalar0 = r1;
  t.add(Engine::vector, Opcode::tensor_scalar, f);
  State s(t.program);
  run_sequentially(t.program, s);
  CHECK(row(s, x, 1) == std::vector<float>(8, 4));
  CHECK(row(s, n, 1) == std::vector<float>(8, 384));
}

TEST_CASE("an index that leaves its tile is refused, though it stays inside the memory") {
  Text t;
  Tile tile;
  tile.name = "acc";
  tile.bytes = 32;
  tile.first_place = 0;
  t.program.tiles.push_back(tile);
  t.program.places.push_back({0, 0, 64});
  auto one = sbuf(DType::f32, 128, 64, 1);
  one.index = r1;
  one.index_step = 2;
  one.place = 0;
  t.add(Engine::vector, Opcode::register_move, RegisterMove{r1, 3});
  t.add(Engine::vector, Opcode::memset, Memset{one, 1.0F});
  {
    State s(t.program);
    run_sequentially(t.program, s);
    CHECK(value(s, sbuf(DType::f32, 128, 64, 8), 0, 6) == 1);
  }
  for (const int index : {4, -1}) {
    t.program.stream(Engine::vector)[0].operands = RegisterMove{r1, index};
    State s(t.program);
    CHECK_THROWS_WITH_AS(run_sequentially(t.program, s), doctest::Contains("acc has 64-95"), Fault);
  }
}

TEST_CASE("a program that is synchronised, or has no text order, is refused; so is one that never ends") {
  Text t;
  t.add(Engine::vector, Opcode::nop);
  State s(t.program);
  Program synchronised = t.program;
  synchronised.synchronised = true;
  CHECK_THROWS_AS(run_sequentially(synchronised, s), Fault);
  Program by_hand = t.program;
  by_hand.order.clear();
  CHECK_THROWS_AS(run_sequentially(by_hand, s), Fault);
  Text endless;
  endless.add(Engine::vector, Opcode::compare_branch, CompareBranch{r1, 0, Comparison::always, {0}});
  endless.manual(Engine::vector, 0);
  CHECK_THROWS_AS(run_sequentially(endless.program, s, {.max_instructions = 1000, .on_effect = {}}), Fault);
}

TEST_CASE("halt ends its own stream and no other") {
  Text t;
  t.add(Engine::vector, Opcode::memset, Memset{x, 1.0F});
  t.add(Engine::vector, Opcode::halt);
  t.add(Engine::vector, Opcode::memset, Memset{x, 2.0F});
  t.add(Engine::gpsimd, Opcode::tensor_copy, Unary{y, x});
  State s(t.program);
  run_sequentially(t.program, s);
  CHECK(value(s, y, 0, 0) == 1);
}

TEST_CASE("the plain kernels agree with sums done by hand") {
  // k = 130: the second group has two terms. All ones: 128 + 2.
  const std::vector<float> at(130 * 2, 1), b(130 * 3, 1);
  CHECK(gemm(at, b, 130, 2, 3) == std::vector<float>(6, 130));
  // A small value that one long chain would lose, but a group of its own keeps: 2^24 + 1 + 1 in two ways.
  std::vector<float> column(130, 0);
  column[0] = 0x1p24F;
  column[128] = column[129] = 1;
  CHECK(gemm(column, std::vector<float>(130, 1), 130, 1, 1).front() == 0x1p24F + 2);
  const auto rows = softmax_rows(std::vector<float>{0, 0, 0, 0, 1000, 0}, 2, 3);
  CHECK(rows[1] == doctest::Approx(1.0 / 3));
  CHECK(rows[4] == 1);
  CHECK(vector_add(std::vector<float>{1, 2}, std::vector<float>{0.5F, -2}) == std::vector<float>{1.5F, 0});
}
