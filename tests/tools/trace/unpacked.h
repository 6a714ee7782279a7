#pragma once

// Reads packed columns as the page does, written from the comment of tools/trace/columns.h.

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu::test {

// RFC 4648, by its alphabet.
inline std::string from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit =
        std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (digit == std::string_view::npos) throw std::runtime_error("no digit of base64");
    group = (group << 6 | static_cast<std::uint32_t>(digit)) & 0xFFFFFF;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFF);
  }
  return bytes;
}

inline std::string inflated(std::string_view packed) {
  std::string all(std::size_t{1} << 24, '\0');
  auto size = static_cast<uLongf>(all.size());
  if (uncompress(reinterpret_cast<Bytef*>(all.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                 static_cast<uLong>(packed.size())) != Z_OK)
    throw std::runtime_error("no zlib stream of at most 16 MiB");
  all.resize(size);
  return all;
}

struct Unpacked {
  nlohmann::json header;
  std::map<std::string, std::vector<double>> columns;

  explicit Unpacked(std::string_view base64) {
    const std::string all = inflated(from_base64(base64));
    std::uint32_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    header = nlohmann::json::parse(all.substr(4, length));
    const std::size_t base = (4 + length + 7) / 8 * 8;
    for (const auto& [name, column] : header["columns"].items()) {
      const char* at = all.data() + base + column["offset"].get<std::size_t>();
      std::vector<double> values(column["length"].get<std::size_t>());
      const std::string type = column["type"];
      const auto read = [&]<typename T>(T) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          T value;
          std::memcpy(&value, at + i * sizeof value, sizeof value);
          values[i] = static_cast<double>(value);
        }
      };
      if (type == "u8") read(std::uint8_t{});
      if (type == "i8") read(std::int8_t{});
      if (type == "u16") read(std::uint16_t{});
      if (type == "i16") read(std::int16_t{});
      if (type == "u32") read(std::uint32_t{});
      if (type == "i32") read(std::int32_t{});
      if (type == "f64") read(double{});
      if (column.contains("delta"))
        for (std::size_t i = 1; i < values.size(); ++i) values[i] += values[i - 1];
      columns[name] = std::move(values);
    }
  }
  const std::vector<double>& operator[](const std::string& name) const { return columns.at(name); }
};

}  // namespace ncemu::test
