#include "tools/trace/labels.h"

#include <fmt/format.h>

#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "tools/trace/operand_text.h"

namespace ncemu {
namespace {

class Interner {
 public:
  explicit Interner(std::vector<std::string>& texts) : texts_(texts) {}
  Labels::Text operator()(std::string_view text) {
    const auto [found, added] = ids_.try_emplace(std::string(text), static_cast<Labels::Text>(texts_.size()));
    if (added) texts_.emplace_back(text);
    return found->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, Labels::Text> ids_;
};

// The bytes by which patterns are told apart; comparing them leaves out the place, which the text shows.
template <typename... Fields>
void append(std::string& key, const Fields&... fields) {
  static_assert((std::is_trivially_copyable_v<Fields> && ...));
  (key.append(reinterpret_cast<const char*>(&fields), sizeof fields), ...);
}
std::string key_of(const AccessPattern& p) {
  std::string key = "c";
  append(key, p.space, p.dtype, p.partition, p.partitions, p.offset, p.index.number, p.place, p.index_step);
  for (const Dim& d : p.dims) append(key, d.step, d.count);
  return key;
}
std::string key_of(const HbmPattern& p) {
  std::string key = "h";
  append(key, p.tensor, p.dtype, p.index.number, p.index_step, p.offset);
  for (const HbmDim& d : p.dims) append(key, d.step, d.count);
  return key;
}

template <typename E>
concept Named = std::is_enum_v<E> && requires(E e) {
  name(e);
};

// Reads the fields of one instruction.
class Reader {
 public:
  Reader(const Program& program, Interner& intern) : program_(program), intern_(intern) {}

  std::vector<Labels::Operand> operands(const Instruction& instruction) {
    operands_.clear();
    options_.clear();
    for_each_field(instruction.operands, *this);
    if (!options_.empty()) operands_.push_back({.name = intern_("with"), .value = intern_(options_)});
    return std::move(operands_);
  }

  // One function for all types: overloads would convert numbers into the variants.
  template <typename T>
  void operator()(std::string_view field, const T& value, Role) {
    if constexpr (std::is_same_v<T, AccessPattern>) {
      add(field, value);
    } else if constexpr (std::is_same_v<T, std::optional<AccessPattern>>) {
      if (value) add(field, *value);
    } else if constexpr (std::is_same_v<T, MemoryOperand> || std::is_same_v<T, ScalarOperand> ||
                         std::is_same_v<T, IntOperand>) {
      std::visit([&](const auto& v) { (*this)(field, v, Role::value); }, value);
    } else if constexpr (std::is_same_v<T, HbmPattern>) {
      add(field, value);
    } else if constexpr (std::is_same_v<T, PointerOperand>) {
      add(field, as_pattern(value, 1));
    } else if constexpr (std::is_same_v<T, Register>) {
      if (value.present()) option(field, fmt::format("r{}", value.number));
    } else if constexpr (Named<T>) {
      option(field, name(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (value != T{}) option(field, fmt::format("{}", value));
    }
    // What is left is too long for a label: masks, patterns of values, branch targets.
  }

 private:
  template <typename Pattern>
  void add(std::string_view field, const Pattern& pattern) {
    const auto [found, added] = patterns_.try_emplace(key_of(pattern), Labels::Text{0});
    if (added) found->second = intern_(operand_text(pattern, program_));
    operands_.push_back({.name = intern_(field), .value = found->second});
  }
  void option(std::string_view field, std::string_view value) {
    options_ += fmt::format("{}{}={}", options_.empty() ? "" : " ", field, value);
  }

  const Program& program_;
  Interner& intern_;
  std::unordered_map<std::string, Labels::Text> patterns_;
  std::vector<Labels::Operand> operands_;
  std::string options_;
};

}  // namespace

Labels::Labels(const Program& program) {
  Interner intern(texts_);
  Reader reader(program, intern);
  for (int e = 0; e < engine_count; ++e) {
    for (const Instruction& instruction : program.stream(static_cast<Engine>(e))) {
      mnemonics_.push_back(intern(info(instruction.opcode).mnemonic));
      sites_.push_back(instruction.site);
      const std::vector<Operand> operands = reader.operands(instruction);
      operands_.insert(operands_.end(), operands.begin(), operands.end());
      begin_.push_back(static_cast<std::uint32_t>(operands_.size()));
    }
    first_[static_cast<std::size_t>(e) + 1] = static_cast<std::uint32_t>(mnemonics_.size());
  }
}

}  // namespace ncemu
