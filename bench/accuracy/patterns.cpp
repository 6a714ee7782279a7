#include "bench/accuracy/patterns.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace ncemu::accuracy {
namespace {

bool take_integer(std::string_view& text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<DType> dtype_named(std::string_view text) {
  // clang-format off
  static constexpr std::pair<std::string_view, DType> spellings[] = {
      {"fp32", DType::f32},       {"fp32r", DType::tf32},    {"fp16", DType::f16},      {"int8", DType::i8},
      {"int16", DType::i16},      {"int32", DType::i32},     {"uint8", DType::u8},      {"uint16", DType::u16},
      {"uint32", DType::u32},     {"fp8_e4m3", DType::f8e4m3}, {"fp8_e5m2", DType::f8e5m2}, {"fp8", DType::f8e4m3},
  };
  // clang-format on
  for (const auto& [spelling, type] : spellings) {
    if (text == spelling) return type;
  }
  return find<DType>(text);
}

std::optional<Space> space_named(std::string_view text) {
  if (text == "SBUF") return Space::sbuf;
  if (text == "PSUM") return Space::psum;
  return std::nullopt;
}

std::optional<AccessPattern> pattern_named(std::string_view text) {
  std::vector<Dim> slowest_first;
  text = trimmed(text);
  do {
    std::int64_t count = 0, step = 0;
    if (!take_integer(text, count) || !take(text, "(s") || !take_integer(text, step) || !take(text, ")"))
      return std::nullopt;
    if (count < 1 || count > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
    if (step < std::numeric_limits<std::int16_t>::min() || step > std::numeric_limits<std::int16_t>::max())
      return std::nullopt;
    slowest_first.push_back({static_cast<std::int16_t>(step), static_cast<std::uint16_t>(count)});
  } while (take(text, "x"));
  AccessPattern p;
  if (!text.empty() || slowest_first.size() > p.dims.size()) return std::nullopt;
  std::reverse_copy(slowest_first.begin(), slowest_first.end(), p.dims.begin());
  return p;
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + separator.size());
  }
}

AccessPattern tile(Space space, DType dtype, int partitions, int n, std::uint32_t offset) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partitions = static_cast<std::uint8_t>(partitions);
  p.offset = offset;
  p.dims[0] = {1, static_cast<std::uint16_t>(n)};
  return p;
}

HbmPattern rows_of(std::uint16_t tensor, DType dtype, std::int64_t rows, std::int64_t n,
                   std::int64_t offset) {
  HbmPattern p;
  p.tensor = tensor;
  p.dtype = dtype;
  p.offset = offset;
  p.dims[0] = {1, static_cast<std::uint32_t>(n)};
  p.dims[1] = {static_cast<std::int32_t>(n), static_cast<std::uint32_t>(rows)};
  return p;
}

}  // namespace ncemu::accuracy
