#include "isa/reference_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "isa/rules.h"

namespace ncemu::reference {
namespace {

// ---- what the rules allow -------------------------------------------------------------------

// One engine of one generation of the row.
struct Place {
  Engine engine;
  Target target;
};
std::vector<Place> places(const InstructionInfo& row) {
  std::vector<Place> all;
  for (const char* machine : {"trn1", "trn2"}) {
    const Target target = *find_target(machine);
    for (const Engine e : all_engines) {
      if (row.engines(target.generation).contains(e)) all.push_back({e, target});
    }
  }
  return all;
}

// Does a rule object to this operand itself, all others being as they are by default?
bool allowed(const InstructionInfo& row, const Operands& operands, std::string_view operand,
             const Place& place) {
  Instruction instruction;
  instruction.opcode = row.opcode;
  instruction.operands = operands;
  std::vector<Violation> violations;
  check_instruction(instruction, place.engine, place.target, nullptr, violations);
  return std::none_of(violations.begin(), violations.end(),
                      [&](const Violation& v) { return v.operand == operand; });
}

// The values of the operand that some place allows, by the places that allow them.
template <typename E>
std::vector<std::pair<E, std::vector<bool>>> values(const InstructionInfo& row, std::string_view operand) {
  const std::vector<Place> where = places(row);
  std::vector<std::pair<E, std::vector<bool>>> all;
  for (std::size_t v = 0; v < names<E>().size(); ++v) {
    const E value = static_cast<E>(v);
    Operands operands = default_operands(row.opcode);
    for_each_field(operands, [&](std::string_view name, auto& field, Role) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, E>) {
        if (name == operand) field = value;
      }
    });
    std::vector<bool> by_place;
    for (const Place& place : where) by_place.push_back(allowed(row, operands, operand, place));
    if (std::count(by_place.begin(), by_place.end(), true) > 0) all.push_back({value, by_place});
  }
  return all;
}

template <typename E>
std::string list_of(const std::vector<std::pair<E, std::vector<bool>>>& all, std::size_t place) {
  std::string text;
  for (const auto& [value, by_place] : all) {
    if (by_place[place]) text += fmt::format("{}{}", text.empty() ? "" : " ", name(value));
  }
  return text;
}

template <typename E>
std::string choices(const InstructionInfo& row, std::string_view operand, E chosen) {
  const std::vector<Place> where = places(row);
  const auto all = values<E>(row, operand);
  // Engines by list, and each engine's generations.
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;
  std::set<std::string> engines;
  for (std::size_t p = 0; p < where.size(); ++p) {
    const std::string list = list_of(all, p);
    auto at = std::find_if(lists.begin(), lists.end(), [&](const auto& l) { return l.first == list; });
    if (at == lists.end()) at = lists.insert(lists.end(), {list, {}});
    at->second.push_back(fmt::format("{} v{}", name(where[p].engine), where[p].target.generation));
  }
  std::string text;
  for (const auto& [list, at] : lists) {
    if (list.empty()) continue;
    if (lists.size() == 1) {
      text = "one of " + list;
      break;
    }
    std::string who;
    for (const std::string& one : at) {
      const std::string engine = one.substr(0, one.find(' '));
      const bool both = std::count_if(at.begin(), at.end(), [&](const std::string& other) {
                          return other.substr(0, other.find(' ')) == engine;
                        }) == 2;
      const std::string words = both ? engine : one;
      if (who.find(words) == std::string::npos) who += (who.empty() ? "" : ", ") + words;
    }
    text += fmt::format("{}on {}: {}", text.empty() ? "" : "; ", who, list);
  }
  return fmt::format("{}; default {}", text, name(chosen));
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

// Which memories hold a tile of the instruction (datasheet 3.4).
std::string tile_words(const InstructionInfo& row, Role role) {
  const EngineSet engines = row.engines(3);
  if (engines == EngineSet(Engine::gpsimd)) return "tile in SBUF";
  if (engines == EngineSet(Engine::tensor)) return role == Role::write ? "tile in PSUM" : "tile in SBUF";
  return engines.contains(Engine::gpsimd) ? "tile in SBUF or PSUM (on gpsimd: SBUF)" : "tile in SBUF or PSUM";
}

// The type of an operand, with its default, in words.
struct OperandWords {
  const InstructionInfo& row;
  std::string_view operand;
  Role role;

  std::string operator()(const AccessPattern&) const { return tile_words(row, role); }
  std::string operator()(const std::optional<AccessPattern>&) const {
    return tile_words(row, role) + ", may be left out";
  }
  std::string operator()(const ArrayPair& a) const {
    return fmt::format("[row, column], default [{}, {}]", a.row, a.column);
  }
  std::string operator()(const ShuffleMask&) const {
    return "list of 32 source lanes, 255: unchanged; default all 0";
  }
  std::string operator()(const MemoryOperand&) const {
    if (!row.is_dma()) return "one element of a tile in SBUF or of a tensor in HBM";
    return role == Role::write ? "tile in SBUF or tensor in HBM" : "tile in SBUF (or PSUM) or tensor in HBM";
  }
  std::string operator()(const AffineDims&) const {
    return "[[step, count], ...], at most four, slowest first; default []: one value";
  }
  std::string operator()(Register) const { return "register"; }
  std::string operator()(const IntOperand&) const { return "integer or register"; }
  std::string operator()(BranchTarget) const { return "label"; }
  std::string operator()(const ScalarOperand& s) const {
    // A row's index and the place of a result are tiles; a fill is none.
    const bool only_tile = role == Role::write || (row.is_dma() && operand == "index");
    std::string text = only_tile                      ? "[P, 1] tile"
                       : row.opcode == Opcode::memset ? "number or register"
                                                      : "number, register or [P, 1] tile";
    if (const auto* f = std::get_if<float>(&s)) text += fmt::format(", default {:.1f}", *f);
    return std::holds_alternative<std::monostate>(s) ? text + ", may be left out" : text;
  }
  std::string operator()(float v) const { return fmt::format("f32, default {:.1f}", v); }
  std::string operator()(bool v) const { return fmt::format("true or false, default {}", v); }
  template <typename T>
  std::string operator()(T v) const {
    if constexpr (std::is_same_v<T, Bounds>) {  // which of them depends on the addresses
      return fmt::format("error or skip, default {}", name(v));
    } else if constexpr (std::is_enum_v<T>) {
      return choices(row, operand, v);
    } else {
      return fmt::format("integer, default {}", v);
    }
  }
};

// ---- formulas -------------------------------------------------------------------------------

constexpr std::string_view operator_formulas[] = {
#define OPERATOR(name, formula) formula,
#include "isa/operators.def"
#undef OPERATOR
};

#define OPERATOR(name, formula) AluOp::name,
constexpr AluOp operator_order[] = {
#include "isa/operators.def"
};
#undef OPERATOR

struct FunctionRow {
  ActivationFunction function;
  std::string_view formula, bounds;
};
constexpr FunctionRow function_rows[] = {
#define FUNCTION(name, formula, low, high, what) \
  {ActivationFunction::name, formula,            \
   #what[0] == 'm' ? "|x| in [" #low ", " #high "]" : "[" #low ", " #high "]"},
#include "isa/functions.def"
#undef FUNCTION
};

template <typename Row, std::size_t n, typename Number>
constexpr bool in_order(const Row (&rows)[n], Number number) {
  for (std::size_t i = 0; i < n; ++i) {
    if (number(rows[i]) != i) return false;
  }
  return true;
}
static_assert(in_order(operator_order, [](AluOp op) { return static_cast<std::size_t>(op); }),
              "operators.def has the order of AluOp");
static_assert(in_order(function_rows,
                       [](const FunctionRow& r) { return static_cast<std::size_t>(r.function); }),
              "functions.def has the order of ActivationFunction");

// "[0x1p-64F, 0x1p64F]" is [2^-64, 2^64].
std::string bounds_words(std::string_view bounds) {
  if (bounds.find("unbounded") != std::string_view::npos) return "all";
  std::string text;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (bounds.substr(i, 4) == "0x1p") {
      text += "2^";
      i += 3;
    } else if (bounds[i] != 'F') {
      text += bounds[i];
    }
  }
  return text;
}

}  // namespace

// Breaks after blanks so that no line is longer than `width`; continuation lines are indented.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + end > page_width) {
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

std::string operand_lines(const InstructionInfo& row) {
  std::string lines;
  std::size_t width = 12;
  const Operands operands = default_operands(row.opcode);
  for_each_field(operands,
                 [&](std::string_view name, const auto&, Role) { width = std::max(width, name.size() + 2); });
  for_each_field(operands, [&](std::string_view name, const auto& field, Role role) {
    // The defaults of a transfer's queue and mode depend on its issuer and addresses.
    std::string words = OperandWords{row, name, role}(field);
    if (row.is_dma() && (name == "queue" || name == "mode"))
      words += " in the word; in a source the assembler chooses by issuer and addresses";
    lines += fmt::format("  {:<{}}{:<7}{}\n", name, width, role_word(role), wrapped(words, width + 9));
  });
  return lines;
}

std::string operator_lines(const InstructionInfo& row) {
  std::set<AluOp> named;
  for_each_field(default_operands(row.opcode), [&](std::string_view operand, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AluOp>) {
      for (const auto& value : values<AluOp>(row, operand)) named.insert(value.first);
    }
  });
  std::string lines;
  for (const AluOp op : named)
    lines += fmt::format("  {:<21}{}\n", name(op), operator_formulas[static_cast<std::size_t>(op)]);
  return lines;
}

std::string function_lines(const InstructionInfo& row) {
  std::string lines;
  for_each_field(default_operands(row.opcode), [&](std::string_view operand, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, ActivationFunction>) {
      lines += fmt::format("  {:<23}{:<12}{:<22}{}\n", "function", "table set", "valid inputs", "value");
      for (const auto& value : values<ActivationFunction>(row, operand)) {
        const FunctionRow& f = function_rows[static_cast<std::size_t>(value.first)];
        lines += fmt::format("  {:<23}{:<12}{:<22}{}\n", name(f.function), name(table_set(f.function)),
                             bounds_words(f.bounds), f.formula);
      }
    }
  });
  return lines;
}

}  // namespace ncemu::reference
