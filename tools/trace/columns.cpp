#include "tools/trace/columns.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "isa/fault.h"

namespace ncemu {
namespace {

static_assert(std::endian::native == std::endian::little, "the page reads columns as little-endian");

constexpr std::size_t alignment = 8;
// Level 3: half the time of the default level 6 for a few percent more bytes.
constexpr int compression = 3;

template <typename T>
bool holds(std::int64_t low, std::int64_t high) {
  return low >= std::int64_t{std::numeric_limits<T>::min()} &&
         high <= std::int64_t{std::numeric_limits<T>::max()};
}

template <typename T>
void append(std::string& bytes, const std::vector<std::int64_t>& values) {
  for (const std::int64_t v : values) {
    const T narrow = static_cast<T>(v);
    bytes.append(reinterpret_cast<const char*>(&narrow), sizeof narrow);
  }
}

void align(std::string& bytes) { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }

}  // namespace

void Columns::add(std::string_view name, const std::vector<std::int64_t>& values, bool delta) {
  std::vector<std::int64_t> stored = values;
  if (delta) {
    for (std::size_t i = stored.size(); i-- > 1;) stored[i] -= stored[i - 1];
  }
  const auto [low, high] = std::minmax_element(stored.begin(), stored.end());
  const std::int64_t least = stored.empty() ? 0 : *low;
  const std::int64_t most = stored.empty() ? 0 : *high;
  align(bytes_);
  nlohmann::json column = {{"length", values.size()}, {"offset", bytes_.size()}};
  if (delta) column["delta"] = true;
  const auto store = [&]<typename T>(const char* type, T) {
    column["type"] = type;
    append<T>(bytes_, stored);
  };
  // clang-format off
  if      (holds<std::uint8_t>(least, most))  store("u8", std::uint8_t{});
  else if (holds<std::int8_t>(least, most))   store("i8", std::int8_t{});
  else if (holds<std::uint16_t>(least, most)) store("u16", std::uint16_t{});
  else if (holds<std::int16_t>(least, most))  store("i16", std::int16_t{});
  else if (holds<std::uint32_t>(least, most)) store("u32", std::uint32_t{});
  else if (holds<std::int32_t>(least, most))  store("i32", std::int32_t{});
  else                                        store("f64", double{});
  // clang-format on
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  ensure(least >= -exact && most <= exact, "a number of the trace is too large for a double");
  list_[std::string(name)] = std::move(column);
}

std::string Columns::pack(nlohmann::json header) const {
  header["columns"] = list_;
  const std::string text = header.dump();
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string all(reinterpret_cast<const char*>(&length), sizeof length);
  all += text;
  align(all);
  all += bytes_;

  uLongf size = compressBound(static_cast<uLong>(all.size()));
  std::string packed(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(all.data()),
                static_cast<uLong>(all.size()), compression);
  ensure(status == Z_OK, "zlib did not compress the trace");
  packed.resize(size);
  return base64(packed);
}

// RFC 4648, section 4.
std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t n = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace ncemu
