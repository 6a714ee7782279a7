#pragma once

// Legality of one instruction on a target: datasheet 1.5, 1.6, 3 and each instruction's own
// constraints. Each rule is a sentence and a place in the datasheet (rules.def).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/program.h"

namespace ncemu {

struct Violation {
  std::string operand;       // "dst"; empty: the instruction as a whole
  std::string message;       // expected and found
  std::string_view rule;     // the rule's sentence
  std::string_view section;  // "1.5"
};

// Appends every broken rule. Tensor bounds and branch targets need the program; pass nullptr to skip them.
void check_instruction(const Instruction& instruction, Engine engine, const Target& target,
                       const Program* program, std::vector<Violation>& violations);

struct Rule {
  std::string_view section;
  std::string_view sentence;
};
std::span<const Rule> all_rules();

// The rules that an instruction of this row can break, in the table's order.
std::vector<Rule> rules_of(const InstructionInfo& row);

}  // namespace ncemu
