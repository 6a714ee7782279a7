#include "isa/types.h"

#include <array>

namespace ncemu {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> engine_names = {"tensor", "vector", "scalar", "gpsimd", "sync"};
constexpr std::array<std::string_view, 3> space_names = {"sbuf", "psum", "hbm"};
constexpr std::array<std::string_view, dtype_count> dtype_names = {
    "f32",      "tf32", "bf16", "f16", "f8e5m2", "f8e4m3", "f8e3m4",
    "f8e4m3fn", "i8",   "i16",  "i32", "u8",     "u16",    "u32"};
constexpr std::array<std::string_view, 33> alu_op_names = {"bypass",
                                                           "add",
                                                           "subtract",
                                                           "mult",
                                                           "divide",
                                                           "mod",
                                                           "pow",
                                                           "max",
                                                           "min",
                                                           "abs_max",
                                                           "abs_min",
                                                           "average",
                                                           "is_equal",
                                                           "not_equal",
                                                           "is_ge",
                                                           "is_gt",
                                                           "is_le",
                                                           "is_lt",
                                                           "logical_and",
                                                           "logical_or",
                                                           "logical_xor",
                                                           "abs",
                                                           "rsqrt",
                                                           "reciprocal",
                                                           "square",
                                                           "relu",
                                                           "bitwise_not",
                                                           "bitwise_and",
                                                           "bitwise_or",
                                                           "bitwise_xor",
                                                           "logical_shift_left",
                                                           "logical_shift_right",
                                                           "arith_shift_right"};
constexpr std::array<std::string_view, 26> activation_names = {"copy",
                                                               "square",
                                                               "relu",
                                                               "prelu",
                                                               "abs",
                                                               "sign",
                                                               "exp",
                                                               "log",
                                                               "sqrt",
                                                               "rsqrt",
                                                               "reciprocal",
                                                               "sigmoid",
                                                               "gelu",
                                                               "gelu_dx",
                                                               "gelu_apprx_tanh",
                                                               "gelu_apprx_sigmoid",
                                                               "gelu_apprx_sigmoid_dx",
                                                               "silu",
                                                               "silu_dx",
                                                               "tanh",
                                                               "softplus",
                                                               "mish",
                                                               "erf",
                                                               "erf_dx",
                                                               "sin",
                                                               "arctan"};
constexpr std::array<std::string_view, 6> table_set_names = {"any",        "exp_log", "sqrt_rsqrt",
                                                             "reciprocal", "gelu",    "sin_arctan"};
constexpr std::array<std::string_view, 5> reduce_command_names = {"idle", "reset", "reduce", "reset_reduce",
                                                                  "load_reduce"};
constexpr std::array<std::string_view, 2> threshold_type_names = {"drop_rate", "keep_rate"};
constexpr std::array<std::string_view, 4> axes_names = {"X", "XY", "XYZ", "XYZW"};
constexpr std::array<std::string_view, 3> dge_mode_names = {"static", "software", "hardware"};
constexpr std::array<std::string_view, 2> bounds_names = {"error", "skip"};
constexpr std::array<std::string_view, 4> compute_op_names = {"add", "min", "max", "fma"};
constexpr std::array<std::string_view, 7> comparison_names = {"always", "lt", "le", "eq", "ne", "ge", "gt"};
constexpr std::array<std::string_view, 8> update_operation_names = {
    "none", "sem_inc", "sem_dec", "sem_add_imm", "sem_sub_imm", "sem_wr_imm", "evt_set", "evt_clr"};
constexpr std::array<std::string_view, 2> update_when_names = {"read", "complete"};

}  // namespace

template <>
Names names<Engine>() {
  return engine_names;
}
template <>
Names names<Space>() {
  return space_names;
}
template <>
Names names<DType>() {
  return dtype_names;
}
template <>
Names names<AluOp>() {
  return alu_op_names;
}
template <>
Names names<ActivationFunction>() {
  return activation_names;
}
template <>
Names names<TableSet>() {
  return table_set_names;
}
template <>
Names names<ReduceCommand>() {
  return reduce_command_names;
}
template <>
Names names<ThresholdType>() {
  return threshold_type_names;
}
template <>
Names names<Axes>() {
  return axes_names;
}
template <>
Names names<DgeMode>() {
  return dge_mode_names;
}
template <>
Names names<Bounds>() {
  return bounds_names;
}
template <>
Names names<ComputeOp>() {
  return compute_op_names;
}
template <>
Names names<Comparison>() {
  return comparison_names;
}
template <>
Names names<UpdateOperation>() {
  return update_operation_names;
}
template <>
Names names<UpdateWhen>() {
  return update_when_names;
}

bool is_reduction(AluOp op) {
  switch (op) {
    case AluOp::add:
    case AluOp::subtract:
    case AluOp::mult:
    case AluOp::max:
    case AluOp::min:
    case AluOp::abs_max:
    case AluOp::abs_min:
    case AluOp::average:
    case AluOp::logical_and:
    case AluOp::logical_or:
    case AluOp::logical_xor:
    case AluOp::bitwise_and:
    case AluOp::bitwise_or:
    case AluOp::bitwise_xor: return true;
    case AluOp::bypass:
    case AluOp::divide:
    case AluOp::mod:
    case AluOp::pow:
    case AluOp::is_equal:
    case AluOp::not_equal:
    case AluOp::is_ge:
    case AluOp::is_gt:
    case AluOp::is_le:
    case AluOp::is_lt:
    case AluOp::abs:
    case AluOp::rsqrt:
    case AluOp::reciprocal:
    case AluOp::square:
    case AluOp::relu:
    case AluOp::bitwise_not:
    case AluOp::logical_shift_left:
    case AluOp::logical_shift_right:
    case AluOp::arith_shift_right: return false;
  }
  return false;
}

TableSet table_set(ActivationFunction function) {
  using F = ActivationFunction;
  switch (function) {
    case F::copy:
    case F::square:
    case F::relu:
    case F::prelu:
    case F::abs:
    case F::sign: return TableSet::any;
    case F::exp:
    case F::log: return TableSet::exp_log;
    case F::sqrt:
    case F::rsqrt: return TableSet::sqrt_rsqrt;
    case F::reciprocal: return TableSet::reciprocal;
    case F::sigmoid:
    case F::gelu:
    case F::gelu_dx:
    case F::gelu_apprx_tanh:
    case F::gelu_apprx_sigmoid:
    case F::gelu_apprx_sigmoid_dx:
    case F::silu:
    case F::silu_dx:
    case F::tanh:
    case F::softplus:
    case F::mish:
    case F::erf:
    case F::erf_dx: return TableSet::gelu;
    case F::sin:
    case F::arctan: return TableSet::sin_arctan;
  }
  return TableSet::any;
}

}  // namespace ncemu
