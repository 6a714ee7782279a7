#pragma once

// Columns of integers packed for the page: each in the narrowest type that holds it, all in one zlib stream.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu {

class Columns {
 public:
  // `delta`: stored as differences from one value to the next; times that hardly grow become small numbers.
  void add(std::string_view name, const std::vector<std::int64_t>& values, bool delta = false);
  // count values, value(i) each.
  template <typename Value>
  void add(std::string_view name, std::size_t count, Value&& value, bool delta = false) {
    std::vector<std::int64_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int64_t>(value(i));
    add(name, values, delta);
  }

  // u32 length of the header, the header as JSON with the member "columns" added, then the columns at
  // multiples of 8 bytes from the next multiple of 8 on, little-endian; compressed, in base64.
  std::string pack(nlohmann::json header) const;

 private:
  nlohmann::json list_ = nlohmann::json::object();
  std::string bytes_;
};

std::string base64(std::string_view bytes);

}  // namespace ncemu
