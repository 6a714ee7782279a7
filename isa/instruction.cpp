#include "isa/instruction.h"

#include <algorithm>
#include <array>

#include "isa/fault.h"

namespace ncemu {
namespace {

// The engines of a row in the order it prefers them.
struct Order {
  std::array<Engine, engine_count> engines{};
  std::size_t count = 0;
  constexpr EngineSet set() const {
    EngineSet s;
    for (std::size_t i = 0; i < count; ++i) s = s | engines[i];
    return s;
  }
};
constexpr Order one(Engine e) { return {{e}, 1}; }
constexpr Order operator|(Order a, Order b) {
  for (std::size_t i = 0; i < b.count; ++i) a.engines[a.count++] = b.engines[i];
  return a;
}

constexpr Order T = one(Engine::tensor), V = one(Engine::vector), S = one(Engine::scalar),
                G = one(Engine::gpsimd), Y = one(Engine::sync);
constexpr Order ALL = Y | G | S | V | T, NONE;

template <typename Form, typename Variant>
struct IndexOf;
template <typename Form, typename... Rest>
struct IndexOf<Form, std::variant<Form, Rest...>> : std::integral_constant<std::size_t, 0> {};
template <typename Form, typename First, typename... Rest>
struct IndexOf<Form, std::variant<First, Rest...>>
    : std::integral_constant<std::size_t, 1 + IndexOf<Form, std::variant<Rest...>>::value> {};

struct Orders {
  Order v2, v3;
};
constexpr Orders orders[] = {
#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence) {v2, v3},
#include "isa/instructions.def"
#undef INSTRUCTION
};
constexpr std::size_t row_count = std::size(orders);

struct Row {
  Opcode opcode;
  std::string_view mnemonic;
  std::size_t form;
  CostClass cost;
  std::string_view sentence;
};
constexpr Row rows[row_count] = {
#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence) \
  {Opcode::mnemonic, #mnemonic, IndexOf<form, Operands>::value, CostClass::cost, sentence},
#include "isa/instructions.def"
#undef INSTRUCTION
};

constexpr bool codes_differ() {
  for (std::size_t i = 0; i < row_count; ++i) {
    for (std::size_t j = i + 1; j < row_count; ++j) {
      if (rows[i].opcode == rows[j].opcode) return false;
    }
  }
  return true;
}
static_assert(codes_differ(), "two rows of instructions.def have the same code");

constexpr std::array<InstructionInfo, row_count> make_table() {
  std::array<InstructionInfo, row_count> table{};
  for (std::size_t i = 0; i < row_count; ++i) {
    const Order& v2 = orders[i].v2;
    const Order& v3 = orders[i].v3;
    table[i] = {rows[i].opcode,
                rows[i].mnemonic,
                v2.set(),
                v3.set(),
                std::span<const Engine>(v2.engines.data(), v2.count),
                std::span<const Engine>(v3.engines.data(), v3.count),
                rows[i].form,
                rows[i].cost,
                rows[i].sentence};
  }
  return table;
}
constexpr std::array<InstructionInfo, row_count> table = make_table();

// Rows by code; codes are small.
constexpr std::size_t code_limit = 256;
constexpr std::array<std::int16_t, code_limit> make_by_code() {
  std::array<std::int16_t, code_limit> by_code{};
  for (auto& entry : by_code) entry = -1;
  for (std::size_t i = 0; i < row_count; ++i) {
    by_code[static_cast<std::size_t>(rows[i].opcode)] = static_cast<std::int16_t>(i);
  }
  return by_code;
}
constexpr std::array<std::int16_t, code_limit> by_code = make_by_code();

template <std::size_t I = 0>
Operands make_form(std::size_t index) {
  if constexpr (I < std::variant_size_v<Operands>) {
    if (index == I) return Operands(std::in_place_index<I>);
    return make_form<I + 1>(index);
  }
  throw Fault(FaultKind::internal, "ncemu", "no operand form {}", index);
}

}  // namespace

bool operator==(const Instruction& a, const Instruction& b) {
  return a.opcode == b.opcode && a.wait == b.wait && a.update == b.update && a.operands == b.operands;
}

std::span<const InstructionInfo> all_instructions() { return table; }

const InstructionInfo& info(Opcode opcode) {
  const InstructionInfo* found = find_instruction(static_cast<std::uint16_t>(opcode));
  ensure(found != nullptr, "every opcode has a row in the instruction table");
  return *found;
}

const InstructionInfo* find_instruction(std::uint16_t code) {
  if (code >= code_limit || by_code[code] < 0) return nullptr;
  return &table[static_cast<std::size_t>(by_code[code])];
}

const InstructionInfo* find_instruction(std::string_view mnemonic) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const InstructionInfo& row) { return row.mnemonic == mnemonic; });
  return found == table.end() ? nullptr : &*found;
}

Operands default_operands(Opcode opcode) { return make_form(info(opcode).form); }

int lanes(const Operands& operands) {
  int result = 1;
  bool found = false;
  for_each_field(operands, [&](std::string_view, const auto& field, Role) {
    using T = std::decay_t<decltype(field)>;
    const AccessPattern* pattern = nullptr;
    if constexpr (std::is_same_v<T, AccessPattern>) pattern = &field;
    if constexpr (std::is_same_v<T, MemoryOperand>) pattern = std::get_if<AccessPattern>(&field);
    if (found || pattern == nullptr) return;
    result = pattern->partitions;
    found = true;
  });
  return result;
}

Route route(const Operands& operands) {
  if (const auto* copy = std::get_if<DmaCopy>(&operands)) return {copy->queue, copy->mode};
  if (const auto* transpose = std::get_if<DmaTranspose>(&operands))
    return {transpose->queue, transpose->mode};
  const auto* compute = std::get_if<DmaCompute>(&operands);
  ensure(compute != nullptr, "only transfers have a queue and a mode");
  return {compute->queue, compute->mode};
}

AccessPattern as_pattern(const PointerOperand& pointer, int partitions) {
  AccessPattern pattern;
  pattern.space = pointer.space;
  pattern.dtype = pointer.dtype;
  pattern.partition = pointer.partition;
  pattern.partitions = static_cast<std::uint8_t>(partitions);
  pattern.offset = pointer.offset;
  pattern.place = pointer.place;
  return pattern;
}

}  // namespace ncemu
