#include "isa/number.h"

#include <bit>
#include <cmath>
#include <limits>

#include "isa/fault.h"

namespace ncemu {
namespace {

// A binary floating-point format of at most 32 bits: sign, exponent, mantissa.
struct Format {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;  // the IEEE convention; without it only the all-ones code is NaN (e4m3fn)

  constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t infinity() const { return ((1U << exponent_bits) - 1) << mantissa_bits; }
  constexpr std::uint32_t nan() const {
    return has_infinity ? infinity() | (1U << (mantissa_bits - 1)) : sign_bit() - 1;
  }
  // Magnitudes above this code are NaN.
  constexpr std::uint32_t last_number() const { return has_infinity ? infinity() : nan() - 1; }
};

// What lies in front of the format in its container: tf32 is the top 19 bits of 32 (datasheet 4.1, assumed).
constexpr int tf32_dropped_bits = 13;

// Datasheet 4.1 and 4.2.
Format format(DType type) {
  switch (type) {
    // clang-format off
    //                              exponent  mantissa  bias  infinity
    case DType::f32:      return {         8,       23,  127,     true};
    case DType::tf32:     return {         8,       10,  127,     true};
    case DType::bf16:     return {         8,        7,  127,     true};
    case DType::f16:      return {         5,       10,   15,     true};
    case DType::f8e5m2:   return {         5,        2,   15,     true};
    case DType::f8e4m3:   return {         4,        3,    7,     true};
    case DType::f8e3m4:   return {         3,        4,    3,     true};
    case DType::f8e4m3fn: return {         4,        3,    7,    false};
    case DType::i8: case DType::i16: case DType::i32: case DType::u8: case DType::u16: case DType::u32: break;
      // clang-format on
  }
  throw Fault(FaultKind::internal, "ncemu", "internal error: {} is not a floating-point type", name(type));
}

struct IntegerRange {
  std::int64_t low, high;
};

IntegerRange integer_range(DType type) {
  ensure(is_integer(type), "the type is an integer type");
  const int bits = 8 * size_of(type);
  const bool is_signed = type == DType::i8 || type == DType::i16 || type == DType::i32;
  if (is_signed) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, (std::int64_t{1} << bits) - 1};
}

// value / 2^shift to nearest, ties to even.
std::uint64_t round_shift(std::uint64_t value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 63) return 0;
  const std::uint64_t quotient = value >> shift;
  const std::uint64_t remainder = value - (quotient << shift);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return quotient + (remainder > half || (remainder == half && (quotient & 1U)) ? 1 : 0);
}

std::uint32_t encode(const Format& to, float value) {
  if (std::isnan(value)) return to.nan();
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 ? to.sign_bit() : 0;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t overflow = to.has_infinity ? to.infinity() | sign : to.nan();
  if (magnitude == 0x7F800000U) return overflow;
  if (magnitude == 0) return sign;

  // |value| = significand x 2^exponent.
  const bool normal = magnitude >= 0x00800000U;
  const std::uint64_t significand = normal ? (magnitude & 0x007FFFFFU) | 0x00800000U : magnitude;
  const int exponent = normal ? static_cast<int>(magnitude >> 23) - 150 : -149;
  // The target's spacing at this magnitude; below its smallest normal number the spacing stays.
  const int leading = exponent + static_cast<int>(std::bit_width(significand)) - 1;
  const int smallest_normal = 1 - to.bias;
  const int binade = leading < smallest_normal ? smallest_normal : leading;
  const std::uint64_t steps = round_shift(significand, binade - to.mantissa_bits - exponent);
  // A normal number's steps include the implicit one, worth one unit of the exponent field; so does a
  // round-up into the next binade.
  const std::uint64_t code =
      (static_cast<std::uint64_t>(binade - smallest_normal) << to.mantissa_bits) + steps;
  if (code > to.last_number()) return overflow;
  return static_cast<std::uint32_t>(code) | sign;
}

float decode(const Format& from, std::uint32_t bits) {
  const std::uint32_t magnitude = bits & (from.sign_bit() - 1);
  if (magnitude > from.last_number()) return std::numeric_limits<float>::quiet_NaN();
  const float sign = bits & from.sign_bit() ? -1.0F : 1.0F;
  if (from.has_infinity && magnitude == from.infinity()) return sign * std::numeric_limits<float>::infinity();
  const std::uint32_t mantissa = magnitude & ((1U << from.mantissa_bits) - 1);
  const int field = static_cast<int>(magnitude >> from.mantissa_bits);
  const std::uint32_t steps = field == 0 ? mantissa : mantissa | (1U << from.mantissa_bits);
  const int binade = (field == 0 ? 1 : field) - from.bias;
  return sign * std::ldexp(static_cast<float>(steps), binade - from.mantissa_bits);
}

}  // namespace

std::uint32_t to_bits(DType type, float value) {
  if (is_integer(type)) {
    if (std::isnan(value)) return 0;
    const auto [low, high] = integer_range(type);
    // A double holds every bound exactly, so that saturation compares without rounding.
    const double rounded = std::nearbyint(static_cast<double>(value));
    const std::int64_t number = rounded <= static_cast<double>(low)    ? low
                                : rounded >= static_cast<double>(high) ? high
                                                                       : static_cast<std::int64_t>(rounded);
    return integer_to_bits(type, number);
  }
  const std::uint32_t code = encode(format(type), value);
  return type == DType::tf32 ? code << tf32_dropped_bits : code;
}

float from_bits(DType type, std::uint32_t bits) {
  if (is_integer(type)) return static_cast<float>(integer_from_bits(type, bits));
  if (type == DType::f32) return std::bit_cast<float>(bits);
  return decode(format(type), type == DType::tf32 ? bits >> tf32_dropped_bits : bits);
}

std::uint32_t integer_to_bits(DType type, std::int64_t value) {
  const auto [low, high] = integer_range(type);
  const std::int64_t saturated = value < low ? low : value > high ? high : value;
  const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t{1} << (8 * size_of(type))) - 1);
  return static_cast<std::uint32_t>(saturated) & mask;
}

std::int64_t integer_from_bits(DType type, std::uint32_t bits) {
  const auto [low, high] = integer_range(type);
  const std::int64_t modulus = high - low + 1;
  const std::int64_t number = static_cast<std::int64_t>(bits) & (modulus - 1);
  return number > high ? number - modulus : number;
}

}  // namespace ncemu
