#include "tools/files/float_arrays.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "emu/data/convert.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Values at a time: they stay in the first-level cache between the passes over them.
constexpr std::size_t block = 2048;
using Block = std::array<float, block>;

// A double that fp32 cannot hold becomes infinite here, and is finite in the file.
std::size_t narrow(const std::byte* from, Block& to, std::size_t count) {
  std::size_t overflowed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double value = 0;
    std::memcpy(&value, from + 8 * i, 8);
    to[i] = static_cast<float>(value);
    constexpr std::uint64_t infinity = 0x7FF0'0000'0000'0000;
    const bool was_finite = (std::bit_cast<std::uint64_t>(value) & infinity) != infinity;
    overflowed += was_finite && (std::bit_cast<std::uint32_t>(to[i]) & 0x7F80'0000U) == 0x7F80'0000U;
  }
  return overflowed;
}

std::size_t became_infinite(const float* before, const float* after, std::size_t count) {
  constexpr std::uint32_t infinity = 0x7F80'0000;
  std::uint32_t overflowed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_finite = (std::bit_cast<std::uint32_t>(after[i]) & infinity) != infinity;
    const bool was_finite = (std::bit_cast<std::uint32_t>(before[i]) & infinity) != infinity;
    overflowed += static_cast<std::uint32_t>(was_finite && !is_finite);
  }
  return overflowed;
}

}  // namespace

ConvertedFloats convert_floats(std::span<const std::byte> data, int item_bytes, DType dtype) {
  ensure(is_float(dtype), "floats become floats");
  const auto item = static_cast<std::size_t>(item_bytes);
  const auto width = static_cast<std::size_t>(size_of(dtype));
  const std::size_t count = data.size() / item;
  ConvertedFloats result;
  result.bytes.resize(count * width);
  Block values, back;
  for (std::size_t at = 0; at < count; at += block) {
    const std::size_t n = std::min(block, count - at);
    const std::byte* const from = data.data() + at * item;
    std::byte* const to = result.bytes.data() + at * width;
    if (item == 8) {
      result.overflowed += narrow(from, values, n);
    } else {
      to_f32(item == 4 ? DType::f32 : DType::f16, from, values.data(), n);
    }
    from_f32(dtype, values.data(), to, n);
    to_f32(dtype, to, back.data(), n);
    result.overflowed += became_infinite(values.data(), back.data(), n);
  }
  return result;
}

}  // namespace ncemu
