#include "isa/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "isa/rules.h"

namespace ncemu {
namespace {

struct Semantics {
  std::string_view text;
  std::string_view example;
};

// A row without semantics, or semantics without a row, does not compile.
namespace semantics {
#define SEMANTICS(mnemonic, text, example)        \
  constexpr Semantics mnemonic = {text, example}; \
  static_assert(sizeof(Opcode::mnemonic) > 0);
#include "isa/semantics.def"
#undef SEMANTICS
}  // namespace semantics

constexpr Semantics rows[] = {
#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence) semantics::mnemonic,
#include "isa/instructions.def"
#undef INSTRUCTION
};

// What the examples name.
constexpr std::string_view declarations =
    ".input hx : f32[128, 512]\n"
    ".input n : i32[16]\n"
    ".hbm m : i32[16]\n"
    ".sbuf x : f32[128, 512]\n"
    ".sbuf y : f32[128, 512]\n"
    ".sbuf z : f32[128, 512]\n"
    ".sbuf i : i32[128, 512]\n"
    ".sbuf b : bf16[128, 512]\n"
    ".sbuf w : bf16[128, 128]\n"
    ".sbuf s : f32[128, 1]\n"
    ".sbuf u : u8[128, 512]\n"
    ".sbuf v : f32[128, 8]\n"
    ".sbuf k : u32[128, 8]\n"
    ".sbuf st : f32[128, 6]\n"
    ".sbuf av : f32[128, 2]\n"
    ".sbuf rows : u32[128, 1]\n"
    ".psum acc : f32[128, 512]\n";

const Semantics& semantics_of(const InstructionInfo& row) { return rows[&row - all_instructions().data()]; }

const InstructionInfo& find_row(std::string_view mnemonic) {
  if (const InstructionInfo* row = find_instruction(mnemonic)) return *row;
  std::vector<std::string_view> known;
  for (const InstructionInfo& row : all_instructions()) known.push_back(row.mnemonic);
  const std::string_view near = did_you_mean(mnemonic, known);
  throw Fault(FaultKind::input, "", "there is no instruction '{}'{}", mnemonic,
              near.empty() ? "; `ncemu isa` lists them" : fmt::format("; did you mean {}?", near));
}

std::string engine_list(std::span<const Engine> order) {
  std::string text;
  for (const Engine e : order) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(e));
  return text.empty() ? "-" : text;
}

// Datasheet 6.14; N is the number of elements per partition.
std::string_view cost_words(CostClass cost) {
  switch (cost) {
    case CostClass::control: return "one control issue of the sequencer (datasheet 2.1)";
    case CostClass::load_weights:
      return "M / 4 cycles, 2 M for fp32 and tf32, in the background of a matmul (datasheet 6.1)";
    case CostClass::matmul: return "max(64, N) cycles, twice max(64, 2 N) for fp32 (datasheet 6.1)";
    case CostClass::activation: return "one cycle per element of a partition (datasheet 6.4.1)";
    case CostClass::read_acc: return "about 64 cycles (datasheet 6.4.1)";
    case CostClass::table_load: return "a fixed time per table set (datasheet 6.4.4)";
    case CostClass::copy:
      return "one cycle per element of a partition, less in the performance modes of v3 (datasheet 6.3.1, "
             "6.0.5)";
    case CostClass::memset:
      return "one cycle per element of a partition, half for zeros of 16 bits (datasheet 6.3.3)";
    case CostClass::tensor_scalar:
      return "one cycle per element of a partition, less in the performance modes of v3 (datasheet 6.5.1, "
             "6.0.5)";
    case CostClass::tensor_tensor:
      return "one cycle per element of a partition with one input in PSUM, two with both in SBUF (datasheet "
             "6.5.2)";
    case CostClass::reduce:
      return "one cycle per source element of a partition, half for bf16 add and max (datasheet 6.6.1)";
    case CostClass::reciprocal: return "eight cycles per element of a partition (datasheet 6.5.4)";
    case CostClass::pair:
      return "one cycle per element of a partition with one input in PSUM, two with both in SBUF (datasheet "
             "6.5.3)";
    case CostClass::predicated:
      return "one cycle per element of a partition with one input in PSUM, two with both in SBUF (datasheet "
             "6.3.2, 6.6.8)";
    case CostClass::scan: return "two cycles per element of a partition (datasheet 6.6.4)";
    case CostClass::lane_stream:
      return "one cycle per element of a partition; one more instruction when reduce_res is given (datasheet "
             "6.14)";
    case CostClass::aggregate: return "13 cycles per triple of a partition (datasheet 6.6.6)";
    case CostClass::lane_registers: return "64 cycles (datasheet 6.3.4, 6.7)";
    case CostClass::gpsimd_stream: return "150 cycles and one per element of a partition (datasheet 6.8)";
    case CostClass::gpsimd_gather:
      return "150 cycles per 512 elements of a partition and eight per element (datasheet 6.8.4, assumed)";
    case CostClass::gpsimd_local_gather:
      return "150 cycles and, for indices of e elements of b bytes, (28 + 4 e) / (4 min(4 / b, e)) per index "
             "(datasheet 6.8.3)";
    case CostClass::gpsimd_partitions:
      return "300 cycles and eight per element of a partition (datasheet 6.6.9, assumed)";
    case CostClass::gpsimd_bounds: return "150 cycles and eight per element (datasheet 6.8.5, assumed)";
    case CostClass::gpsimd_nonzero:
      return "150 cycles and four per element of a partition (datasheet 6.8.6, assumed)";
    case CostClass::gpsimd_topk: return "150 + 4 n + k cycles (datasheet 6.8.7)";
    case CostClass::dma: return "by descriptors and bytes, outside the engine (datasheet 7.5)";
  }
  return "";
}

// ---- operands -------------------------------------------------------------------------------

std::string_view role_word(Role role) {
  switch (role) {
    case Role::write: return "write";
    case Role::read: return "read";
    case Role::value: return "";
  }
  return "";
}

template <typename E>
std::string choices(E chosen) {
  std::string text = "one of";
  for (const std::string_view n : names<E>()) text += fmt::format(" {}", n);
  return text + fmt::format("; default {}", name(chosen));
}

// The type of an operand, with its default, in words.
struct OperandWords {
  std::string operator()(const AccessPattern&) const { return "tile in SBUF or PSUM"; }
  std::string operator()(const std::optional<AccessPattern>&) const {
    return "tile in SBUF or PSUM, may be left out";
  }
  std::string operator()(const ArrayPair& a) const {
    return fmt::format("[row, column], default [{}, {}]", a.row, a.column);
  }
  std::string operator()(const ShuffleMask&) const {
    return "list of 32 source lanes, 255: unchanged; default all 0";
  }
  std::string operator()(const MemoryOperand&) const { return "tile or tensor in HBM"; }
  std::string operator()(const AffineDims&) const {
    return "[[step, count], ...], at most four, slowest first; default []: one value";
  }
  std::string operator()(Register) const { return "register"; }
  std::string operator()(const IntOperand&) const { return "integer or register"; }
  std::string operator()(BranchTarget) const { return "label"; }
  std::string operator()(const ScalarOperand& s) const {
    std::string text = "number, register or [P, 1] tile";
    if (const auto* f = std::get_if<float>(&s)) text += fmt::format(", default {:.1f}", *f);
    return std::holds_alternative<std::monostate>(s) ? text + ", may be left out" : text;
  }
  std::string operator()(float v) const { return fmt::format("f32, default {:.1f}", v); }
  std::string operator()(bool v) const { return fmt::format("true or false, default {}", v); }
  template <typename T>
  std::string operator()(T v) const {
    if constexpr (std::is_enum_v<T>) {
      return choices(v);
    } else {
      return fmt::format("integer, default {}", v);
    }
  }
};

// Breaks after blanks so that no line is longer than `width`; continuation lines are indented.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + end > width) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string indented(std::string_view text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result + "\n";
}

constexpr std::size_t page_width = 100;

}  // namespace

std::string_view example_declarations() { return declarations; }
std::string_view example(std::string_view mnemonic) { return semantics_of(find_row(mnemonic)).example; }

std::string list_instructions() {
  std::string text = fmt::format("{:<18}{}\n", "instruction", "engines, default first");
  for (const InstructionInfo& row : all_instructions()) {
    const std::string v2 = engine_list(row.order_v2), v3 = engine_list(row.order_v3);
    const bool everywhere = row.order_v2.size() == engine_count && row.order_v3.size() == engine_count;
    const std::string engines = everywhere ? "all" : v2 == v3 ? v2 : fmt::format("v2: {}; v3: {}", v2, v3);
    if (engines.size() < 32) {
      text += fmt::format("{:<18}{:<32}{}\n", row.mnemonic, engines, row.sentence);
    } else {
      text += fmt::format("{:<18}{}\n{:50}{}\n", row.mnemonic, engines, "", row.sentence);
    }
  }
  return text;
}

std::string reference_page(std::string_view mnemonic) {
  const InstructionInfo& row = find_row(mnemonic);
  const Semantics& semantics = semantics_of(row);
  std::string text = fmt::format("{}\n{}\n", row.mnemonic, indented(row.sentence));
  text += fmt::format("engines, default first\n  NeuronCore-v2  {}\n  NeuronCore-v3  {}\n",
                      engine_list(row.order_v2), engine_list(row.order_v3));
  text +=
      fmt::format("\ncode  0x{:02x}\ncost  {}\n", static_cast<unsigned>(row.opcode), cost_words(row.cost));

  std::string operands;
  for_each_field(default_operands(row.opcode), [&](std::string_view name, const auto& field, Role role) {
    // The defaults of a transfer's queue and mode depend on its issuer and addresses.
    std::string words = OperandWords{}(field);
    if (row.is_dma() && (name == "queue" || name == "mode"))
      words += " in the word; in a source the assembler chooses by issuer and addresses";
    operands += fmt::format("  {:<12}{:<7}{}\n", name, role_word(role), wrapped(words, 21, page_width));
  });
  if (!operands.empty()) text += fmt::format("\noperands\n{}", operands);
  text += fmt::format("\nsemantics\n{}", indented(semantics.text));
  text += fmt::format("\nexample\n{}", indented(semantics.example));
  text += "\nrules\n";
  for (const Rule& rule : rules_of(row)) {
    text += fmt::format("  {:<8}{}\n", rule.section, wrapped(rule.sentence, 10, page_width));
  }
  return text;
}

}  // namespace ncemu
