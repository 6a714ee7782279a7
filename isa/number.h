#pragma once

// The number formats of datasheet section 4, one value at a time: the definition that the vector
// code of emu/data/convert.h must match bit for bit.

#include <cstdint>

#include "isa/types.h"

namespace ncemu {

// The bits of `value` in the type, in the low bytes of the result. Floats: round to nearest even,
// overflow to infinity (e4m3fn: NaN), subnormals kept, NaN canonical and quiet. Integers: round to
// nearest even, saturate, NaN to 0 (datasheet 4.4).
std::uint32_t to_bits(DType type, float value);

// The value of the low bytes of `bits`. Exact for floats; integers round to nearest even (datasheet 4.4).
// tf32 reads the top 19 bits of its container. NaN becomes the canonical quiet NaN, but fp32 keeps its bits.
float from_bits(DType type, std::uint32_t bits);

// Integer literal to an integer type: saturates. For assembler constants.
std::uint32_t integer_to_bits(DType type, std::int64_t value);
std::int64_t integer_from_bits(DType type, std::uint32_t bits);

}  // namespace ncemu
