#include "tools/trace/labels.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <functional>
#include <map>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "tools/trace/operand_text.h"

namespace ncemu {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Interner {
 public:
  explicit Interner(std::vector<std::string>& texts) : texts_(texts) {}
  Labels::Text operator()(std::string_view text) {
    const auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    const auto id = static_cast<Labels::Text>(texts_.size());
    ids_.emplace(text, id);
    texts_.emplace_back(text);
    return id;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, Labels::Text, TextHash, std::equal_to<>> ids_;
};

// The words by which patterns are told apart; comparing them leaves out the place, which the text shows.
using Key = std::array<std::uint64_t, 7>;
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t h = 0;
    for (const std::uint64_t word : key) {
      h = (h ^ word) * 0x9E37'79B9'7F4A'7C15U;
      h ^= h >> 32U;
    }
    return h;
  }
};
std::uint64_t pair_of(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32U | low; }
Key key_of(const AccessPattern& p) {
  const auto dims = std::bit_cast<std::array<std::uint64_t, 2>>(p.dims);
  const std::uint32_t kinds = static_cast<std::uint32_t>(p.space) << 8U | static_cast<std::uint32_t>(p.dtype);
  return {pair_of(kinds << 16U | p.index.number, p.offset),
          pair_of(std::uint32_t{p.partition} << 8U | p.partitions, static_cast<std::uint32_t>(p.index_step)),
          p.place, dims[0], dims[1]};
}
Key key_of(const HbmPattern& p) {
  const auto dims = std::bit_cast<std::array<std::uint64_t, 4>>(p.dims);
  return {pair_of(std::uint32_t{p.tensor} << 16U | static_cast<std::uint32_t>(p.dtype) << 8U | p.index.number,
                  static_cast<std::uint32_t>(p.index_step)),
          static_cast<std::uint64_t>(p.offset),
          dims[0],
          dims[1],
          dims[2],
          dims[3],
          1};
}

template <typename E>
concept Named = std::is_enum_v<E> && requires(E e) {
  name(e);
};

// Reads the fields of one instruction.
class Reader {
 public:
  Reader(const Program& program, Interner& intern) : program_(program), intern_(intern) {}

  // Appends them.
  void operands(const Instruction& instruction, std::vector<Labels::Operand>& to) {
    operands_ = &to;
    options_.clear();
    for_each_field(instruction.operands, *this);
    if (!options_.empty()) to.push_back({.name = intern_("with"), .value = intern_(options_)});
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
    operands_->push_back({.name = name_of(field), .value = found->second});
  }
  // Names of fields are literals.
  Labels::Text name_of(std::string_view field) {
    const auto [found, added] = names_.try_emplace(field.data(), Labels::Text{0});
    if (added) found->second = intern_(field);
    return found->second;
  }
  void option(std::string_view field, std::string_view value) {
    if (!options_.empty()) options_ += ' ';
    options_ += field;
    options_ += '=';
    options_ += value;
  }

  const Program& program_;
  Interner& intern_;
  std::unordered_map<Key, Labels::Text, KeyHash> patterns_;  // the last word tells the two kinds apart
  std::unordered_map<const char*, Labels::Text> names_;
  std::vector<Labels::Operand>* operands_ = nullptr;
  std::string options_;
};

}  // namespace

Labels::Labels(const Program& program) {
  Interner intern(texts_);
  Reader reader(program, intern);
  std::map<Opcode, Text> mnemonics;
  for (int e = 0; e < engine_count; ++e) {
    for (const Instruction& instruction : program.stream(static_cast<Engine>(e))) {
      const auto [mnemonic, added] = mnemonics.try_emplace(instruction.opcode, Text{0});
      if (added) mnemonic->second = intern(info(instruction.opcode).mnemonic);
      mnemonics_.push_back(mnemonic->second);
      sites_.push_back(instruction.site);
      reader.operands(instruction, operands_);
      begin_.push_back(static_cast<std::uint32_t>(operands_.size()));
    }
    first_[static_cast<std::size_t>(e) + 1] = static_cast<std::uint32_t>(mnemonics_.size());
  }
}

}  // namespace ncemu
