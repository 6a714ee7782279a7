#pragma once

// What an instruction touches, in the names and indices of the source: "w#1[:, 5, 0:512]" is place 1 of tile
// w, k tile 5. For people who read a trace; isa/text.h prints what assembles again.

#include <string>

#include "isa/program.h"

namespace ncemu {

// The dimensions are those of the declaration; what does not follow them is "acc+2048 [4x512 step 1]" (bytes
// from the tile's start), and a pattern without a name "sbuf[0:128]+2048 ...". Another type than the declared
// one, a register in the address and repetitions (step 0) follow behind.
std::string operand_text(const AccessPattern& pattern, const Program& program);
std::string operand_text(const HbmPattern& pattern, const Program& program);

}  // namespace ncemu
