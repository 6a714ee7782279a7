#include "isa/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "isa/reference_words.h"
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
    ".input numbers : i32[16]\n"
    ".hbm counts : i32[16]\n"
    ".sbuf x : f32[128, 512]\n"
    ".sbuf y : f32[128, 512]\n"
    ".sbuf z : f32[128, 512]\n"
    ".sbuf i : i32[128, 512]\n"
    ".sbuf b : bf16[128, 512]\n"
    ".sbuf w : bf16[128, 128]\n"
    ".sbuf s : f32[128, 1]\n"
    ".sbuf u : u8[128, 512]\n"
    ".sbuf v : f32[128, 8]\n"
    ".sbuf places : u32[128, 8]\n"
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

std::string indented(std::string_view text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result + "\n";
}

// The lines of the declarations whose names the example mentions.
std::string declarations_of(std::string_view example) {
  const auto part_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto mentions = [&](std::string_view name) {
    for (std::size_t at = example.find(name); at != std::string_view::npos; at = example.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool starts = at == 0 || !part_of_name(example[at - 1]);
      if (starts && (end == example.size() || !part_of_name(example[end]))) return true;
    }
    return false;
  };
  std::string lines;
  for (std::string_view rest = declarations; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    const std::size_t from = line.find(' ') + 1;
    if (mentions(line.substr(from, line.find(' ', from) - from))) lines += std::string(line) + "\n";
  }
  return lines;
}

// How the words of the semantics are meant.
std::string notation(const InstructionInfo& row) {
  if (row.is_control()) return {};
  if (row.is_dma()) {
    return "i counts elements in stream order, the last dimension fastest; [p] is a partition. cvt: through "
           "fp32 "
           "to the destination's type, to the nearest, halves to even; integers saturate (NaN becomes 0), "
           "floats "
           "become infinite.";
  }
  return "p is the lane: the partition within the operand; i the element in stream order, the last dimension "
         "fastest; scalar0[p] and the like a number, a register's bits or one value per lane. Every type is "
         "computed in fp32, one rounding per operation. cvt: to the destination's type, to the nearest, "
         "halves to "
         "even; integers saturate (NaN becomes 0), floats become infinite.";
}

// What may follow the operands.
std::string attributes(const InstructionInfo& row) {
  const std::string by_hand =
      "wait S >= n and signal S += n @complete, under `.sync manual` or in `.engine` blocks";
  if (row.is_dma()) return "issuer = engine, queue = 0 .. 15, mode; " + by_hand + " (a transfer counts 16)";
  const bool several = row.order_v2.size() > 1 || row.order_v3.size() > 1;
  return (several ? "engine = one of those above; " : "") + by_hand;
}

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
  text += fmt::format("\ncode  0x{:02x}\ncost  {}\n", static_cast<unsigned>(row.opcode),
                      reference::cost_words(row.cost));
  const auto section = [&](std::string_view title, const std::string& lines) {
    if (!lines.empty()) text += fmt::format("\n{}\n{}", title, lines);
  };
  section("operands", reference::operand_lines(row));
  section("semantics", indented(semantics.text));
  section("operators", reference::operator_lines(row));
  section("functions", reference::function_lines(row));
  const std::string words = notation(row);
  section("notation", words.empty() ? words : "  " + reference::wrapped(words, 2) + "\n");
  section("may follow", "  " + reference::wrapped(attributes(row), 2) + "\n");
  section("example", indented(declarations_of(semantics.example) + std::string(semantics.example)));
  std::string rules;
  for (const Rule& rule : rules_of(row))
    rules += fmt::format("  {:<8}{}\n", rule.section, reference::wrapped(rule.sentence, 10));
  section("rules", rules);
  return text;
}

}  // namespace ncemu
