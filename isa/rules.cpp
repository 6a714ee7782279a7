#include "isa/rules.h"

#include "isa/fault.h"
#include "isa/rules_context.h"

namespace ncemu {
namespace {

// ---- which instructions a rule applies to ---------------------------------------------------

template <typename T>
bool has(const InstructionInfo& row) {
  bool found = false;
  for_each_field(default_operands(row.opcode), [&](std::string_view, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, T>) found = true;
  });
  return found;
}
template <typename Form>
bool form(const InstructionInfo& row) {
  return std::holds_alternative<Form>(default_operands(row.opcode));
}
template <Opcode... opcodes>
bool is(const InstructionInfo& row) {
  return ((row.opcode == opcodes) || ...);
}
bool any(const InstructionInfo&) { return true; }
bool dma(const InstructionInfo& row) { return row.is_dma(); }
bool has_memory(const InstructionInfo& row) { return has<AccessPattern>(row) || has<MemoryOperand>(row); }
bool on_chip(const InstructionInfo& row) { return has_memory(row); }
bool compute(const InstructionInfo& row) {
  return !row.is_control() && !row.is_dma() && has<AccessPattern>(row);
}
bool tensor_engine(const InstructionInfo& row) { return form<LoadStationary>(row) || form<Matmul>(row); }
bool lane_wise(const InstructionInfo& row) { return compute(row) && !tensor_engine(row); }
// One kind of gpsimd instruction each has operands of different sizes by its meaning.
bool sized_by_meaning(const InstructionInfo& row) {
  return form<Gather>(row) || form<LocalGather>(row) || form<NonzeroWithCount>(row) || form<TopK>(row) ||
         is<Opcode::sequence_bounds>(row);
}
bool gather(const InstructionInfo& row) { return form<Gather>(row) || form<LocalGather>(row); }
bool processors(const InstructionInfo& row) { return form<LocalGather>(row) || form<TopK>(row); }
bool across_partitions(const InstructionInfo& row) {
  return form<PartitionReduce>(row) || is<Opcode::sequence_bounds>(row);
}
bool random_state(const InstructionInfo& row) {
  return is<Opcode::rand_set_state, Opcode::rand_get_state>(row);
}
// ---- of the vector engine
bool scalar_stages(const InstructionInfo& row) {
  return form<TensorScalar>(row) || form<ScalarTensorTensor>(row) || form<TensorScalarReduce>(row) ||
         form<TensorScalarCumulative>(row);
}
bool running_reductions(const InstructionInfo& row) {
  return form<TensorScalarReduce>(row) || form<TensorScalarCumulative>(row);
}
bool two_streams(const InstructionInfo& row) {
  return form<ScalarTensorTensor>(row) || form<TensorTensorScan>(row);
}
bool arithmetic_forms(const InstructionInfo& row) { return two_streams(row) || running_reductions(row); }
bool result_forms(const InstructionInfo& row) {
  return form<TensorScalarReduce>(row) || form<RangeSelect>(row);
}
bool accumulating(const InstructionInfo& row) {
  return running_reductions(row) || form<RangeSelect>(row) || form<SelectReduce>(row);
}
bool predicated_forms(const InstructionInfo& row) {
  return form<CopyPredicated>(row) || form<SelectReduce>(row);
}
bool bit_movers(const InstructionInfo& row) {
  return form<CopyPredicated>(row) || is<Opcode::stream_shuffle, Opcode::transpose>(row);
}
bool statistics(const InstructionInfo& row) { return is<Opcode::bn_stats, Opcode::bn_aggr>(row); }
bool index_writers(const InstructionInfo& row) {
  return is<Opcode::find_index8>(row) || form<MatchReplace>(row);
}
bool searching(const InstructionInfo& row) { return is<Opcode::max8>(row) || index_writers(row); }
bool eight_wide(const InstructionInfo& row) { return searching(row) || is<Opcode::match_value_load>(row); }
bool own_sizes(const InstructionInfo& row) { return statistics(row) || eight_wide(row); }

bool equal_partitions(const InstructionInfo& row) {
  return lane_wise(row) && !form<PartitionReduce>(row) && !is<Opcode::stream_shuffle>(row);
}
bool equal_elements(const InstructionInfo& row) {
  return compute(row) && !sized_by_meaning(row) && !own_sizes(row) && !form<TensorReduce>(row) &&
         !tensor_engine(row) && !form<Destination>(row);
}
bool alu(const InstructionInfo& row) { return has<AluOp>(row) && !row.is_control(); }
bool register_instruction(const InstructionInfo& row) {
  return has<Register>(row) && !form<CompareBranch>(row);
}
bool register_memory(const InstructionInfo& row) {
  return form<RegisterLoad>(row) || form<RegisterStore>(row);
}

// ---- the table ------------------------------------------------------------------------------

constexpr Rule rules[] = {
#define RULE(name, section, applies, sentence) {section, sentence},
#include "isa/rules.def"
#undef RULE
};
constexpr std::size_t rule_count = std::size(rules);

struct Entry {
  bool (*applies)(const InstructionInfo&);
  void (*check)(check::Context&);
};
constexpr Entry entries[rule_count] = {
#define RULE(name, section, applies, sentence) {applies, check::name},
#include "isa/rules.def"
#undef RULE
};

// Indices of the rules of each row, so that checking an instruction does not ask each rule again.
using RulesByRow = std::vector<std::vector<std::uint8_t>>;
static_assert(rule_count <= 256);

RulesByRow sort_rules() {
  RulesByRow by_row;
  for (const InstructionInfo& row : all_instructions()) {
    auto& list = by_row.emplace_back();
    for (std::size_t i = 0; i < rule_count; ++i) {
      if (entries[i].applies(row)) list.push_back(static_cast<std::uint8_t>(i));
    }
  }
  return by_row;
}

const std::vector<std::uint8_t>& rule_indices(const InstructionInfo& row) {
  static const RulesByRow by_row = sort_rules();
  return by_row[static_cast<std::size_t>(&row - all_instructions().data())];
}

}  // namespace

check::Context::Context(const Instruction& i, Engine e, const Target& t, const Program* p,
                        std::vector<Violation>& violations)
    : instruction(i), row(info(i.opcode)), engine(e), target(t), program(p), violations_(violations) {
  const int lane_count = lanes(i.operands);
  for_each_field(i.operands, [&](std::string_view name, const auto& field, Role role) {
    using T = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<T, AccessPattern>) {
      add({name, field, role, false});
    } else if constexpr (std::is_same_v<T, std::optional<AccessPattern>>) {
      if (field) add({name, *field, role, false});
    } else if constexpr (std::is_same_v<T, MemoryOperand>) {
      if (const auto* on = std::get_if<AccessPattern>(&field)) add({name, *on, role, false});
      if (const auto* in = std::get_if<HbmPattern>(&field)) {
        ensure(in_hbm_count_ < in_hbm_.size(),
               "no operand form has more HBM operands than the rules have room for");
        in_hbm_[in_hbm_count_++] = {name, *in, role};
      }
    } else if constexpr (std::is_same_v<T, ScalarOperand>) {
      if (const auto* pointer = std::get_if<PointerOperand>(&field)) {
        add({name, as_pattern(*pointer, lane_count), role, true});
      }
    }
  });
}

void check::Context::add(const OnChip& operand) {
  ensure(on_chip_count_ < capacity, "no operand form has more on-chip operands than the rules have room for");
  on_chip_[on_chip_count_++] = operand;
}

void check_instruction(const Instruction& instruction, Engine engine, const Target& target,
                       const Program* program, std::vector<Violation>& violations) {
  check::Context context(instruction, engine, target, program, violations);
  for (const std::uint8_t i : rule_indices(context.row)) context.apply(rules[i], entries[i].check);
}

std::span<const Rule> all_rules() { return rules; }

std::vector<Rule> rules_of(const InstructionInfo& row) {
  std::vector<Rule> result;
  for (const std::uint8_t i : rule_indices(row)) result.push_back(rules[i]);
  return result;
}

}  // namespace ncemu
