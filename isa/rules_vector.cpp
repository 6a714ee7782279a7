// Rules of the instructions that only the vector engine has.

#include <algorithm>
#include <initializer_list>

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

constexpr std::int64_t match_width = 8;                               // datasheet 6.7
constexpr std::int64_t fewest_searched = 8, most_searched = 16384;    // datasheet 1.6
constexpr std::int64_t statistics_of_row = 6, most_statistics = 512;  // datasheet 1.6, 6.6.5
constexpr std::int64_t triple = 3, aggregates = 2;                    // datasheet 6.6.6
constexpr int quadrant = ShuffleMask::lanes;

bool is_one_of(DType type, std::initializer_list<DType> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

template <typename Visit>
void for_each_operator(const Operands& operands, Visit&& visit) {
  for_each_field(operands, [&](std::string_view name, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AluOp>) visit(name, field);
  });
}

ReduceCommand command(const Operands& operands) {
  ReduceCommand found = ReduceCommand::idle;
  for_each_field(operands, [&](std::string_view, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, ReduceCommand>) found = field;
  });
  return found;
}

// An fp32 immediate, a register or one f32 per lane.
void expect_f32(Context& c, std::string_view name, const ScalarOperand& scalar) {
  const auto* pointer = std::get_if<PointerOperand>(&scalar);
  if (std::holds_alternative<std::monostate>(scalar)) c.broken(name, "is missing");
  if (const auto* i = std::get_if<std::int32_t>(&scalar))
    c.broken(name, "is the integer {}, expected an f32 value (write {}.0)", *i, *i);
  if (pointer != nullptr && pointer->dtype != DType::f32)
    c.broken(name, "points to {}, expected f32", ncemu::name(pointer->dtype));
}

void expect_eight(Context& c, std::string_view name, const AccessPattern& pattern) {
  const std::int64_t n = elements_of(pattern);
  if (n != match_width) c.broken(name, "has {} elements per partition, expected {}", n, match_width);
}

void expect_index(Context& c, std::string_view name, const AccessPattern& pattern) {
  if (!is_one_of(pattern.dtype, {DType::u16, DType::u32}))
    c.broken(name, "is {}, expected u16 or u32", ncemu::name(pattern.dtype));
}

}  // namespace

// ---- accumulation and scans -------------------------------------------------------------------

void arithmetic_operators(Context& c) {
  for_each_operator(c.instruction.operands, [&](std::string_view field, AluOp op) {
    if (is_bitvec(op)) c.broken(field, "{} is bitwise", name(op));
  });
}

void tensor_operators(Context& c) {
  const auto check = [&](std::string_view field, AluOp op) {
    if (is_unary(op)) c.broken(field, "{} takes one operand, expected an operator of two", name(op));
  };
  if (const auto* f = std::get_if<ScalarTensorTensor>(&c.instruction.operands)) check("op1", f->op1);
  if (const auto* f = std::get_if<TensorTensorScan>(&c.instruction.operands)) {
    check("op0", f->op0);
    check("op1", f->op1);
  }
}

void running_operator(Context& c) {
  const auto* reduce = std::get_if<TensorScalarReduce>(&c.instruction.operands);
  const AluOp op = reduce != nullptr ? reduce->reduce_op : c.operands<TensorScalarCumulative>().op1;
  if (op == AluOp::add || op == AluOp::subtract || op == AluOp::mult || op == AluOp::max || op == AluOp::min)
    return;
  c.broken(reduce != nullptr ? "reduce_op" : "op1", "is {}", name(op));
}

void accumulator_load(Context& c) {
  const bool loads = command(c.instruction.operands) == ReduceCommand::load_reduce;
  const auto* f = std::get_if<TensorScalarCumulative>(&c.instruction.operands);
  if (f == nullptr) {
    if (loads) c.broken("reduce_cmd", "is load_reduce, which {} does not have", c.row.mnemonic);
  } else if (loads) {
    expect_f32(c, "scalar1", f->scalar1);
  } else if (!std::holds_alternative<std::monostate>(f->scalar1)) {
    c.broken("scalar1", "is given, but reduce_cmd = {} loads nothing", name(f->reduce_cmd));
  }
}

void cumulative_command(Context& c) {
  const ReduceCommand found = c.operands<TensorScalarCumulative>().reduce_cmd;
  if (found == ReduceCommand::idle || found == ReduceCommand::reset)
    c.broken("reduce_cmd", "is {}", name(found));
}

void cumulative_type(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    if (!o.pointer && is_one_of(o.pattern.dtype, {DType::i32, DType::u32, DType::tf32}))
      c.broken(o.name, "is {}", name(o.pattern.dtype));
  }
}

void reduce_result(Context& c) {
  const auto* reduce = std::get_if<TensorScalarReduce>(&c.instruction.operands);
  const ScalarOperand& result = reduce != nullptr ? reduce->reduce_res : c.operands<RangeSelect>().reduce_res;
  if (std::holds_alternative<std::monostate>(result) || std::holds_alternative<PointerOperand>(result))
    return;
  c.broken("reduce_res", "is a {}, expected a tile to write to",
           std::holds_alternative<Register>(result) ? "register" : "number");
}

void scan_initial(Context& c) { expect_f32(c, "initial", c.operands<TensorTensorScan>().initial); }

// ---- selection ------------------------------------------------------------------------------

void predicate_type(Context& c) {
  if (const auto* f = std::get_if<CopyPredicated>(&c.instruction.operands)) {
    if (!is_one_of(f->predicate.dtype, {DType::u8, DType::u16, DType::u32}))
      c.broken("predicate", "is {}, expected u8, u16 or u32", name(f->predicate.dtype));
    return;
  }
  const DType type = c.operands<SelectReduce>().predicate.dtype;
  if (!is_one_of(type, {DType::i8, DType::u8, DType::i16, DType::u16}))
    c.broken("predicate", "is {}, expected i8, u8, i16 or u16", name(type));
}

void predicated_source(Context& c) {
  const auto& f = c.operands<CopyPredicated>();
  const bool has_value = !std::holds_alternative<std::monostate>(f.value);
  if (!f.src && !has_value) c.broken("src", "is missing, as value is");
  if (f.src && has_value) c.broken("value", "is given beside src");
  if (std::holds_alternative<PointerOperand>(f.value))
    c.broken("value", "is a tile, expected a number or a register");
  const auto* i = std::get_if<std::int32_t>(&f.value);
  if (i != nullptr && is_float(f.dst.dtype))
    c.broken("value", "is the integer {}, expected an f32 value for {} (write {}.0)", *i, name(f.dst.dtype),
             *i);
}

void equal_types(Context& c) {
  const OnChip* dst = nullptr;
  for (const OnChip& o : c.on_chip()) {
    if (o.name == "dst") dst = &o;
    if (o.name == "src" && o.pattern.dtype != dst->pattern.dtype)
      c.broken("src", "is {}, dst is {}", name(o.pattern.dtype), name(dst->pattern.dtype));
  }
}

void select_types(Context& c) {
  const auto& f = c.operands<SelectReduce>();
  if (is_one_of(f.on_true.dtype, {DType::tf32, DType::i32, DType::u32}))
    c.broken("on_true", "is {}", name(f.on_true.dtype));
  expect_f32(c, "on_false", f.on_false);
}

void range_source(Context& c) {
  const DType type = c.operands<RangeSelect>().src.dtype;
  if (!is_float(type)) c.broken("src", "is {}, expected a float type", name(type));
}

void range_bounds(Context& c) {
  const auto& f = c.operands<RangeSelect>();
  const auto check = [&](std::string_view field, const ScalarOperand& bound) {
    const auto* pointer = std::get_if<PointerOperand>(&bound);
    if (pointer == nullptr) {
      c.broken(field, "is no tile, expected a [P, 1] tile of f32");
    } else if (pointer->dtype != DType::f32) {
      c.broken(field, "points to {}, expected f32", name(pointer->dtype));
    }
  };
  check("bound0", f.bound0);
  check("bound1", f.bound1);
}

void range_comparison(Context& c) {
  for_each_operator(c.instruction.operands, [&](std::string_view field, AluOp op) {
    const bool compares = op == AluOp::is_equal || (op >= AluOp::is_ge && op <= AluOp::is_lt);
    if (!compares) c.broken(field, "is {}", name(op));
  });
}

void dropout_threshold(Context& c) {
  const auto& f = c.operands<Dropout>();
  const auto* pointer = std::get_if<PointerOperand>(&f.threshold);
  if (pointer == nullptr) return expect_f32(c, "threshold", f.threshold);
  if (!is_float(pointer->dtype)) {
    c.broken("threshold", "points to {}, expected a float type", name(pointer->dtype));
  } else if (is_integer(f.src.dtype) && pointer->dtype != DType::f32) {
    c.broken("threshold", "points to {}, expected f32 for data of {}", name(pointer->dtype),
             name(f.src.dtype));
  }
}

// ---- statistics and search ------------------------------------------------------------------

void statistics_size(Context& c) {
  const auto& f = c.operands<Unary>();
  const bool rows = c.instruction.opcode == Opcode::bn_stats;
  const std::int64_t results = rows ? statistics_of_row : aggregates;
  const std::int64_t n = elements_of(f.src);
  if (elements_of(f.dst) != results)
    c.broken("dst", "has {} elements per partition, expected {}", elements_of(f.dst), results);
  if (rows && n > most_statistics)
    c.broken("src", "has {} elements per partition, at most {} are possible", n, most_statistics);
  if (!rows && n % triple != 0)
    c.broken("src", "has {} elements per partition, expected triples (count, mean, M2)", n);
}

void search_size(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    const std::int64_t n = elements_of(o.pattern);
    if (o.name == "src" && (n < fewest_searched || n > most_searched))
      c.broken("src", "has {} elements per partition, expected {} to {}", n, fewest_searched, most_searched);
  }
}

void replace_size(Context& c) {
  const auto& f = c.operands<MatchReplace>();
  if (elements_of(f.dst) != elements_of(f.src))
    c.broken("dst", "has {} elements per partition, src has {}", elements_of(f.dst), elements_of(f.src));
}

void eight_values(Context& c) {
  if (const auto* f = std::get_if<MatchReplace>(&c.instruction.operands)) {
    if (f->index) expect_eight(c, "index", *f->index);
  } else if (const auto* load = std::get_if<Source>(&c.instruction.operands)) {
    expect_eight(c, "src", load->src);
  } else {
    expect_eight(c, "dst", c.operands<Unary>().dst);
  }
}

void index_type(Context& c) {
  if (const auto* f = std::get_if<MatchReplace>(&c.instruction.operands)) {
    if (f->index) expect_index(c, "index", *f->index);
  } else {
    expect_index(c, "dst", c.operands<Unary>().dst);
  }
}

// ---- lanes ----------------------------------------------------------------------------------

void mask_entries(Context& c) {
  const auto& source = c.operands<LoadMask>().mask.source;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] < quadrant || source[i] == ShuffleMask::keep) continue;
    c.broken("mask", "entry {} is {}, expected 0 to {}, or {}", i, source[i], quadrant - 1,
             ShuffleMask::keep);
  }
}

// Quadrants are shuffled whole: an operand starts where that many quadrants may (datasheet 6.3.4).
void shuffle_start(Context& c) {
  const auto& f = c.operands<Unary>();
  const int quadrants = (std::max(f.dst.partitions, f.src.partitions) + quadrant - 1) / quadrant;
  const int multiple = quadrants > 2 ? 4 * quadrant : quadrants * quadrant;
  for (const OnChip& o : c.on_chip()) {
    if (o.pattern.partition % std::max(multiple, quadrant) == 0) continue;
    c.broken(o.name, "starts at partition {}, expected a multiple of {} for {} quadrant{} of lanes",
             o.pattern.partition, multiple, quadrants, quadrants == 1 ? "" : "s");
  }
}

void transpose_blocks(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    if (o.pattern.partitions % quadrant == 0 && elements_of(o.pattern) % quadrant == 0) continue;
    c.broken(o.name, "has {} partitions x {} elements, expected multiples of {}", o.pattern.partitions,
             elements_of(o.pattern), quadrant);
  }
}

void random_type(Context& c) {
  const DType type = c.operands<Destination>().dst.dtype;
  if (!is_integer(type)) c.broken("dst", "is {}, expected an integer type", name(type));
}

void seed_source(Context& c) {
  const AccessPattern& src = c.operands<Source>().src;
  if (src.partitions == 1 && elements_of(src) == 1 && is_one_of(src.dtype, {DType::i32, DType::u32})) return;
  c.broken("src", "has {} partitions x {} elements of {}, expected one i32 or u32", src.partitions,
           elements_of(src), name(src.dtype));
}

}  // namespace ncemu::check
