#pragma once

// Comments that allow what a check would report:
//
//   # ncemu: allow races, "both write the same zeros"
//
// behind a statement for that statement, on a line of its own for the next statement. Several checks are
// separated by commas; the reason is not optional. Which checks there are is the checker's business.

#include <vector>

#include "isa/asm/report.h"
#include "isa/program.h"

namespace ncemu::language {

// Those of one file, in its order; `Allowance::file` is left to the caller. Reports what begins with
// "ncemu:" and is no such comment.
std::vector<Allowance> find_allowances(const Sources& sources, std::uint32_t file, Reporter& reporter);

}  // namespace ncemu::language
