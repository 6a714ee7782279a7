#pragma once

// What a check sees of one instruction, and where it reports (rules.h, rules.def).

#include <fmt/format.h>

#include <array>
#include <span>

#include "isa/rules.h"

namespace ncemu::check {

// An on-chip pattern of the instruction, or a pointer operand as the pattern of its lanes.
struct OnChip {
  std::string_view name;
  AccessPattern pattern;
  Role role = Role::value;
  bool pointer = false;
};

struct InHbm {
  std::string_view name;
  HbmPattern pattern;
  Role role = Role::value;
};

// Collects the operands once. No form has more patterns and pointers than `capacity`.
class Context {
 public:
  Context(const Instruction& instruction, Engine engine, const Target& target, const Program* program,
          std::vector<Violation>& violations);

  const Instruction& instruction;
  const InstructionInfo& row;
  const Engine engine;
  const Target& target;
  const Program* const program;

  std::span<const OnChip> on_chip() const { return {on_chip_.data(), on_chip_count_}; }
  std::span<const InHbm> in_hbm() const { return {in_hbm_.data(), in_hbm_count_}; }
  bool v2() const { return target.generation == 2; }

  // The operands, in the form of the rule; the rule's row names it.
  template <typename Form>
  const Form& operands() const {
    return std::get<Form>(instruction.operands);
  }

  template <typename... Args>
  void broken(std::string_view operand, fmt::format_string<Args...> text, Args&&... args) {
    violations_.push_back({std::string(operand), fmt::format(text, std::forward<Args>(args)...),
                           rule_->sentence, rule_->section});
  }
  void apply(const Rule& rule, void (*check)(Context&)) {
    rule_ = &rule;
    check(*this);
  }

 private:
  // dma_compute has the most: a destination and its sources.
  static constexpr std::size_t capacity = 1 + DmaCompute::most_sources;
  void add(const OnChip& operand);

  std::array<OnChip, capacity> on_chip_;
  std::array<InHbm, capacity> in_hbm_;
  std::size_t on_chip_count_ = 0, in_hbm_count_ = 0;
  std::vector<Violation>& violations_;
  const Rule* rule_ = nullptr;
};

// Elements (per partition, on chip) of a pattern that may be nonsense: saturates instead of overflowing.
template <typename Pattern>
std::int64_t elements_of(const Pattern& pattern) {
  constexpr std::int64_t plenty = std::int64_t{1} << 48;
  std::int64_t n = 1;
  for (const auto& d : pattern.dims)
    n = n != 0 && static_cast<std::int64_t>(d.count) > plenty / n ? plenty
                                                                  : n * static_cast<std::int64_t>(d.count);
  return n;
}

#define RULE(name, section, applies, sentence) void name(Context& c);
#include "isa/rules.def"
#undef RULE

}  // namespace ncemu::check
