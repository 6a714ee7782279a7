// Rules about operators, types and each engine's own limits.

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

// Datasheet 5.1, column "engines (v2/v3)". Empty: on none before NeuronCore-v4. divide and mod are no
// hardware instructions by the documents; they stay as optional fp32 operators of vector (contradiction C5).
EngineSet operator_engines(AluOp op, int generation, bool tensor_tensor) {
  const EngineSet vector = Engine::vector, scalar = Engine::scalar, gpsimd = Engine::gpsimd, none;
  switch (op) {
    case AluOp::bypass: return vector | scalar | gpsimd;
    case AluOp::add:
    case AluOp::mult: return generation == 2 ? vector | gpsimd : vector | gpsimd | scalar;
    case AluOp::subtract:  // exact int32 subtract of gpsimd: datasheet 6.5.2
      return tensor_tensor ? vector | gpsimd : vector;
    case AluOp::pow:
    case AluOp::rsqrt: return gpsimd;
    case AluOp::abs: return vector | scalar;
    case AluOp::divide:
    case AluOp::mod:
    case AluOp::max:
    case AluOp::min:
    case AluOp::is_equal:
    case AluOp::not_equal:
    case AluOp::is_ge:
    case AluOp::is_gt:
    case AluOp::is_le:
    case AluOp::is_lt:
    case AluOp::logical_and:
    case AluOp::logical_or:
    case AluOp::logical_xor:
    case AluOp::bitwise_not:
    case AluOp::bitwise_and:
    case AluOp::bitwise_or:
    case AluOp::bitwise_xor:
    case AluOp::logical_shift_left:
    case AluOp::logical_shift_right:
    case AluOp::arith_shift_right: return vector;
    case AluOp::average:     // of tensor_partition_reduce only, which has a list of its own
    case AluOp::reciprocal:  // an instruction and an activation function, not an operator of a data path
    case AluOp::abs_max:
    case AluOp::abs_min:
    case AluOp::square:
    case AluOp::relu: return none;
  }
  return none;
}

std::string engine_list(EngineSet engines) {
  std::string text;
  for (const Engine e : all_engines) {
    if (engines.contains(e)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(e));
  }
  return text;
}

std::string_view first_of(EngineSet engines) {
  for (const Engine e : all_engines) {
    if (engines.contains(e)) return name(e);
  }
  return "";
}

// Calls visit(name, op) for each operator of the instruction.
template <typename Visit>
void for_each_operator(const Operands& operands, Visit&& visit) {
  for_each_field(operands, [&](std::string_view name, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AluOp>) visit(name, field);
  });
}

struct Stage {
  std::string_view name;
  AluOp op;
  const ScalarOperand& scalar;
};
// The operators with a scalar, whatever the form.
std::vector<Stage> stages(const Operands& operands) {
  if (const auto* t = std::get_if<TensorScalar>(&operands))
    return {{"scalar0", t->op0, t->scalar0}, {"scalar1", t->op1, t->scalar1}};
  if (const auto* t = std::get_if<ScalarTensorTensor>(&operands)) return {{"scalar0", t->op0, t->scalar0}};
  if (const auto* t = std::get_if<TensorScalarReduce>(&operands)) return {{"scalar0", t->op0, t->scalar0}};
  if (const auto* t = std::get_if<TensorScalarCumulative>(&operands))
    return {{"scalar0", t->op0, t->scalar0}};
  return {};
}

bool is_zero(const ScalarOperand& scalar) {
  if (const auto* f = std::get_if<float>(&scalar)) return *f == 0;
  if (const auto* i = std::get_if<std::int32_t>(&scalar)) return *i == 0;
  return std::holds_alternative<std::monostate>(scalar);
}

}  // namespace

void available_on_engine(Context& c) {
  const EngineSet engines = c.row.engines(c.target.generation);
  if (engines.contains(c.engine)) return;
  if (engines.empty()) {
    c.broken("", "does not exist on NeuronCore-v{}", c.target.generation);
  } else {
    c.broken("", "does not run on the {} engine of NeuronCore-v{}, only on {}", name(c.engine),
             c.target.generation, engine_list(engines));
  }
}

// ---- operators ------------------------------------------------------------------------------

void operator_engine(Context& c) {
  // Has a list of its own: partition_operator.
  if (std::holds_alternative<PartitionReduce>(c.instruction.operands)) return;
  const bool tensor_tensor = std::holds_alternative<TensorTensor>(c.instruction.operands);
  for_each_operator(c.instruction.operands, [&](std::string_view field, AluOp op) {
    const EngineSet engines = operator_engines(op, c.target.generation, tensor_tensor);
    if (engines.contains(c.engine)) return;
    if (engines.empty()) {
      c.broken(field, "{} is not an operator of NeuronCore-v{}", name(op), c.target.generation);
    } else {
      c.broken(field, "{} runs on {}, not on {}; write engine = {}", name(op), engine_list(engines),
               name(c.engine), first_of(engines));
    }
  });
}

void operator_class(Context& c) {
  const auto& t = c.operands<TensorScalar>();
  if (t.op0 == AluOp::bypass || t.op1 == AluOp::bypass || is_bitvec(t.op0) == is_bitvec(t.op1)) return;
  c.broken("op1", "{} is {}, but op0 = {} is {}", name(t.op1), is_bitvec(t.op1) ? "bitwise" : "arithmetic",
           name(t.op0), is_bitvec(t.op0) ? "bitwise" : "arithmetic");
}

void bitwise_types(Context& c) {
  AluOp bitwise = AluOp::bypass;
  for_each_operator(c.instruction.operands, [&](std::string_view, AluOp op) {
    if (is_bitvec(op)) bitwise = op;
  });
  if (!is_bitvec(bitwise)) return;
  for (const OnChip& o : c.on_chip()) {
    if (o.pointer || is_integer(o.pattern.dtype)) continue;
    c.broken(o.name, "is {}, but {} needs an integer type", name(o.pattern.dtype), name(bitwise));
  }
}

void binary_operator(Context& c) {
  const AluOp op = c.operands<TensorTensor>().op;
  if (is_unary(op)) c.broken("op", "{} takes one operand, expected an operator of two", name(op));
}

void scalar_presence(Context& c) {
  for (const Stage& s : stages(c.instruction.operands)) {
    if (is_unary(s.op) && !is_zero(s.scalar)) {
      c.broken(s.name, "is given, but {} takes none", name(s.op));
    } else if (!is_unary(s.op) && std::holds_alternative<std::monostate>(s.scalar)) {
      c.broken(s.name, "is missing, {} needs it", name(s.op));
    }
  }
}

void scalar_kind(Context& c) {
  for (const Stage& s : stages(c.instruction.operands)) {
    if (is_unary(s.op)) continue;
    const auto* f = std::get_if<float>(&s.scalar);
    const auto* i = std::get_if<std::int32_t>(&s.scalar);
    const auto* pointer = std::get_if<PointerOperand>(&s.scalar);
    if (is_bitvec(s.op)) {
      if (f != nullptr) c.broken(s.name, "is the f32 value {}, {} takes an integer", *f, name(s.op));
      if (pointer != nullptr && is_float(pointer->dtype)) {
        c.broken(s.name, "points to {}, {} takes integers", name(pointer->dtype), name(s.op));
      }
    } else {
      if (i != nullptr)
        c.broken(s.name, "is the integer {}, {} takes an f32 value (write {}.0)", *i, name(s.op), *i);
      if (pointer != nullptr && pointer->dtype != DType::f32) {
        c.broken(s.name, "points to {}, {} takes f32", name(pointer->dtype), name(s.op));
      }
    }
  }
}

void scalar_engine_pairs(Context& c) {
  if (c.engine != Engine::scalar) return;
  const auto& t = c.operands<TensorScalar>();
  const bool legal = (t.op0 == AluOp::mult && (t.op1 == AluOp::add || t.op1 == AluOp::bypass)) ||
                     (t.op0 == AluOp::add && t.op1 == AluOp::bypass);
  if (!legal) c.broken("op0", "the pair is ({}, {})", name(t.op0), name(t.op1));
}

void gpsimd_rsqrt(Context& c) {
  const auto& t = c.operands<TensorScalar>();
  if (c.engine != Engine::gpsimd || t.op0 == AluOp::rsqrt || t.op1 == AluOp::rsqrt) return;
  c.broken("op0", "neither {} nor {} is rsqrt; use engine = vector", name(t.op0), name(t.op1));
}

void reduction_operator(Context& c) {
  const AluOp op = c.operands<TensorReduce>().op;
  if (!is_reduction(op)) c.broken("op", "{} does not reduce", name(op));
}

void reduction_shape(Context& c) {
  const auto& r = c.operands<TensorReduce>();
  std::int64_t kept = 1;
  for (std::size_t d = static_cast<std::size_t>(r.axes) + 1; d < r.src.dims.size(); ++d)
    kept *= r.src.dims[d].count;
  if (elements_of(r.dst) == kept) return;
  c.broken("dst", "has {} elements per partition, src keeps {} when {} is reduced", elements_of(r.dst), kept,
           name(r.axes));
}

void negate_arithmetic(Context& c) {
  const auto& r = c.operands<TensorReduce>();
  if (r.negate && is_bitvec(r.op)) c.broken("negate", "is set, but {} is bitwise", name(r.op));
}

// ---- scalar engine, fills -------------------------------------------------------------------

void function_generation(Context& c) {
  if (c.operands<Activation>().func == ActivationFunction::prelu) {
    c.broken("func", "prelu does not exist on NeuronCore-v{}", c.target.generation);
  }
}

void reciprocal_bias(Context& c) {
  const auto& a = c.operands<Activation>();
  if (c.v2() && a.func == ActivationFunction::reciprocal && !is_zero(a.bias)) {
    c.broken("bias", "is given with func = reciprocal");
  }
}

void bias_immediate(Context& c) {
  if (!c.v2()) return;
  const ScalarOperand& bias = c.operands<Activation>().bias;
  const auto* f = std::get_if<float>(&bias);
  if (f != nullptr && *f != 0) c.broken("bias", "is the immediate {}, expected a [P, 1] tile", *f);
  if (std::holds_alternative<Register>(bias)) c.broken("bias", "is a register, expected a [P, 1] tile");
}

void scale_kind(Context& c) {
  const ScalarOperand& scale = c.operands<Activation>().scale;
  const auto* i = std::get_if<std::int32_t>(&scale);
  const auto* pointer = std::get_if<PointerOperand>(&scale);
  if (i != nullptr) c.broken("scale", "is the integer {}, expected an f32 value (write {}.0)", *i, *i);
  if (pointer != nullptr && pointer->dtype != DType::f32) {
    c.broken("scale", "points to {}, expected f32", name(pointer->dtype));
  }
}

void bias_kind(Context& c) {
  const ScalarOperand& bias = c.operands<Activation>().bias;
  const auto* i = std::get_if<std::int32_t>(&bias);
  const auto* pointer = std::get_if<PointerOperand>(&bias);
  if (i != nullptr) c.broken("bias", "is the integer {}, expected an f32 value (write {}.0)", *i, *i);
  if (pointer != nullptr && pointer->dtype == DType::tf32)
    c.broken("bias", "points to tf32, expected another type");
}

void load_reduce(Context& c) {
  if (c.operands<Activation>().reduce_cmd == ReduceCommand::load_reduce) {
    c.broken("reduce_cmd", "load_reduce does not exist on the scalar engine of NeuronCore-v{}",
             c.target.generation);
  }
}

void accumulator_element(Context& c) {
  const std::int64_t n = elements_of(c.operands<Destination>().dst);
  if (n != 1) c.broken("dst", "has {} elements per partition, expected 1", n);
}

void loadable_table(Context& c) {
  if (c.operands<TableLoad>().table == TableSet::any) c.broken("table", "is any, expected a set to load");
}

void fill_value(Context& c) {
  const ScalarOperand& value = c.operands<Memset>().value;
  const DType type = c.operands<Memset>().dst.dtype;
  const auto* i = std::get_if<std::int32_t>(&value);
  if (i != nullptr && is_float(type)) {
    c.broken("value", "is the integer {}, expected an f32 value for {} (write {}.0)", *i, name(type), *i);
  }
  if (std::holds_alternative<std::monostate>(value)) c.broken("value", "is missing");
  if (std::holds_alternative<PointerOperand>(value))
    c.broken("value", "is a tile, expected a number or a register");
}

}  // namespace ncemu::check
