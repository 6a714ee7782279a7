// What the elements of a .npy file mean for a tensor, and the other way round.

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "isa/fault.h"
#include "isa/npy.h"
#include "isa/number.h"

namespace ncemu {
namespace {

std::uint64_t load(const std::byte* from, int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

void store(std::byte* to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>((value >> (8 * i)) & 0xFF);
}

std::int64_t lowest(DType type) {
  const int bits = size_of(type) * 8;
  return type >= DType::u8 ? 0 : -(std::int64_t{1} << (bits - 1));
}
std::int64_t highest(DType type) {
  const int bits = size_of(type) * 8;
  return (std::int64_t{1} << (type >= DType::u8 ? bits : bits - 1)) - 1;
}

// One element of the file as a number; floats of 16 and 32 bits are exact in a double.
struct Item {
  bool is_float = false;
  double real = 0;
  bool is_negative = false;     // of integers
  std::uint64_t magnitude = 0;  // of integers
};

Item read_item(const NpyArray& array, std::size_t i) {
  const std::uint64_t raw =
      load(array.data.data() + i * static_cast<std::size_t>(array.item_bytes), array.item_bytes);
  Item item;
  if (array.kind == 'f') {
    item.is_float = true;
    if (array.item_bytes == 8) item.real = std::bit_cast<double>(raw);
    if (array.item_bytes == 4) item.real = double{std::bit_cast<float>(static_cast<std::uint32_t>(raw))};
    if (array.item_bytes == 2) item.real = double{from_bits(DType::f16, static_cast<std::uint32_t>(raw))};
  } else {
    const int unused = 64 - 8 * array.item_bytes;
    item.is_negative = array.kind == 'i' && static_cast<std::int64_t>(raw << unused) < 0;
    item.magnitude = item.is_negative
                         ? 0 - static_cast<std::uint64_t>(static_cast<std::int64_t>(raw << unused) >> unused)
                         : raw;
    if (array.kind == 'b') item.magnitude = raw != 0;
  }
  return item;
}

[[noreturn]] void does_not_fit(const NpyArray& array, DType dtype, std::size_t i, const Item& item,
                               const std::string& name) {
  const std::string value = item.is_float ? fmt::format("{}", item.real)
                                          : fmt::format("{}{}", item.is_negative ? "-" : "", item.magnitude);
  throw Fault(FaultKind::input, name, "element {} is {}, which {} cannot hold exactly (the file is {})", i,
              value, ncemu::name(dtype), array.describe());
}

std::uint32_t to_integer_bits(const NpyArray& array, DType dtype, std::size_t i, const std::string& name) {
  const Item item = read_item(array, i);
  std::int64_t value = 0;
  if (item.is_float) {
    if (!(item.real >= static_cast<double>(lowest(dtype)) &&
          item.real <= static_cast<double>(highest(dtype))) ||
        item.real != std::floor(item.real)) {
      does_not_fit(array, dtype, i, item, name);
    }
    value = static_cast<std::int64_t>(item.real);
  } else {
    constexpr std::uint64_t limit = std::uint64_t{1} << 62;
    if (item.magnitude > limit) does_not_fit(array, dtype, i, item, name);
    value = item.is_negative ? -static_cast<std::int64_t>(item.magnitude)
                             : static_cast<std::int64_t>(item.magnitude);
    if (value < lowest(dtype) || value > highest(dtype)) does_not_fit(array, dtype, i, item, name);
  }
  return integer_to_bits(dtype, value);
}

std::uint32_t to_float_bits(const NpyArray& array, DType dtype, std::size_t i, const std::string& name) {
  const Item item = read_item(array, i);
  if (item.is_float) return to_bits(dtype, static_cast<float>(item.real));
  const float magnitude = static_cast<float>(item.magnitude);
  const float value = item.is_negative ? -magnitude : magnitude;
  const std::uint32_t bits = to_bits(dtype, value);
  const float back = from_bits(dtype, bits);
  const bool exact = std::isfinite(back) && back == value &&
                     std::abs(double{value}) < 18446744073709551616.0 &&
                     static_cast<std::uint64_t>(std::abs(double{value})) == item.magnitude;
  if (!exact) does_not_fit(array, dtype, i, item, name);
  return bits;
}

// The file's own bytes are the tensor's.
bool same_representation(const NpyArray& array, DType dtype) {
  if (array.item_bytes != size_of(dtype)) return false;
  if (array.kind == 'V') return true;
  if (is_float(dtype)) {
    return array.kind == 'u' || (array.kind == 'f' && (dtype == DType::f32 || dtype == DType::f16));
  }
  return (array.kind == 'u' && dtype >= DType::u8) || (array.kind == 'i' && dtype < DType::u8);
}

}  // namespace

std::vector<std::byte> tensor_bytes(NpyArray array, DType dtype, const std::string& name) {
  if (same_representation(array, dtype)) return std::move(array.data);
  if (array.kind == 'V') {
    throw Fault(FaultKind::input, name, "holds raw elements of {} bytes; {} has {}", array.item_bytes,
                ncemu::name(dtype), size_of(dtype));
  }
  const auto width = static_cast<std::size_t>(size_of(dtype));
  const std::size_t count = array.data.size() / static_cast<std::size_t>(array.item_bytes);
  std::vector<std::byte> bytes(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits =
        is_float(dtype) ? to_float_bits(array, dtype, i, name) : to_integer_bits(array, dtype, i, name);
    store(bytes.data() + i * width, bits, size_of(dtype));
  }
  return bytes;
}

char npy_kind(DType dtype) {
  if (is_integer(dtype)) return dtype >= DType::u8 ? 'u' : 'i';
  return dtype == DType::f32 || dtype == DType::tf32 || dtype == DType::f16 ? 'f' : 'u';
}

NpyArray npy_of_tensor(DType dtype, std::vector<std::int64_t> shape, std::span<const std::byte> bytes) {
  NpyArray array;
  array.item_bytes = size_of(dtype);
  array.kind = npy_kind(dtype);
  array.shape = std::move(shape);
  array.data.assign(bytes.begin(), bytes.end());
  ensure(array.elements() * array.item_bytes == static_cast<std::int64_t>(bytes.size()),
         "a tensor's bytes match its shape");
  return array;
}

NpyArray npy_of_values(DType dtype, std::vector<std::int64_t> shape, std::span<const std::byte> bytes) {
  NpyArray array;
  array.shape = std::move(shape);
  const auto width = static_cast<std::size_t>(size_of(dtype));
  ensure(array.elements() * size_of(dtype) == static_cast<std::int64_t>(bytes.size()),
         "a tensor's bytes match its shape");
  array.data.resize(bytes.size() / width * 4);
  for (std::size_t i = 0; i * width < bytes.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(load(bytes.data() + i * width, size_of(dtype)));
    store(array.data.data() + 4 * i, std::bit_cast<std::uint32_t>(from_bits(dtype, bits)), 4);
  }
  return array;
}

}  // namespace ncemu
