#pragma once

// The bytes of a container section, little-endian. Writer and Reader have the same interface, so that one
// function transfers each structure in both directions; the Reader trusts nothing.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "isa/fault.h"
#include "isa/types.h"

namespace ncemu::container {

class Writer {
 public:
  static constexpr bool reads = false;
  const std::vector<std::byte>& bytes() const { return bytes_; }

  template <typename T>
  void number(std::string_view, T& value) {
    auto raw = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bytes_.push_back(static_cast<std::byte>(std::uint64_t{raw} >> (8 * i)));
  }
  void flag(std::string_view name, bool& value) {
    std::uint8_t raw = value ? 1 : 0;
    number(name, raw);
  }
  template <typename E>
  void enumeration(std::string_view name, E& value, std::size_t) {
    auto raw = static_cast<std::uint8_t>(value);
    number(name, raw);
  }
  void raw(std::string_view, std::span<std::byte> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
  }
  void text(std::string_view name, std::string& value) {
    std::uint64_t size = value.size();
    number(name, size);
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
  }
  // transfer(element) for each; `least` is the smallest number of bytes an element can take.
  template <typename T, typename Transfer>
  void list(std::string_view name, std::vector<T>& values, std::size_t, Transfer&& transfer) {
    std::uint64_t count = values.size();
    number(name, count);
    for (T& value : values) transfer(value);
  }
  void check(bool holds, std::string_view sentence) const {
    if (!holds) throw Fault(FaultKind::internal, "ncemu", "cannot be stored: {}", sentence);
  }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  static constexpr bool reads = true;
  Reader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  template <typename T>
  void number(std::string_view name, T& value) {
    const auto from = take(name, sizeof(T));
    std::uint64_t raw = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) raw |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
    value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(raw));
  }
  void flag(std::string_view name, bool& value) {
    std::uint8_t raw = 0;
    number(name, raw);
    if (raw > 1) fail("{} is {}, expected 0 or 1", name, raw);
    value = raw == 1;
  }
  template <typename E>
  void enumeration(std::string_view name, E& value, std::size_t count) {
    std::uint8_t raw = 0;
    number(name, raw);
    if (raw >= count) fail("{} is {}, expected 0 to {}", name, raw, count - 1);
    value = static_cast<E>(raw);
  }
  void raw(std::string_view name, std::span<std::byte> data) {
    const auto from = take(name, data.size());
    std::copy(from.begin(), from.end(), data.begin());
  }
  void text(std::string_view name, std::string& value) {
    const auto from = take(name, size(name, 1));
    value.clear();
    for (const std::byte b : from) value += static_cast<char>(b);
  }
  template <typename T, typename Transfer>
  void list(std::string_view name, std::vector<T>& values, std::size_t least, Transfer&& transfer) {
    values.resize(size(name, least));
    for (T& value : values) transfer(value);
  }
  void check(bool holds, std::string_view sentence) const {
    if (!holds) fail("not true: {}", sentence);
  }
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw Fault(FaultKind::input, where_, "damaged container: {}",
                fmt::format(text, std::forward<Args>(args)...));
  }
  std::uint64_t rest() const { return bytes_.size() - at_; }
  void end() const {
    if (at_ != bytes_.size()) fail("{} bytes follow the last entry of a section", bytes_.size() - at_);
  }

 private:
  std::span<const std::byte> take(std::string_view name, std::uint64_t bytes) {
    if (bytes > bytes_.size() - at_) fail("ends inside {}", name);
    const auto taken = bytes_.subspan(at_, static_cast<std::size_t>(bytes));
    at_ += taken.size();
    return taken;
  }
  // The length of a list, of which at least `least` bytes each must follow.
  std::size_t size(std::string_view name, std::size_t least) {
    std::uint64_t count = 0;
    number(name, count);
    if (count > (bytes_.size() - at_) / least) fail("{} entries of {} do not fit the file", count, name);
    return static_cast<std::size_t>(count);
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
};

}  // namespace ncemu::container
