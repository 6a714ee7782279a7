#include "isa/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>

#include "isa/comparison.h"

namespace ncemu {
namespace {

constexpr std::uint32_t canonical_nan = 0x7FC00000;

// Reads back to the same bits and never looks like an integer. The reader rounds text to double and then
// to f32; where that would round twice, all digits of the double are written.
std::string print_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return bits == canonical_nan ? "nan" : fmt::format("bits(0x{:08x})", bits);
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  double read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  if (std::bit_cast<std::uint32_t>(static_cast<float>(read)) != bits)
    text = fmt::format("{:.17g}", double{value});
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string print_register(Register r) { return fmt::format("r{}", r.number); }

// "[[step, num], ...]", slowest first. Unit dimensions at the slow end say nothing and are dropped.
template <typename Dims>
std::string print_dims(const Dims& dims) {
  std::size_t rank = dims.size();
  while (rank > 0 && dims[rank - 1] == std::decay_t<decltype(dims[0])>{}) --rank;
  std::string text = "[";
  for (std::size_t i = rank; i > 0; --i) {
    text += fmt::format("{}[{}, {}]", i == rank ? "" : ", ", dims[i - 1].step, dims[i - 1].count);
  }
  return text + "]";
}

template <typename Pattern>
std::string print_index(const Pattern& p) {
  return p.index.present() ? fmt::format(", {}, {}", print_register(p.index), p.index_step) : "";
}

std::string print_pattern(const AccessPattern& p) {
  return fmt::format(".ap({}, {}, {}, {}, {}, {}{})", name(p.space), name(p.dtype), p.partition, p.partitions,
                     p.offset, print_dims(p.dims), print_index(p));
}

std::string print_pattern(const HbmPattern& p, const Program& program) {
  const std::string tensor = p.tensor < program.tensors.size() ? program.tensors[p.tensor].name
                                                               : fmt::format("<tensor {}>", p.tensor);
  return fmt::format(".hbm({}, {}, {}, {}{})", tensor, name(p.dtype), p.offset, print_dims(p.dims),
                     print_index(p));
}

// Writes one field of a form; `lanes` is the partition count of pointer operands.
struct FieldText {
  const Program& program;
  int lanes;

  std::string operator()(const AccessPattern& p) const { return print_pattern(p); }
  std::string operator()(const std::optional<AccessPattern>& p) const {
    return p ? print_pattern(*p) : "none";
  }
  std::string operator()(const ArrayPair& a) const { return fmt::format("[{}, {}]", a.row, a.column); }
  std::string operator()(const ShuffleMask& m) const {
    return fmt::format("[{}]", fmt::join(m.source, ", "));
  }
  std::string operator()(const HbmPattern& p) const { return print_pattern(p, program); }
  std::string operator()(const PointerOperand& p) const { return print_pattern(as_pattern(p, lanes)); }
  std::string operator()(const AffineDims& a) const { return print_dims(a.dims); }
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(Register r) const { return r.present() ? print_register(r) : "none"; }
  std::string operator()(BranchTarget t) const { return fmt::format("L{}", t.index); }
  std::string operator()(float v) const { return print_float(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  template <typename... T>
  std::string operator()(const std::variant<T...>& v) const {
    return std::visit(*this, v);
  }
  template <typename T>
  std::string operator()(T v) const {
    if constexpr (std::is_enum_v<T>) {
      return std::string(name(v));
    } else {
      return fmt::format("{}", v);
    }
  }
};

template <typename T>
constexpr bool is_memory = std::is_same_v<T, AccessPattern> || std::is_same_v<T, MemoryOperand>;
template <typename T>
constexpr bool is_positional = is_memory<T> || std::is_same_v<T, Register> || std::is_same_v<T, IntOperand>;

struct FieldLine {
  std::string_view name;
  std::string text;
  bool positional;
  bool memory;
};

std::vector<FieldLine> field_lines(const Operands& operands, const Program& program, int lane_count) {
  std::vector<FieldLine> lines;
  const FieldText text{program, lane_count};
  for_each_field(operands, [&](std::string_view field, const auto& value, Role) {
    using T = std::decay_t<decltype(value)>;
    lines.push_back({field, text(value), is_positional<T>, is_memory<T>});
  });
  return lines;
}

std::string print_wait(const Wait& wait) {
  const std::string value =
      wait.value_is_register ? fmt::format("r{}", wait.value) : fmt::format("{}", wait.value);
  return fmt::format("wait S[{}] {} {}", wait.semaphore, sign(wait.condition), value);
}

std::string update_text(const Update& u) {
  switch (u.operation) {
    case UpdateOperation::none: return "";
    case UpdateOperation::sem_inc: return fmt::format("S[{}] ++", u.semaphore);
    case UpdateOperation::sem_dec: return fmt::format("S[{}] --", u.semaphore);
    case UpdateOperation::sem_add_imm: return fmt::format("S[{}] += {}", u.semaphore, u.value);
    case UpdateOperation::sem_sub_imm: return fmt::format("S[{}] -= {}", u.semaphore, u.value);
    case UpdateOperation::sem_wr_imm: return fmt::format("S[{}] = {}", u.semaphore, u.value);
    case UpdateOperation::evt_set: return fmt::format("E[{}] set", u.semaphore);
    case UpdateOperation::evt_clr: return fmt::format("E[{}] clear", u.semaphore);
  }
  return "";
}

std::string_view kind_directive(TensorKind kind) {
  switch (kind) {
    case TensorKind::input: return ".input";
    case TensorKind::output: return ".output";
    case TensorKind::inout: return ".inout";
    case TensorKind::scratch: return ".hbm";
    case TensorKind::constant: return ".const";
  }
  return "";
}

std::string print_tensor(const Tensor& tensor) {
  std::string text = fmt::format("{} {} : {}[", kind_directive(tensor.kind), tensor.name, name(tensor.dtype));
  for (std::size_t i = 0; i < tensor.shape.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", tensor.shape[i]);
  text += "]";
  if (tensor.kind != TensorKind::constant) return text + "\n";
  text += " = bits [";
  const auto width = static_cast<std::size_t>(size_of(tensor.dtype));
  for (std::size_t at = 0; at + width <= tensor.data.size(); at += width) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < width; ++i)
      bits |= std::to_integer<std::uint32_t>(tensor.data[at + i]) << (8 * i);
    text += fmt::format("{}0x{:0{}x}", at == 0 ? "" : ", ", bits, 2 * width);
  }
  return text + "]\n";
}

std::set<std::uint32_t> branch_targets(const std::vector<Instruction>& stream) {
  std::set<std::uint32_t> targets;
  for (const Instruction& instruction : stream) {
    for_each_field(instruction.operands, [&](std::string_view, const auto& value, Role) {
      if constexpr (std::is_same_v<std::decay_t<decltype(value)>, BranchTarget>) targets.insert(value.index);
    });
  }
  return targets;
}

}  // namespace

std::string print(const Instruction& instruction, Engine, const Program& program) {
  const InstructionInfo& row = info(instruction.opcode);
  const int lane_count = lanes(instruction.operands);
  const auto lines = field_lines(instruction.operands, program, lane_count);
  Operands plain = default_operands(instruction.opcode);
  if (auto* compute = std::get_if<DmaCompute>(&plain)) {
    compute->sources.resize(std::get<DmaCompute>(instruction.operands).sources.size());
  }
  const auto defaults = field_lines(plain, program, lane_count);

  // Registers and integers are left out where each has its default (an unconditional branch). A transfer's
  // queue and mode are always written: the assembler's defaults depend on the context.
  bool write_positional = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].memory || (lines[i].positional && lines[i].text != defaults[i].text))
      write_positional = true;
  }
  std::string text(row.mnemonic);
  std::string_view separator = " ";
  for (const bool positional : {true, false}) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].positional != positional) continue;
      if (positional && !write_positional) continue;
      const bool routes = row.is_dma() && (lines[i].name == "queue" || lines[i].name == "mode");
      if (!positional && !routes && lines[i].text == defaults[i].text) continue;
      if (!positional) text += fmt::format("{}{} = {}", separator, lines[i].name, lines[i].text);
      if (positional) text += fmt::format("{}{}", separator, lines[i].text);
      separator = ", ";
    }
  }
  if (instruction.wait.present()) text += " " + print_wait(instruction.wait);
  if (instruction.update.present()) {
    text += fmt::format(" signal {} @{}", update_text(instruction.update), name(instruction.update.when));
  }
  return text;
}

std::string disassemble(const Program& program) {
  std::string text;
  if (!program.name.empty()) text += fmt::format("# {}\n", program.name);
  text += fmt::format(".machine {}\n", program.target.machine);
  const auto known = find_target(program.target.machine);
  const std::string difference =
      known ? first_difference(*known, program.target) : "not a machine of this program";
  if (!difference.empty())
    text += fmt::format("# assembled for another {}: {}\n", program.target.machine, difference);
  text += ".sync manual\n.tables manual\n";
  if (!program.tensors.empty()) text += "\n";
  for (const Tensor& tensor : program.tensors) text += print_tensor(tensor);

  for (const Engine engine : all_engines) {
    const auto& stream = program.stream(engine);
    if (stream.empty()) continue;
    const auto targets = branch_targets(stream);
    text += fmt::format("\n.engine {}\n", name(engine));
    for (std::uint32_t i = 0; i <= stream.size(); ++i) {
      if (targets.contains(i)) text += fmt::format("L{}:\n", i);
      if (i < stream.size()) text += fmt::format("  {}\n", print(stream[i], engine, program));
    }
    text += ".end\n";
  }
  return text;
}

}  // namespace ncemu
