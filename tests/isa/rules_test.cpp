#include "isa/rules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "isa/codec.h"
#include "isa/fault.h"
#include "tests/isa/rules_case.h"
#include "tests/isa/rules_gpsimd_cases.h"
#include "tests/isa/rules_vector_cases.h"
#include "tests/support/random_instruction.h"

using namespace ncemu;
using namespace ncemu::rule_cases;

namespace {

// A program with a scratch tensor x and an input w, both f32[128, 512], and streams of four instructions.
Program program() {
  Program p;
  Tensor t;
  t.name = "x";
  t.shape = {128, 512};
  Tensor w = t;
  w.name = "w";
  w.kind = TensorKind::input;
  p.tensors = {t, w};
  for (auto& stream : p.streams) stream.resize(4);
  return p;
}

std::vector<Violation> check(const Case& c) {
  Instruction i;
  i.opcode = c.opcode;
  i.operands = c.operands;
  i.wait = c.wait;
  i.update = c.update;
  const Program p = program();
  std::vector<Violation> violations;
  check_instruction(i, c.engine, *find_target(c.machine), &p, violations);
  return violations;
}

std::vector<Violation> check(Opcode opcode, Operands operands, Engine engine,
                             std::string_view machine = "trn1") {
  return check(Case{"", machine, engine, opcode, std::move(operands), "", ""});
}

std::vector<Case> common_cases() {
  const auto activation = [](auto change) {
    Activation a;
    a.dst = a.src = sbuf();
    a.func = ActivationFunction::exp;
    change(a);
    return a;
  };
  const auto scalar = [](auto change) {
    TensorScalar t;
    t.dst = t.src = sbuf();
    t.op0 = AluOp::mult;
    t.scalar0 = 2.0F;
    change(t);
    return t;
  };
  const auto integers = [](AluOp op0, ScalarOperand scalar0, AluOp op1, ScalarOperand scalar1) {
    const AccessPattern t = sbuf(1, 4, DType::i32);
    return TensorScalar{t, t, op0, scalar0, false, op1, scalar1, false};
  };
  const auto gather = [](auto change) {
    DmaCopy t{sbuf(3, 64), row(0, 64), 0, DgeMode::software, PointerOperand{Space::sbuf, DType::u32, 0, 0}};
    std::get<HbmPattern>(t.src).dims[3] = {512, 100};
    change(t);
    return t;
  };
  const auto transpose = [](auto change) {
    DmaTranspose t{sbuf(4, 16, DType::bf16), row(0, 4, DType::bf16)};
    std::get<HbmPattern>(t.src).dims[3] = {4, 16};
    change(t);
    return t;
  };
  const auto compute = [](auto change) {
    DmaCompute t;
    t.dst = sbuf(1, 8);
    t.sources = {{sbuf(1, 8), 1}, {row(0, 8), 1}};
    change(t);
    return t;
  };
  const PointerOperand lanes{Space::sbuf, DType::f32, 0, 0};
  const auto pointer = [&](DType dtype) { return PointerOperand{Space::sbuf, dtype, 0, 0}; };
  return {
      {"engines of its row", "trn1", S, Opcode::tensor_copy, Unary{sbuf(), sbuf()}, "",
       "does not run on the scalar engine of NeuronCore-v2, only on vector, gpsimd"},
      {"defined on integers", "trn1", Y, Opcode::register_alu,
       RegisterAlu{Register{1}, Register{2}, 3, AluOp::pow}, "op", "pow is not an operation on integers"},
      {"A register is one", "trn1", Y, Opcode::register_move, RegisterMove{Register{64}, 0}, "dst",
       "names register r64, the last is r63"},
      {"A register is one",
       "trn1",
       V,
       Opcode::nop,
       NoOperands{},
       "wait",
       "names register r64, the last is r63",
       {0, Comparison::ge, true, 64}},
      {"covers 1 to 128", "trn1", V, Opcode::memset, Memset{sbuf(0), 0.0F}, "dst",
       "covers 0 partitions, expected 1 to 128"},
      {"ends within the partitions", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::f32, 96, 128, 0), 0.0F}, "dst",
       "128 partitions from 96 end at 224, the memory has 128"},
      {"65 to 128 partitions", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::f32, 48, 16, 0), 0.0F}, "dst",
       "16 partitions start at partition 48, expected 0, 32, 64 or 96"},
      {"Every dimension", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::f32, 0, 1, 0, {{1, 2}, {2, 0}}), 0.0F}, "dst",
       "dimension 1 (0 is the fastest) has 0 elements, expected at least 1"},
      {"65,536 elements", "trn1", V, Opcode::memset,
       Memset{tile(Space::psum, DType::u8, 0, 1, 0, {{1, 4097}}), 0.0F}, "dst",
       "has 4097 elements per partition in psum, at most 4096 are possible"},
      {"65,536 elements", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::u8, 0, 1, 0, {{1, 32769}, {0, 2}}), 0.0F}, "dst",
       "has 65538 elements per partition in sbuf, at most 65536 are possible"},
      {"multiple of its element size", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::f32, 0, 1, 6), 0.0F}, "dst",
       "starts at byte 6, expected a multiple of 4 for f32"},
      {"inside the bytes", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::f32, 0, 1, 196604, {{1, 2}}), 0.0F}, "dst",
       "covers bytes 196604 to 196611 of each partition, sbuf has 196608"},
      {"inside the bytes", "trn1", V, Opcode::memset,
       Memset{tile(Space::sbuf, DType::f32, 0, 1, 4, {{-1, 3}}), 0.0F}, "dst",
       "covers bytes -4 to 7 of each partition, sbuf has 196608"},
      {"gpsimd uses SBUF only", "trn2", G, Opcode::memset, Memset{psum(), 0.0F}, "dst",
       "is in psum, which the gpsimd engine does not write"},
      {"gpsimd uses SBUF only", "trn1", T, Opcode::load_stationary, LoadStationary{psum(128, 128)}, "src",
       "is in psum, which the tensor engine does not read"},
      {"gpsimd uses SBUF only", "trn1", T, Opcode::matmul, Matmul{sbuf(), sbuf()}, "dst",
       "is in sbuf, which the tensor engine does not write"},
      {"not both in PSUM", "trn1", V, Opcode::tensor_tensor, TensorTensor{sbuf(), psum(), psum(), AluOp::add},
       "src1", "is in psum, as src0 is; one of them must be in sbuf"},
      {"same number of partitions", "trn1", V, Opcode::tensor_copy, Unary{sbuf(64), sbuf(32)}, "src",
       "covers 32 partitions, dst covers 64"},
      {"same number of elements per partition", "trn1", V, Opcode::tensor_copy, Unary{sbuf(), sbuf(128, 511)},
       "src", "has 511 elements per partition, dst has 512"},
      {"f8e4m3fn", "trn1", V, Opcode::tensor_copy, Unary{sbuf(), sbuf(128, 512, DType::f8e4m3fn)}, "src",
       "is f8e4m3fn, which no engine of NeuronCore-v2 reads or writes"},

      {"multiplies float", "trn1", T, Opcode::load_stationary, LoadStationary{sbuf(128, 128, DType::i8)},
       "src", "is i8, expected a float type"},
      {"stationary operand has", "trn1", T, Opcode::load_stationary, LoadStationary{sbuf(128, 129)}, "src",
       "has 129 elements per partition, at most 128 are possible"},
      {"moving operand has", "trn1", T, Opcode::matmul,
       Matmul{tile(Space::psum, DType::f32, 0, 128, 0, {{0, 513}}), sbuf(128, 513)}, "moving",
       "has 513 elements per partition, at most 512 are possible"},
      {"matmul writes f32", "trn1", T, Opcode::matmul, Matmul{psum(128, 512, DType::bf16), sbuf()}, "dst",
       "is bf16, expected f32"},
      {"one PSUM bank", "trn1", T, Opcode::matmul,
       Matmul{tile(Space::psum, DType::f32, 0, 128, 4, {{1, 512}}), sbuf()}, "dst",
       "spans PSUM banks 0 to 1 (bytes 4 to 2051, a bank has 2048)"},

      {"operator table names", "trn1", V, Opcode::tensor_tensor,
       TensorTensor{sbuf(), sbuf(), sbuf(), AluOp::pow}, "op",
       "pow runs on gpsimd, not on vector; write engine = gpsimd"},
      {"operator table names", "trn1", G, Opcode::tensor_tensor,
       TensorTensor{sbuf(128, 4, DType::i32), sbuf(128, 4, DType::i32), sbuf(128, 4, DType::i32),
                    AluOp::bitwise_or},
       "op", "bitwise_or runs on vector, not on gpsimd; write engine = vector"},
      {"operator table names", "trn2", V, Opcode::tensor_tensor,
       TensorTensor{sbuf(), sbuf(), sbuf(), AluOp::abs_max}, "op",
       "abs_max is not an operator of NeuronCore-v3"},
      {"both arithmetic or both bitwise", "trn1", V, Opcode::tensor_scalar,
       integers(AluOp::add, 1.0F, AluOp::bitwise_and, 3), "op1",
       "bitwise_and is bitwise, but op0 = add is arithmetic"},
      {"has integer operands", "trn1", V, Opcode::tensor_tensor,
       TensorTensor{sbuf(), sbuf(128, 512, DType::i32), sbuf(128, 512, DType::i32), AluOp::bitwise_xor},
       "dst", "is f32, but bitwise_xor needs an integer type"},
      {"tensor_tensor takes", "trn1", V, Opcode::tensor_tensor,
       TensorTensor{sbuf(), sbuf(), sbuf(), AluOp::bypass}, "op",
       "bypass takes one operand, expected an operator of two"},
      {"has its scalar", "trn1", V, Opcode::tensor_scalar,
       scalar([](auto& t) { t.scalar0 = std::monostate{}; }), "scalar0", "is missing, mult needs it"},
      {"has its scalar", "trn1", V, Opcode::tensor_scalar, scalar([](auto& t) { t.scalar1 = 3.0F; }),
       "scalar1", "is given, but bypass takes none"},
      {"f32 for arithmetic", "trn1", V, Opcode::tensor_scalar, scalar([](auto& t) { t.scalar0 = 2; }),
       "scalar0", "is the integer 2, mult takes an f32 value (write 2.0)"},
      {"f32 for arithmetic", "trn1", V, Opcode::tensor_scalar,
       scalar([&](auto& t) { t.scalar0 = pointer(DType::bf16); }), "scalar0",
       "points to bf16, mult takes f32"},
      {"f32 for arithmetic", "trn1", V, Opcode::tensor_scalar,
       integers(AluOp::bitwise_and, 1.5F, AluOp::bypass, std::monostate{}), "scalar0",
       "is the f32 value 1.5, bitwise_and takes an integer"},
      {"On the scalar engine (op0", "trn2", S, Opcode::tensor_scalar,
       scalar([](auto& t) { t.op1 = AluOp::mult, t.scalar1 = 1.0F; }), "op0", "the pair is (mult, mult)"},
      {"On gpsimd tensor_scalar", "trn1", G, Opcode::tensor_scalar, scalar([](auto&) {}), "op0",
       "neither mult nor bypass is rsqrt; use engine = vector"},
      {"marks as a reduction", "trn1", V, Opcode::tensor_reduce,
       TensorReduce{sbuf(128, 1), sbuf(), AluOp::is_gt}, "op", "is_gt does not reduce"},
      {"dimensions that are not reduced", "trn1", V, Opcode::tensor_reduce,
       TensorReduce{sbuf(128, 2), tile(Space::sbuf, DType::f32, 0, 128, 0, {{1, 4}, {4, 3}, {12, 2}}),
                    AluOp::add, Axes::X},
       "dst", "has 2 elements per partition, src keeps 6 when X is reduced"},
      {"negate is for", "trn1", V, Opcode::tensor_reduce,
       TensorReduce{sbuf(128, 1, DType::i32), sbuf(128, 8, DType::i32), AluOp::bitwise_or, Axes::X, true},
       "negate", "is set, but bitwise_or is bitwise"},

      {"prelu exists", "trn2", S, Opcode::activation,
       activation([](auto& a) { a.func = ActivationFunction::prelu; }), "func",
       "prelu does not exist on NeuronCore-v3"},
      {"reciprocal takes no bias", "trn1", S, Opcode::activation,
       activation([&](auto& a) { a.func = ActivationFunction::reciprocal, a.bias = lanes; }), "bias",
       "is given with func = reciprocal"},
      {"bias is one value per lane, or absent", "trn1", S, Opcode::activation,
       activation([](auto& a) { a.bias = 1.5F; }), "bias", "is the immediate 1.5, expected a [P, 1] tile"},
      {"scale is an f32", "trn1", S, Opcode::activation,
       activation([&](auto& a) { a.scale = pointer(DType::f16); }), "scale", "points to f16, expected f32"},
      {"bias is an f32", "trn2", S, Opcode::activation,
       activation([&](auto& a) { a.bias = pointer(DType::tf32); }), "bias",
       "points to tf32, expected another type"},
      {"cannot be loaded", "trn2", S, Opcode::activation,
       activation([](auto& a) { a.reduce_cmd = ReduceCommand::load_reduce; }), "reduce_cmd",
       "load_reduce does not exist on the scalar engine of NeuronCore-v3"},
      {"one element per partition", "trn1", S, Opcode::read_accumulator, Destination{sbuf(128, 2)}, "dst",
       "has 2 elements per partition, expected 1"},
      {"every table set", "trn1", S, Opcode::act_table_load, TableLoad{TableSet::any}, "table",
       "is any, expected a set to load"},
      {"memset fills", "trn1", V, Opcode::memset, Memset{sbuf(128, 512, DType::bf16), 3}, "value",
       "is the integer 3, expected an f32 value for bf16 (write 3.0)"},
      {"memset fills", "trn1", V, Opcode::memset, Memset{sbuf(), lanes}, "value",
       "is a tile, expected a number or a register"},

      {"signals its completion",
       "trn1",
       Y,
       Opcode::dma_copy,
       DmaCopy{sbuf(128, 512), row(0, 65536)},
       "signal",
       "is @read, expected @complete",
       {},
       {1, UpdateOperation::sem_inc, UpdateWhen::read, 0}},
      {"does not write PSUM", "trn1", Y, Opcode::dma_copy, DmaCopy{psum(), row(0, 65536)}, "dst",
       "is in psum, expected sbuf or hbm"},
      {"Source and destination", "trn1", Y, Opcode::dma_copy, DmaCopy{sbuf(), row(0, 65535)}, "dst",
       "has 65536 elements, src has 65535"},
      {"stays inside it", "trn1", Y, Opcode::dma_copy, DmaCopy{sbuf(1), row(65025, 512)}, "src",
       "covers elements 65025 to 65536 of 'x', which has 65536"},
      {"does not write an input", "trn1", Y, Opcode::dma_copy, DmaCopy{of_input(row(0, 512)), sbuf(1)}, "dst",
       "writes 'w', which is an input; declare it .inout"},
      {"queues", "trn1", Y, Opcode::dma_copy, DmaCopy{sbuf(1), row(0, 512), 16}, "queue",
       "is 16, the last is 15"},
      {"has no register in its addresses", "trn1", Y, Opcode::dma_copy,
       DmaCopy{indexed(sbuf(1)), row(0, 512)}, "dst",
       "is indexed by a register, expected mode = software or hardware"},
      {"issued by gpsimd", "trn1", Y, Opcode::dma_copy, DmaCopy{sbuf(1), row(0, 512), 0, DgeMode::software},
       "mode", "is software, but the issuer is sync"},
      {"issued by gpsimd", "trn1", S, Opcode::dma_copy,
       DmaCopy{sbuf(1), indexed(row(0, 512)), 0, DgeMode::software}, "mode",
       "is software (the default where a register moves an operand, here src), but the issuer is scalar"},
      {"issued by gpsimd", "trn1", Y, Opcode::dma_copy, gather([](DmaCopy&) {}), "mode",
       "is software, as an index chooses the rows, but the issuer is sync"},
      {"Mode hardware exists", "trn1", Y, Opcode::dma_copy,
       DmaCopy{sbuf(1), row(0, 512), 0, DgeMode::hardware}, "mode",
       "is hardware, which NeuronCore-v2 does not have"},
      {"issued by scalar or sync", "trn2", G, Opcode::dma_copy,
       DmaCopy{sbuf(1), row(0, 512), 0, DgeMode::hardware}, "mode", "is hardware, but the issuer is gpsimd"},
      {"does not convert", "trn2", S, Opcode::dma_copy,
       DmaCopy{sbuf(1, 512, DType::bf16), row(0, 512), 0, DgeMode::hardware}, "dst",
       "is bf16, src is f32; mode hardware moves bytes"},

      {"as many elements per partition as a row", "trn1", T, Opcode::matmul,
       Matmul{psum(64, 31), sbuf(128, 32)}, "dst", "has 31 elements per partition, a row of moving has 32"},
      {"does not accumulate", "trn2", T, Opcode::matmul, Matmul{psum(128, 32), sbuf(128, 32), true, true},
       "accumulate", "is true, but transpose = true moves elements"},
      {"matmul writes f32", "trn2", T, Opcode::matmul,
       Matmul{psum(128, 32), sbuf(128, 32, DType::f8e4m3), false, true}, "dst", "is f32, expected u16"},
      {"matmul writes f32", "trn1", T, Opcode::matmul,
       Matmul{psum(128, 32, DType::bf16), sbuf(128, 32, DType::bf16), false, true}, "dst",
       "is bf16, expected f32"},
      {"double_row exists from", "trn1", T, Opcode::load_stationary,
       LoadStationary{sbuf(128, 256, DType::f8e4m3), false, false, true}, "double_row",
       "is true, but NeuronCore-v2 does not have it"},
      {"double_row exists from", "trn2", T, Opcode::load_stationary,
       LoadStationary{sbuf(128, 256, DType::f8e4m3), true, false, true}, "double_row",
       "is true, and so is transpose"},
      {"double_row exists from", "trn2", T, Opcode::load_stationary,
       LoadStationary{sbuf(128, 128, DType::bf16), false, false, true}, "src",
       "is bf16, double_row takes f8e4m3 or f8e5m2"},
      {"double_row exists from", "trn2", T, Opcode::load_stationary,
       LoadStationary{sbuf(128, 64, DType::f8e4m3), false, false, true, {0, 0}, {128, 32}}, "double_row",
       "is true in a tile of 32 columns, expected 128"},
      {"stationary operand has", "trn2", T, Opcode::load_stationary,
       LoadStationary{sbuf(128, 255, DType::f8e4m3), false, false, true}, "src",
       "has 255 elements per partition, double_row takes two rows of equal length"},
      {"A tile of the array has", "trn1", T, Opcode::load_stationary,
       LoadStationary{sbuf(32, 32, DType::bf16), false, false, false, {0, 0}, {32, 64}}, "tile_size",
       "has 32 rows, expected 64 or 128"},
      {"A tile of the array has", "trn2", T, Opcode::matmul,
       Matmul{psum(32, 32), sbuf(32, 32), false, false, false, false, false, {0, 0}, {32, 48}}, "tile_size",
       "has 48 columns, expected 32, 64 or 128"},
      {"A tile of the array has", "trn2", T, Opcode::load_stationary,
       LoadStationary{sbuf(32, 32, DType::bf16), false, false, false, {32, 0}, {64, 64}}, "tile_position",
       "is at rows 32 with a size of 64"},
      {"In a tile of the array", "trn1", T, Opcode::load_stationary,
       LoadStationary{sbuf(32, 32, DType::bf16), false, false, false, {64, 0}, {64, 64}}, "src",
       "starts at partition 0, the tile of the array at 64"},
      {"In a tile of the array", "trn1", T, Opcode::load_stationary,
       LoadStationary{sbuf(100, 32, DType::bf16), false, false, false, {0, 0}, {64, 64}}, "src",
       "covers 100 partitions, the tile of the array 64"},
      {"In a tile of the array", "trn1", T, Opcode::load_stationary,
       LoadStationary{sbuf(64, 65, DType::bf16), false, false, false, {0, 0}, {64, 64}}, "src",
       "has 65 columns, the tile of the array 64"},
      {"In a tile of the array", "trn1", T, Opcode::matmul,
       Matmul{psum(64, 32), sbuf(64, 32), false, false, false, false, false, {0, 64}, {64, 64}}, "dst",
       "starts at partition 0, the tile of the array at 64"},
      {"An index of rows is", "trn1", G, Opcode::dma_copy,
       gather([&](DmaCopy& t) { t.index = pointer(DType::f32); }), "index", "is f32, expected u32 or i32"},
      {"An index of rows is", "trn1", G, Opcode::dma_copy, gather([](DmaCopy& t) { t.index = 3; }), "index",
       "is a number or a register, expected a [P, 1] tile"},
      {"An index of rows is", "trn1", G, Opcode::dma_copy, gather([](DmaCopy& t) {
         t.index = PointerOperand{Space::psum, DType::u32, 0, 0};
       }),
       "index", "is in psum, expected sbuf"},
      {"An index chooses rows", "trn1", G, Opcode::dma_copy, gather([](DmaCopy& t) { t.src = t.dst; }),
       "index", "is given, but both sides are on chip"},
      {"with an index has mode", "trn1", Y, Opcode::dma_copy,
       gather([](DmaCopy& t) { t.mode = DgeMode::static_; }), "mode", "is static, but index is given"},
      {"with an index, of a row", "trn1", G, Opcode::dma_copy,
       gather([](DmaCopy& t) { t.dst = sbuf(3, 60); }), "dst", "has rows of 60 elements, src of 64"},
      {"bounds = skip is for", "trn1", Y, Opcode::dma_copy,
       DmaCopy{sbuf(1, 64), row(0, 64), 0, DgeMode::static_, {}, Bounds::skip}, "bounds",
       "is skip, but every address is known before the run"},
      {"that accumulates takes", "trn1", G, Opcode::dma_copy,
       gather([](DmaCopy& t) { t.bounds = Bounds::skip, t.accumulate = true; }), "bounds",
       "is skip, but accumulate = true"},
      {"exchanges the slowest", "trn1", Y, Opcode::dma_transpose,
       transpose([](DmaTranspose& t) { t.dst = sbuf(4, 8, DType::bf16); }), "dst",
       "has the sizes [4, 1, 1, 8], src [16, 1, 1, 4] transposed has [4, 1, 1, 16]"},
      {"exchanges the slowest", "trn1", Y, Opcode::dma_transpose, transpose([](DmaTranspose& t) {
         t.dst = tile(Space::sbuf, DType::bf16, 0, 4, 0, {{1, 16}, {0, 1}, {0, 1}, {16, 2}});
       }),
       "dst", "has 2 as a fourth free dimension, expected 1"},
      {"dma_transpose moves elements", "trn1", Y, Opcode::dma_transpose,
       transpose([](DmaTranspose& t) { t.dst = sbuf(4, 16, DType::f32); }), "dst", "is f32, src is bf16"},
      {"In mode hardware dma_transpose", "trn2", Y, Opcode::dma_transpose, transpose([](DmaTranspose& t) {
         t.mode = DgeMode::hardware;
         t.dst = sbuf(4, 16, DType::f32);
         std::get<HbmPattern>(t.src).dtype = DType::f32;
       }),
       "src", "is f32, expected a type of 2 bytes"},
      {"In mode hardware dma_transpose", "trn2", Y, Opcode::dma_transpose, transpose([](DmaTranspose& t) {
         t.mode = DgeMode::hardware;
         t.dst = sbuf(4, 8, DType::bf16);
         std::get<HbmPattern>(t.src).dims[3].count = 8;
       }),
       "src", "has 8 in its slowest dimension and 1 before the fastest"},
      {"In mode hardware dma_transpose", "trn2", Y, Opcode::dma_transpose, transpose([](DmaTranspose& t) {
         t.mode = DgeMode::hardware;
         t.dst = row(0, 1, DType::bf16);
         std::get<HbmPattern>(t.dst).dims = {HbmDim{1, 16}, {}, {}, {16, 129}};
         t.src = row(0, 1, DType::bf16);
         std::get<HbmPattern>(t.src).dims = {HbmDim{1, 129}, {}, {}, {129, 16}};
       }),
       "src", "has 129 elements in its fastest dimension, at most 128 are possible"},
      {"1 to 16 sources", "trn1", Y, Opcode::dma_compute,
       compute([](DmaCompute& t) { t.sources.resize(17, t.sources[0]); }), "src0",
       "is one of 17 sources, 1 to 16 are possible"},
      {"A scale other than 1", "trn1", Y, Opcode::dma_compute,
       compute([](DmaCompute& t) { t.sources[1].scale = 0.5F; }), "scale1",
       "is 0.5, but op = add does not scale"},
      {"dma_compute has mode", "trn2", Y, Opcode::dma_compute,
       compute([](DmaCompute& t) { t.mode = DgeMode::hardware; }), "mode",
       "is hardware, expected static or software"},
      {"with an index, of a row", "trn1", Y, Opcode::dma_compute,
       compute([](DmaCompute& t) { t.sources[1].src = row(0, 9); }), "dst", "has 8 elements, src1 has 9"},
      {"names a register", "trn1", Y, Opcode::register_move, RegisterMove{Register{}, 1}, "dst",
       "is missing, expected a register"},
      {"loaded from, and stored", "trn1", Y, Opcode::register_load, RegisterLoad{Register{1}, sbuf(1, 2)},
       "src", "has 2 elements, expected 1"},
      {"loaded from, and stored", "trn1", Y, Opcode::register_store, RegisterStore{psum(1, 1), Register{1}},
       "dst", "is in psum, expected sbuf or hbm"},
      {"conditional branch compares", "trn1", Y, Opcode::compare_branch,
       CompareBranch{Register{}, 1, Comparison::lt, {0}}, "a", "is missing, op = lt compares it"},
      {"leads to an instruction", "trn1", Y, Opcode::compare_branch,
       CompareBranch{Register{1}, 1, Comparison::lt, {5}}, "target",
       "is instruction 5, the stream of sync has 4"},
      {"A range of semaphores", "trn1", Y, Opcode::semaphore_clear, SemaphoreRange{255, 2}, "count",
       "ends at semaphore 256, there are 256"},
      {"A range of semaphores", "trn1", Y, Opcode::semaphore_clear, SemaphoreRange{1, 0}, "count",
       "is 0, expected at least 1"},
      {"one or two words", "trn1", Y, Opcode::write, Write{3, 0, 0, 0, 0}, "count", "is 3, expected 1 or 2"},
      {"address window", "trn1", Y, Opcode::write, Write{1, 0x04000000, 0, 0, 0}, "address0",
       "is 0x4000000, expected a multiple of 4 below 0x4000000"},
  };
}

// One instruction for each rule; it breaks that rule and, unless its message is about several, no other.
std::vector<Case> cases() {
  std::vector<Case> all = common_cases();
  for (const auto& more : {vector_cases(), gpsimd_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

bool names_rule(std::string_view sentence, std::string_view part) {
  return sentence.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("each rule's example breaks that rule, with what was expected and found") {
  for (const Case& c : cases()) {
    CAPTURE(c.rule);
    CAPTURE(c.message);
    const auto violations = check(c);
    const auto found = std::find_if(violations.begin(), violations.end(), [&](const Violation& v) {
      return names_rule(v.rule, c.rule) && v.operand == c.operand;
    });
    REQUIRE(found != violations.end());
    CHECK(found->message == c.message);
    CHECK_FALSE(found->section.empty());
  }
}

TEST_CASE("every rule has an example that breaks it") {
  // These two need a target with less than 256 semaphores, or a lower maximum: next test.
  const std::set<std::string_view> elsewhere = {"Waits and signals name a semaphore or event of the core.",
                                                "A semaphore's value stays within its counter."};
  const auto all = cases();
  for (const Rule& rule : all_rules()) {
    CAPTURE(rule.sentence);
    const auto named = std::count_if(all.begin(), all.end(),
                                     [&](const Case& c) { return names_rule(rule.sentence, c.rule); });
    CHECK((named > 0 || elsewhere.contains(rule.sentence)));
  }
  for (const Case& c : all) {
    CAPTURE(c.rule);
    CHECK(std::count_if(all_rules().begin(), all_rules().end(),
                        [&](const Rule& rule) { return names_rule(rule.sentence, c.rule); }) == 1);
  }
}

TEST_CASE("semaphores are those of the target, and so are their values") {
  Target small = *find_target("trn1");
  small.semaphores = 64;
  small.semaphore_max = 1000;
  Instruction i;
  i.wait = {64, Comparison::ge, false, 1001};
  i.update = {200, UpdateOperation::sem_add_imm, UpdateWhen::complete, 1001};
  std::vector<Violation> v;
  check_instruction(i, Engine::sync, small, nullptr, v);
  REQUIRE(v.size() == 4);
  CHECK(v[0].message == "names semaphore 64, there are 64");
  CHECK(v[1].message == "names semaphore or event 200, there are 64");
  CHECK(v[2].message == "waits for 1001, a semaphore reaches 1000 at most");
  CHECK(v[3].message == "has the value 1001, a semaphore reaches 1000 at most");
}

TEST_CASE("partitions start at 0, 32, 64 or 96 as their number allows") {
  const auto starts = [](int partition, int partitions) {
    const AccessPattern p = tile(Space::sbuf, DType::f32, partition, partitions, 0, {{1, 4}});
    return check(Opcode::tensor_copy, Unary{p, p}, Engine::vector).empty();
  };
  CHECK_FALSE(starts(48, 16));
  CHECK_FALSE(starts(32, 48));
  CHECK(starts(32, 32));
  CHECK(starts(64, 64));
  // The table of datasheet 1.5, spelled out.
  for (int n = 1; n <= 128; ++n) {
    for (int p = 0; p + n <= 128; ++p) {
      const bool legal = p == 0 || (n <= 64 && p == 64) || (n <= 32 && (p == 32 || p == 96));
      CHECK(starts(p, n) == legal);
    }
  }
}

TEST_CASE("an operand of more than 128 partitions is an error at that operand, with the limit") {
  // The field has 8 bits; 256 is refused where views are lowered.
  const auto v = check(Opcode::tensor_copy, Unary{sbuf(128), sbuf(200)}, Engine::vector);
  REQUIRE_FALSE(v.empty());
  CHECK(v[0].operand == "src");
  CHECK(v[0].message == "covers 200 partitions, expected 1 to 128");
}

TEST_CASE("an instruction reports all the rules it breaks") {
  const auto v = check(Opcode::tensor_tensor,
                       TensorTensor{tile(Space::psum, DType::f8e4m3fn, 16, 20, 1, {{1, 3}}), psum(10, 4),
                                    psum(20, 3), AluOp::abs},
                       Engine::gpsimd);
  std::set<std::string_view> sentences;
  for (const Violation& x : v) sentences.insert(x.rule);
  // start, gpsimd and PSUM, both inputs in PSUM, partitions, elements, type, engine of abs, not binary
  CHECK(sentences.size() == 8);
}

TEST_CASE("transfers are free of the start rules of the engines") {
  const AccessPattern p = tile(Space::sbuf, DType::f32, 5, 3, 0, {{1, 4}});
  CHECK(check(Opcode::dma_copy, DmaCopy{p, row(0, 12)}, Engine::sync).empty());
}

TEST_CASE("v2 allows an immediate bias of 0 only, v3 any") {
  Activation a;
  a.dst = a.src = sbuf();
  a.func = ActivationFunction::exp;
  a.bias = 0.0F;
  CHECK(check(Opcode::activation, a, Engine::scalar, "trn1").empty());
  a.bias = 2.0F;
  CHECK_FALSE(check(Opcode::activation, a, Engine::scalar, "trn1").empty());
  CHECK(check(Opcode::activation, a, Engine::scalar, "trn2").empty());
  a.bias = Register{3};
  CHECK_FALSE(check(Opcode::activation, a, Engine::scalar, "trn1").empty());
  CHECK(check(Opcode::activation, a, Engine::scalar, "trn2").empty());
}

TEST_CASE("an indexed operand is checked at its base only") {
  AccessPattern p = tile(Space::sbuf, DType::f32, 0, 1, 196604, {{1, 2}});
  CHECK_FALSE(check(Opcode::memset, Memset{p, 0.0F}, Engine::vector).empty());
  CHECK(check(Opcode::memset, Memset{indexed(p), 0.0F}, Engine::vector).empty());
  p.offset = 196608;
  CHECK_FALSE(check(Opcode::memset, Memset{indexed(p), 0.0F}, Engine::vector).empty());
}

TEST_CASE("patterns with the largest counts and steps are checked without overflow") {
  HbmPattern far;
  far.offset = std::int64_t{1} << 54;
  for (HbmDim& d : far.dims) d = {INT32_MIN, UINT32_MAX};
  const auto v = check(Opcode::dma_copy, DmaCopy{sbuf(), far}, Engine::sync);
  CHECK(v.size() == 2);  // size and bounds
  AccessPattern wide = tile(Space::sbuf, DType::f32, 0, 128, UINT32_MAX,
                            {{-32768, 65535}, {-32768, 65535}, {1, 65535}, {1, 65535}});
  CHECK_FALSE(check(Opcode::dma_copy, DmaCopy{wide, far}, Engine::sync).empty());
}

TEST_CASE("any word that decodes can be checked") {
  test::RandomInstructions random(3, *find_target("trn2"));
  std::size_t checked = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto sample = random.next();
    std::vector<Word> words = encode_words(sample.instruction);
    Word& word = words[random.below(words.size())];
    word[16 + random.below(112)] = static_cast<std::byte>(random.below(256));
    try {
      const Instruction changed = decode(std::as_bytes(std::span(words)), "word");
      std::vector<Violation> violations;
      for (const Engine e : all_engines)
        check_instruction(changed, e, random.program().target, &random.program(), violations);
      ++checked;
    } catch (const Fault&) {
    }
  }
  CHECK(checked > 1000);
}
