#pragma once

// What automatic synchronisation cannot take: Fault(input) at the instruction's place.

#include "isa/program.h"

namespace ncemu::autosync {

// Outside of engine blocks the text has no waits, signals or branches of its own.
void check_automatic(const Program& program, const Instruction& instruction);
// Inside of a block they must stay in the block and leave the automatic semaphores alone.
void check_by_hand(const Program& program, const Instruction& instruction, const ManualBlock& block);
// The counter must not pass the largest integer, or the loop would not end.
void check_loop(const Program& program, const Loop& loop);

}  // namespace ncemu::autosync
