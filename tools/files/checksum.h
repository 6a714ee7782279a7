#pragma once

// Names for contents. Not cryptographic.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ncemu {

// XXH3, 64 bits: of tensors in reports, as `xxhsum -H3` prints it.
std::uint64_t checksum(std::span<const std::byte> bytes);

// FNV-1a, 64 bits: tells one tensor's random numbers from another's by its name.
inline constexpr std::uint64_t fnv_offset = 0xCBF29CE484222325;

constexpr std::uint64_t fnv1a(std::span<const std::byte> bytes, std::uint64_t hash = fnv_offset) {
  for (const std::byte b : bytes) hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001B3;
  return hash;
}

constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = fnv_offset) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

}  // namespace ncemu
