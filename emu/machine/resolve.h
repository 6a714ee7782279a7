#pragma once

// Registers of a sequencer, and operands that name them. Resolving replaces each register by its value at
// issue; where a register moves an operand, the operand must stay inside its tile or tensor.

#include <array>
#include <cstdint>

#include "isa/program.h"

namespace ncemu {

using Registers = std::array<std::int32_t, 64>;  // datasheet 2.2: 64 x 32 bits, 0 at the start

// True when a pattern or a scalar of the operands, or the wait, names a register. The registers that control
// instructions compute with do not count.
bool needs_resolving(const Instruction& instruction);

// The counter value the wait compares with. Throws Fault(program) when the register holds none.
std::uint16_t wait_value(const Wait& wait, const Registers& registers, const Target& target);

// Replaces registers by their values, in place. Throws Fault(program), without a place, naming the operand,
// the tile or tensor, the register's value and the values that are inside. False: an operand of a transfer
// with bounds = skip would be outside, so that nothing moves; it is left where the register's value 0 has it.
bool resolve(Instruction& instruction, const Registers& registers, const Program& program);

}  // namespace ncemu
