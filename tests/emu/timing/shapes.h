#pragma once

// Instructions of given shapes for tests of costs: only types, places and counts matter.

#include "isa/instruction.h"

namespace ncemu::shapes {

// [partitions, n], elements `step` apart.
inline AccessPattern tile(Space space, DType dtype, int partitions, int n, int step = 1) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partitions = static_cast<std::uint8_t>(partitions);
  p.dims[0] = {static_cast<std::int16_t>(step), static_cast<std::uint16_t>(n)};
  return p;
}
inline AccessPattern sbuf(DType dtype, int n, int step = 1) { return tile(Space::sbuf, dtype, 128, n, step); }
inline AccessPattern psum(DType dtype, int n, int step = 1) { return tile(Space::psum, dtype, 128, n, step); }

// `rows` rows of n adjacent elements, `pitch` elements apart.
inline HbmPattern hbm(DType dtype, int rows, int n, int pitch) {
  HbmPattern p;
  p.dtype = dtype;
  p.dims[0] = {1, static_cast<std::uint32_t>(n)};
  p.dims[1] = {pitch, static_cast<std::uint32_t>(rows)};
  return p;
}

inline Instruction instruction(Opcode opcode, Operands operands = NoOperands{}) {
  Instruction i;
  i.opcode = opcode;
  i.operands = std::move(operands);
  return i;
}
inline Instruction activation(AccessPattern dst, AccessPattern src) {
  Activation operands;
  operands.dst = dst;
  operands.src = src;
  operands.func = ActivationFunction::exp;
  return instruction(Opcode::activation, operands);
}
inline Instruction copy(AccessPattern dst, AccessPattern src) {
  return instruction(Opcode::tensor_copy, Unary{dst, src});
}
inline Instruction tensor_tensor(AccessPattern dst, AccessPattern a, AccessPattern b, AluOp op = AluOp::add) {
  return instruction(Opcode::tensor_tensor, TensorTensor{dst, a, b, op});
}
inline Instruction tensor_scalar(AccessPattern dst, AccessPattern src, ScalarOperand scalar,
                                 AluOp op = AluOp::mult) {
  TensorScalar operands;
  operands.dst = dst;
  operands.src = src;
  operands.op0 = op;
  operands.scalar0 = scalar;
  return instruction(Opcode::tensor_scalar, operands);
}
inline Instruction load(DType dtype, int columns, int step = 1) {
  return instruction(Opcode::load_stationary, LoadStationary{sbuf(dtype, columns, step)});
}
inline Instruction matmul(DType dtype, int n, int columns = 128) {
  return instruction(Opcode::matmul,
                     Matmul{.dst = tile(Space::psum, DType::f32, columns, n), .moving = sbuf(dtype, n)});
}

}  // namespace ncemu::shapes
