#pragma once

// The instruction reference, printed from the tables: instructions.def, the operand forms, semantics.def
// and rules.def. Nobody edits it.

#include <string>
#include <string_view>

namespace ncemu {

// Every mnemonic with its engines, generations and sentence.
std::string list_instructions();

// Throws Fault(input) with the nearest mnemonic if there is none of this name.
std::string reference_page(std::string_view mnemonic);

// The declarations that the examples on the pages stand on, and the example of one page.
std::string_view example_declarations();
std::string_view example(std::string_view mnemonic);

}  // namespace ncemu
