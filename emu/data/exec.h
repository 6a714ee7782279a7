#pragma once

// One function per row of the instruction table that has an effect on data: exec::<mnemonic>. Control
// rows are declared too and defined nowhere; execute() never refers to them.

#include "emu/data/state.h"
#include "isa/instruction.h"

namespace ncemu::exec {

#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence) \
  void mnemonic(const form& operands, Engine engine, State& state);
#include "isa/instructions.def"
#undef INSTRUCTION

}  // namespace ncemu::exec
