#pragma once

// Values of memory as text, in the manner of numpy: nested brackets, "..." in the middle of large arrays.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/data/state.h"

namespace ncemu::command {

// The bytes an operand reads, in stream order; it must be resolved.
std::vector<std::byte> read_operand(const MemoryOperand& operand, const State& state);
// Its shape, slowest first, as far as the pattern still knows it: [partitions, free...] on chip.
std::vector<std::int64_t> shape_of(const MemoryOperand& operand);
DType dtype_of(const MemoryOperand& operand);

// Arrays of more than 1,000 elements show three at either end of each dimension, rows break at 100 columns.
std::string show_array(DType dtype, std::span<const std::byte> bytes, std::span<const std::int64_t> shape);

// "at[0:4, :] : f8e4m3[4, 512]" and the values.
std::string show(const std::string& label, const MemoryOperand& operand, const State& state);

}  // namespace ncemu::command
