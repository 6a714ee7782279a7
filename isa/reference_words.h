#pragma once

// The parts of a reference page that follow from the tables and from the rules: what an operand may be, which
// values its words may have, what operators and functions compute.

#include <string>
#include <string_view>

#include "isa/instruction.h"

namespace ncemu::reference {

inline constexpr std::size_t page_width = 100;

// Breaks after blanks so that no line is longer than the page; continuation lines are indented.
std::string wrapped(std::string_view text, std::size_t indent);

std::string_view cost_words(CostClass cost);

// One line per operand, or more where a word has many values. A value that the rules refuse on every engine
// of the row is left out; where engines differ, each has its list.
std::string operand_lines(const InstructionInfo& row);

// The operators and functions that those lists name, with their formulas; empty if there are none.
std::string operator_lines(const InstructionInfo& row);
std::string function_lines(const InstructionInfo& row);

}  // namespace ncemu::reference
