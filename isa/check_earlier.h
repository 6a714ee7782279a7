#pragma once

// What an instruction needs that an earlier one of its stream has to have left in registers of the engine:
// the stationary operand, the shuffle mask, match values, the function tables. Only what is certain is
// reported: past a branch, and behind a loop that may have run no round, nothing is known until it is loaded
// again.

#include "isa/diagnostics.h"
#include "isa/program.h"

namespace ncemu {

void check_earlier(const Program& program, Diagnostics& diagnostics);

}  // namespace ncemu
