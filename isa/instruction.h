#pragma once

// One instruction: an opcode of the table, its operands, and at most one semaphore wait and one
// semaphore update.

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "isa/forms.h"
#include "isa/types.h"

namespace ncemu {

enum class Opcode : std::uint16_t {
#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence) mnemonic = code,
#include "isa/instructions.def"
#undef INSTRUCTION
};

// Which formula of the timing model applies; an instruction without one does not compile.
enum class CostClass : std::uint8_t {
  control,
  load_weights,
  matmul,
  activation,
  read_acc,
  table_load,
  copy,
  memset,
  tensor_scalar,
  tensor_tensor,
  reduce,
  reciprocal,
  pair,
  predicated,
  scan,
  lane_stream,
  aggregate,
  lane_registers,
  gpsimd_stream,
  gpsimd_gather,
  gpsimd_local_gather,
  gpsimd_partitions,
  gpsimd_bounds,
  gpsimd_nonzero,
  gpsimd_topk,
  dma,
};

using Operands =
    std::variant<NoOperands, SemaphoreRange, RegisterMove, RegisterAlu, RegisterLoad, RegisterStore,
                 CompareBranch, Write, Notify, LoadStationary, Matmul, Activation, TableLoad, Destination,
                 Unary, Memset, TensorScalar, TensorTensor, TensorReduce, CopyPredicated, ScalarTensorTensor,
                 Dropout, TensorScalarReduce, TensorScalarCumulative, TensorTensorScan, RangeSelect,
                 SelectReduce, MatchReplace, LoadMask, Iota, AffineSelect, Gather, LocalGather,
                 PartitionReduce, NonzeroWithCount, TopK, Source, DmaCopy, DmaTranspose, DmaCompute>;

struct Wait {
  std::uint8_t semaphore = 0;
  Comparison condition = Comparison::always;  // always: no wait
  bool value_is_register = false;
  std::uint16_t value = 0;  // immediate, or the register's number
  bool present() const { return condition != Comparison::always; }
  friend bool operator==(const Wait&, const Wait&) = default;
};

struct Update {
  std::uint8_t semaphore = 0;  // or event, for evt_set and evt_clr
  UpdateOperation operation = UpdateOperation::none;
  UpdateWhen when = UpdateWhen::complete;
  std::uint16_t value = 0;  // of the _imm operations
  bool present() const { return operation != UpdateOperation::none; }
  friend bool operator==(const Update&, const Update&) = default;
};

struct Instruction {
  Opcode opcode = Opcode::nop;
  Wait wait;
  Update update;
  std::uint32_t site = 0;  // index in Program::sites: debug data, not part of the word, not compared
  Operands operands;
};
// Same word: everything but debug data.
bool operator==(const Instruction& a, const Instruction& b);

struct InstructionInfo {
  Opcode opcode;
  std::string_view mnemonic;
  EngineSet engines_v2, engines_v3;
  std::span<const Engine> order_v2, order_v3;  // the same, in the order the row prefers them
  std::size_t form;                            // index of the form in Operands
  CostClass cost;
  std::string_view sentence;

  EngineSet engines(int generation) const { return generation == 2 ? engines_v2 : engines_v3; }
  std::span<const Engine> order(int generation) const { return generation == 2 ? order_v2 : order_v3; }
  bool is_control() const { return cost == CostClass::control; }
  bool is_dma() const { return cost == CostClass::dma; }
};

// Every row, in the table's order.
std::span<const InstructionInfo> all_instructions();
// The opcode must be of the table.
const InstructionInfo& info(Opcode opcode);
// nullptr: unknown.
const InstructionInfo* find_instruction(std::string_view mnemonic);
const InstructionInfo* find_instruction(std::uint16_t code);

// Default operands of the row's form.
Operands default_operands(Opcode opcode);

// visit(name, field, role) for each field of the operands, in encoding order.
template <typename Visit>
void for_each_field(const Operands& operands, Visit&& visit) {
  std::visit([&](const auto& form) { std::decay_t<decltype(form)>::fields(form, visit); }, operands);
}
template <typename Visit>
void for_each_field(Operands& operands, Visit&& visit) {
  std::visit([&](auto& form) { std::decay_t<decltype(form)>::fields(form, visit); }, operands);
}

// visit(pattern, role) for each on-chip pattern, pointer operand ([P,1], as a pattern of
// `partitions` lanes) and HBM pattern the instruction touches.
template <typename Visit>
void for_each_access(const Instruction& instruction, Visit&& visit);

// Partitions of the destination (of the source for load_stationary and for a transfer to HBM): the lanes a
// pointer operand has.
int lanes(const Operands& operands);

AccessPattern as_pattern(const PointerOperand& pointer, int partitions);

// The pattern of one of its lanes.
inline AccessPattern one_lane(AccessPattern pattern, int lane) {
  pattern.partition = static_cast<std::uint8_t>(pattern.partition + lane);
  pattern.partitions = 1;
  return pattern;
}

// What every transfer names beside its operands.
struct Route {
  std::uint8_t queue = 0;
  DgeMode mode = DgeMode::static_;
};
Route route(const Operands& operands);  // of a transfer

namespace detail {
template <typename Visit>
struct AccessVisitor {
  Visit& visit;
  int lane_count;
  void operator()(std::string_view, const AccessPattern& p, Role role) { visit(p, role); }
  void operator()(std::string_view, const std::optional<AccessPattern>& p, Role role) {
    if (p) visit(*p, role);
  }
  void operator()(std::string_view, const MemoryOperand& m, Role role) {
    std::visit([&](const auto& p) { visit(p, role); }, m);
  }
  void operator()(std::string_view, const ScalarOperand& s, Role role) {
    if (const auto* p = std::get_if<PointerOperand>(&s)) visit(as_pattern(*p, lane_count), role);
  }
  template <typename T>
  void operator()(std::string_view, const T&, Role) {}
};
}  // namespace detail

template <typename Visit>
void for_each_access(const Instruction& instruction, Visit&& visit) {
  if (const auto* nonzero = std::get_if<NonzeroWithCount>(&instruction.operands)) {
    for (const auto& [pattern, role] : {std::pair{nonzero->src, Role::read}, {nonzero->dst, Role::write}}) {
      for (int lane = 0; lane < pattern.partitions; lane += NonzeroWithCount::lane_step)
        visit(one_lane(pattern, lane), role);
    }
    return;
  }
  detail::AccessVisitor<Visit> visitor{visit, lanes(instruction.operands)};
  for_each_field(instruction.operands, visitor);
  const auto* copy = std::get_if<DmaCopy>(&instruction.operands);
  if (copy != nullptr && copy->accumulate) visitor("dst", copy->dst, Role::read);
}

}  // namespace ncemu
