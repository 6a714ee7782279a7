#pragma once

// Checks synchronised straight-line programs against the definition, slowly: the order of events that every
// legal timing keeps, computed from the machine's promises alone, and every pair of accesses byte by byte.
// It shares nothing with isa/sync_*.

#include <string>
#include <vector>

#include "isa/program.h"

namespace ncemu::test {

// Pairs of accesses that some legal timing may exchange, in words. `text` is the placed program before
// synchronisation, `program` the same one after it; neither has loops, joins or hand-written blocks.
// `either`: two accesses that always come in the other order are fine, too.
// Large tiles are better compared by their patterns (isa/access_pattern.h) than byte by byte.
enum class Compare { bytes, patterns };
std::vector<std::string> unordered_accesses(const Program& text, const Program& program,
                                            Compare compare = Compare::bytes, bool either = false);

}  // namespace ncemu::test
