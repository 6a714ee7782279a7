#include "emu/machine/resolve.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "isa/fault.h"
#include "tests/emu/machine/programs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Tile 'w': four elements of 256 bytes at byte 1024 of SBUF; tensor 't': 8 rows of 16 fp32.
Program program_with_tile() {
  Program program;
  Tile tile;
  tile.name = "w";
  tile.array = {4};
  tile.stride = 256;
  tile.bytes = 1024;
  program.tiles.push_back(tile);
  program.places.push_back({0, 0, 1024});
  Tensor t;
  t.name = "t";
  t.shape = {8, 16};
  program.tensors.push_back(t);
  return program;
}

AccessPattern indexed(std::int32_t step) {
  AccessPattern p = sbuf(1024, 64);  // one whole element of the array
  p.place = 0;
  p.index = Register{3};
  p.index_step = step;
  return p;
}

std::string complaint(Instruction i, const Registers& registers, const Program& program) {
  try {
    resolve(i, registers, program);
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::program);
    return fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an index register moves an operand to each element of its tile and no further") {
  const Program program = program_with_tile();
  const Instruction i = op(Opcode::tensor_copy, Unary{indexed(64), sbuf(0, 64)});
  CHECK(needs_resolving(i));
  Registers registers{};
  for (int v = 0; v < 4; ++v) {
    registers[3] = v;
    Instruction copy_of = i;
    resolve(copy_of, registers, program);
    const auto& unary = std::get<Unary>(copy_of.operands);
    CHECK(unary.dst.offset == 1024U + 256U * static_cast<unsigned>(v));
    CHECK_FALSE(unary.dst.index.present());
    CHECK_FALSE(needs_resolving(copy_of));
  }
  registers[3] = 4;
  CHECK(complaint(i, registers, program) == "dst: index r3 = 4 is outside tile 'w' (0 to 3 are inside)");
  registers[3] = -1;
  CHECK(complaint(i, registers, program) == "dst: index r3 = -1 is outside tile 'w' (0 to 3 are inside)");
}

TEST_CASE("an index that walks backwards has its bounds the other way round") {
  const Program program = program_with_tile();
  AccessPattern last = indexed(-64);
  last.offset = 1024 + 768;
  const Instruction i = op(Opcode::tensor_copy, Unary{sbuf(0, 64), last});
  Registers registers{};
  registers[3] = 3;
  Instruction copy_of = i;
  resolve(copy_of, registers, program);
  CHECK(std::get<Unary>(copy_of.operands).src.offset == 1024);
  registers[3] = 4;
  CHECK(complaint(i, registers, program) == "src: index r3 = 4 is outside tile 'w' (0 to 3 are inside)");
}

TEST_CASE("an index into a tensor counts elements and stays inside the tensor") {
  const Program program = program_with_tile();
  HbmPattern row = hbm(0, 16);
  row.index = Register{5};
  row.index_step = 16;
  const Instruction i = load(sbuf(0, 16), row);
  Registers registers{};
  registers[5] = 7;
  Instruction copy_of = i;
  resolve(copy_of, registers, program);
  CHECK(std::get<HbmPattern>(std::get<DmaCopy>(copy_of.operands).src).offset == 7 * 16);
  registers[5] = 8;
  CHECK(complaint(i, registers, program) == "src: index r5 = 8 is outside tensor 't' (0 to 7 are inside)");
}

TEST_CASE("an index that leads farther than 64 bits count is outside, not back at the start") {
  const Program program = program_with_tile();
  Registers registers{};
  for (const auto& [step, index] :
       {std::pair{INT32_MIN, INT32_MIN}, {INT32_MIN, INT32_MAX}, {INT32_MAX, INT32_MIN}}) {
    registers[3] = index;
    CHECK_FALSE(
        complaint(op(Opcode::tensor_copy, Unary{indexed(step), sbuf(0, 64)}), registers, program).empty());
  }
}

TEST_CASE("a tile that only one index value fits says so") {
  const Program program = program_with_tile();
  AccessPattern whole = indexed(64);
  whole.dims[0] = {1, 256};
  Registers registers{};
  registers[3] = 1;
  CHECK(complaint(op(Opcode::memset, Memset{whole, 0.0F}), registers, program) ==
        "dst: index r3 = 1 is outside tile 'w' (only 0 is inside)");
}

TEST_CASE("without debug data an index stays inside the partition") {
  Program program;
  AccessPattern p = indexed(64);
  p.place = no_place;
  Registers registers{};
  registers[3] = 192 * 4 - 4 - 1;  // 1024 + 256 * v + 256 == 192 KiB
  Instruction inside = op(Opcode::memset, Memset{p, 0.0F});
  resolve(inside, registers, program);
  CHECK(std::get<Memset>(inside.operands).dst.offset == 192 * 1024 - 256);
  registers[3] += 1;
  CHECK(complaint(op(Opcode::memset, Memset{p, 0.0F}), registers, program).find("an SBUF partition") !=
        std::string::npos);
}

TEST_CASE("a scalar register is the bits of a float for arithmetic and an integer for bitvec operators") {
  const Program program;
  Registers registers{};
  registers[9] = std::bit_cast<std::int32_t>(1.5F);
  TensorScalar form;
  form.dst = sbuf(0);
  form.src = sbuf(4);
  form.op0 = AluOp::mult;
  form.scalar0 = Register{9};
  Instruction arithmetic = op(Opcode::tensor_scalar, form);
  resolve(arithmetic, registers, program);
  CHECK(std::get<float>(std::get<TensorScalar>(arithmetic.operands).scalar0) == 1.5F);

  form.op0 = AluOp::bitwise_and;
  Instruction bitvec = op(Opcode::tensor_scalar, form);
  resolve(bitvec, registers, program);
  CHECK(std::get<std::int32_t>(std::get<TensorScalar>(bitvec.operands).scalar0) == registers[9]);

  Instruction integers = op(Opcode::memset, Memset{sbuf(0, 1, 1, DType::i32), Register{9}});
  resolve(integers, registers, program);
  CHECK(std::get<std::int32_t>(std::get<Memset>(integers.operands).value) == registers[9]);
}

TEST_CASE("a wait takes its value from a register, and refuses what no semaphore can hold") {
  const Program program;
  Instruction i = on(semaphore_only(), 2, 11);
  i.wait.value_is_register = true;
  CHECK(needs_resolving(i));
  Registers registers{};
  registers[11] = 1234;
  Instruction copy_of = i;
  resolve(copy_of, registers, program);
  CHECK(copy_of.wait == on(semaphore_only(), 2, 1234).wait);
  registers[11] = -1;
  CHECK(complaint(i, registers, program) ==
        "waits for the value of r11, which is -1; a semaphore counts 0 to 65535");
}

TEST_CASE("an instruction without registers needs no resolving") {
  CHECK_FALSE(needs_resolving(copy(0, 4)));
  CHECK_FALSE(needs_resolving(on(then(activation(0, 4), 1), 2, 3)));
  // What a control instruction computes with stays in the sequencer.
  CHECK_FALSE(needs_resolving(move(3, 1)));
}

TEST_CASE("an operand that may be left out is moved by its register when it is there") {
  const Program program = program_with_tile();
  Registers registers{};
  registers[3] = 2;
  CopyPredicated copy{sbuf(0, 64), sbuf(512, 64), indexed(64)};
  Instruction i = op(Opcode::tensor_copy_predicated, copy);
  CHECK(needs_resolving(i));
  resolve(i, registers, program);
  CHECK(std::get<CopyPredicated>(i.operands).src->offset == 1024 + 2 * 256);
  copy.src.reset();
  CHECK_FALSE(needs_resolving(op(Opcode::tensor_copy_predicated, copy)));
  registers[3] = 4;
  copy.src = indexed(64);
  CHECK(complaint(op(Opcode::tensor_copy_predicated, copy), registers, program) ==
        "src: index r3 = 4 is outside tile 'w' (0 to 3 are inside)");
}

TEST_CASE(
    "a register that fills under a predicate is an integer for integer tiles, else the f32 of its bits") {
  const Program program = program_with_tile();
  Registers registers{};
  registers[7] = 0x40000000;
  CopyPredicated copy{sbuf(0, 64), sbuf(512, 64), {}, Register{7}};
  Instruction i = op(Opcode::tensor_copy_predicated, copy);
  resolve(i, registers, program);
  CHECK(std::get<CopyPredicated>(i.operands).value == ScalarOperand{2.0F});
  copy.dst.dtype = DType::i32;
  i = op(Opcode::tensor_copy_predicated, copy);
  resolve(i, registers, program);
  CHECK(std::get<CopyPredicated>(i.operands).value == ScalarOperand{0x40000000});
}
