#pragma once

// The rows of emu/parameters.def as something to iterate over. Private to the two files that read and
// write configurations.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "emu/machine_config.h"
#include "isa/fault.h"

namespace ncemu::parameter_table {

enum class Rule : std::uint8_t { positive, zero_or_more, text };

struct Row {
  std::size_t index;
  std::string_view key;      // "vector.ii_gap"
  std::string_view section;  // "vector"
  std::string_view name;     // "ii_gap"
  std::string_view unit;
  Rule rule;
  std::string_view description;
};

// visit(row, member) for every parameter, in the table's order.
template <typename Config, typename Visit>
void for_each(Config& config, Visit&& visit) {
  std::size_t index = 0;
#define TARGET_PARAMETER(name, type, unit, rule, description) \
  visit(Row{index++, "target." #name, "target", #name, unit, Rule::rule, description}, config.target.name);
#define PARAMETER(section, name, type, unit, rule, description)                           \
  visit(Row{index++, #section "." #name, #section, #name, unit, Rule::rule, description}, \
        config.section.name);
#include "emu/parameters.def"
}

// A value as it was written.
using Value = std::variant<std::int64_t, double, std::string>;

// Checks type and rule and stores the value. `where` is for the message.
void assign(MachineConfig& config, const Row& row, const Value& value, const std::string& where);

// What no single row can tell: the members fit together and the model can run them.
void check_whole(const MachineConfig& config, const std::string& where);

// The key nearest to `key` as a question, or nothing: " (did you mean \"vector.ii_gap\"?)".
std::string suggest_key(std::string_view key);

}  // namespace ncemu::parameter_table
