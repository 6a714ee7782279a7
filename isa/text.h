#pragma once

// Prints instructions and whole programs in the assembly language. What it prints assembles to the
// same words, tensors and constants.

#include <string>

#include "isa/program.h"

namespace ncemu {

// One line without newline: mnemonic, positional operands, named operands that differ from their
// default, wait and signal. Registers print as r0..r63, semaphores as S[n], on-chip patterns as
// .ap(...), HBM patterns as the tensor's name with .hbm(...) raw steps, branch targets as L<index>.
// Dimensions are written slowest first. An unconditional branch has no positional operands; a transfer
// always names its queue and mode. f32 values never look like integers: 2.0, inf, nan, bits(0x7fc00001).
std::string print(const Instruction& instruction, Engine engine, const Program& program);

// A source file: .machine, tensors, `.sync manual`, one .engine block per stream with labels.
// Constants are written as literal lists of raw bits.
std::string disassemble(const Program& program);

}  // namespace ncemu
