#pragma once

// Random legal programs in text order: all engines, tiles that share and overlap, arrays indexed by
// registers, transfers in all directions, accumulation in PSUM, loops, hand-written blocks. The same seed
// gives the same program.

#include <cstdint>
#include <string>
#include <string_view>

#include "isa/program.h"

namespace ncemu::test {

// A machine as we have it, but with memories just large enough, so that thousands of runs are cheap.
Target small_target(std::string_view machine);

struct RandomProgramOptions {
  Target target = small_target("trn1");
  int instructions = 50;  // about; one more per loop and register set-up
  bool loops = true;
  bool blocks = true;     // hand-written blocks
  bool registers = true;  // register_load, register_store, operands moved by registers
};

// Placed, with table loads, not yet synchronised. Throws Fault(internal) should the rules object.
Program random_program(std::uint64_t seed, const RandomProgramOptions& options = {});

// The text order with its loops and blocks, one instruction per line.
std::string listing(const Program& program);

}  // namespace ncemu::test
