#pragma once

// Protobuf's wire format, field by field: for the packets of which a trace has millions. Numbers of fields
// are those of perfetto.proto.

#include <cstdint>
#include <string>
#include <string_view>

namespace ncemu {

class Wire {
 public:
  void number(int field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
  }
  void number(int field, std::int64_t value) { number(field, static_cast<std::uint64_t>(value)); }
  void fixed64(int field, std::uint64_t value) {
    tag(field, 1);
    for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  // A message or a string.
  void bytes(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_.append(value);
  }

  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }  // keeps the memory

 private:
  void tag(int field, std::uint64_t type) { varint(static_cast<std::uint64_t>(field) << 3U | type); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_.push_back(static_cast<char>(0x80 | (value & 0x7F)));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

}  // namespace ncemu
