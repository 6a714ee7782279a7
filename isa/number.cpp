#include "isa/number.h"

#include <bit>
#include <cmath>
#include <limits>

#include "isa/fault.h"

namespace ncemu {
namespace {

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

std::uint32_t encode(const FloatFormat& to, float value) {
  if (std::isnan(value)) return to.nan();
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 ? to.sign_bit() : 0;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t overflow = to.has_infinity ? to.overflow() | sign : to.overflow();
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

float decode(const FloatFormat& from, std::uint32_t bits) {
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
  const std::uint32_t code = encode(float_format(type), value);
  return type == DType::tf32 ? code << tf32_dropped_bits : code;
}

float from_bits(DType type, std::uint32_t bits) {
  if (is_integer(type)) return static_cast<float>(integer_from_bits(type, bits));
  if (type == DType::f32) return std::bit_cast<float>(bits);
  return decode(float_format(type), type == DType::tf32 ? bits >> tf32_dropped_bits : bits);
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
