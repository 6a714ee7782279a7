#pragma once

// What an expression is worth at assembly time. Values are plain data: texts point into the sources,
// arrays of tiles into the evaluator, so that copying one allocates nothing.

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "isa/access_pattern.h"
#include "isa/builder.h"
#include "isa/view.h"

namespace ncemu::language {

struct Poison {};  // of a declaration that failed: using it says nothing new

struct Text {
  std::string_view text;  // a string, or a word of an enumeration
};

struct FloatBits {
  std::uint32_t bits = 0;  // bits(0x7fc00001): an fp32 immediate by its pattern
};

// A register's value times `scale` plus `base`: an index at run time. r5 is 1 * r5 + 0.
struct Affine {
  Register reg;
  std::int64_t scale = 1;
  std::int64_t base = 0;
};

struct SemaphoreNumber {
  std::uint8_t number = 0;
};

// An array of tiles, of which `chosen` leading dimensions are indexed.
struct TileArray {
  static constexpr int max_rank = 4;
  const TileRef* ref = nullptr;
  int chosen = 0;
  std::int64_t at[max_rank] = {};
  int dynamic = -1;  // the dimension a register chooses, if any
  Affine index;
};

using Value = std::variant<std::monostate, Poison, std::int64_t, double, bool, DType, Text, FloatBits, Affine,
                           SemaphoreNumber, View, TileArray, AccessPattern, HbmPattern>;
static_assert(std::is_trivially_copyable_v<Value>);

// "the integer 5", "a view f32[128, 512]": what was found, in messages.
std::string describe(const Value& value);

inline bool is_number(const Value& v) {
  return std::holds_alternative<std::int64_t>(v) || std::holds_alternative<double>(v);
}
inline double as_double(const Value& v) {
  const auto* integer = std::get_if<std::int64_t>(&v);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(v);
}

}  // namespace ncemu::language
