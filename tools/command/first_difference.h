#pragma once

// `--first-difference OTHER`: two programs on the same inputs; where do their values first part?

#include <string>

#include "tools/command/execution.h"

namespace ncemu::command {

// Runs both functionally. As long as both engines' streams execute the same instructions, the effects on
// memory are compared in the first run's order; from the first instruction that is another one, only outputs
// of the same name can be compared, and the last writer of the differing element is named in both. Empty: no
// difference. Throws Fault(program) if one of the runs does not finish.
std::string first_difference(const Kernel& one, const Kernel& other, const RunRequest& request);

}  // namespace ncemu::command
