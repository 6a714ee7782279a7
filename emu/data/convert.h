#pragma once

// Vectorised conversions between element types and fp32, bit for bit those of isa/number.h, on
// every Highway target. Contiguous elements; source and destination may not overlap. To fp32, fp32 keeps
// the payload of a NaN; from fp32, every NaN becomes the type's canonical one.

#include <cstddef>
#include <cstdint>

#include "isa/types.h"

namespace ncemu {

void to_f32(DType type, const std::byte* source, float* destination, std::size_t count);
void from_f32(DType type, const float* source, std::byte* destination, std::size_t count);

// Raw bits of integer types as 32-bit integers (sign- or zero-extended) and back (truncated): the bitvec
// class.
void to_u32(DType type, const std::byte* source, std::uint32_t* destination, std::size_t count);
void from_u32(DType type, const std::uint32_t* source, std::byte* destination, std::size_t count);

}  // namespace ncemu
