#pragma once

// The oracle: a program executed in the order of its text, one instruction at a time. It shares the
// data room with the machine and nothing else: registers, branches, loops and semaphores are its own.

#include <cstdint>
#include <functional>

#include "emu/data/state.h"
#include "isa/program.h"

namespace ncemu::test {

struct SequentialOptions {
  std::uint64_t max_instructions = 100'000'000;
  // Called after each instruction's effect, with its index in the engine's stream.
  std::function<void(Engine, std::uint32_t index, const Instruction& resolved, State&)> on_effect;
};

// The program must be placed and not yet synchronised: it refuses one without a text order. Hand-written
// blocks that stand side by side take turns in the order of the text; each runs until it ends or meets a
// wait that does not hold. Throws Fault(program) with the place for whatever cannot go on.
void run_sequentially(const Program& program, State& state, const SequentialOptions& options = {});

}  // namespace ncemu::test
