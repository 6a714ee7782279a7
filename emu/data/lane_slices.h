#pragma once

// An instruction whose lanes have nothing to do with each other does the same as several instructions with
// some of its lanes each: in any order, or at the same time.

#include "emu/data/state.h"

namespace ncemu {

// Executes the instruction in slices on state.workers if it can be cut and is large enough to be worth it.
// False: nothing has happened. `run` is what executes an instruction.
bool execute_in_slices(const Instruction& instruction, Engine engine, State& state,
                       void (*run)(const Instruction&, Engine, State&));

}  // namespace ncemu
