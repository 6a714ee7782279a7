#pragma once

// The number formats of datasheet section 4, one value at a time: the definition that the vector
// code of emu/data/convert.h must match bit for bit.

#include <cstdint>

#include "isa/types.h"

namespace ncemu {

// A binary floating-point format of at most 32 bits: sign, exponent, mantissa.
struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;  // the IEEE convention; without it only the all-ones code is NaN

  constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t infinity() const { return ((1U << exponent_bits) - 1) << mantissa_bits; }
  constexpr std::uint32_t nan() const {
    return has_infinity ? infinity() | (1U << (mantissa_bits - 1)) : sign_bit() - 1;
  }
  // What a number too large becomes, without its sign.
  constexpr std::uint32_t overflow() const { return has_infinity ? infinity() : nan(); }
  // Magnitudes above this code are NaN.
  constexpr std::uint32_t last_number() const { return has_infinity ? infinity() : nan() - 1; }
};

// Datasheet 4.1 and 4.2; e5m2 and e3m4 with infinities: assumed. Integer types have none: all zero.
constexpr FloatFormat float_format(DType type) {
  switch (type) {
    // clang-format off
    //                         exponent  mantissa  bias  infinity
    case DType::f32:      return {    8,       23,  127,     true};
    case DType::tf32:     return {    8,       10,  127,     true};
    case DType::bf16:     return {    8,        7,  127,     true};
    case DType::f16:      return {    5,       10,   15,     true};
    case DType::f8e5m2:   return {    5,        2,   15,     true};
    case DType::f8e4m3:   return {    4,        3,    7,     true};
    case DType::f8e3m4:   return {    3,        4,    3,     true};
    case DType::f8e4m3fn: return {    4,        3,    7,    false};
    case DType::i8: case DType::i16: case DType::i32: case DType::u8: case DType::u16: case DType::u32: break;
      // clang-format on
  }
  return {};
}

// tf32 is the top 19 bits of a 32-bit container (datasheet 4.1, assumed).
inline constexpr int tf32_dropped_bits = 13;

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
