#pragma once

// A number for each on-chip pattern, found by where it lies: what follows from that is worked out once,
// though a kernel names the same bytes in thousands of instructions.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "isa/access_pattern.h"

namespace ncemu {

class PatternTable {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFF;

  // The number that was added for a pattern of the same bytes in the same order; `none`: none was. The index
  // of a pattern is resolved.
  std::uint32_t find(const AccessPattern& pattern) const {
    return slots_.empty() ? none : slots_[slot_of(key_of(pattern))].number;
  }
  // Of a pattern that has none.
  void add(const AccessPattern& pattern, std::uint32_t number) {
    if (4 * (count_ + 1) > 3 * slots_.size()) grow();
    const Key key = key_of(pattern);
    slots_[slot_of(key)] = {key, number};
    ++count_;
  }
  void clear() {
    slots_.clear();
    count_ = 0;
  }

 private:
  using Key = std::array<std::uint64_t, 3>;
  struct Slot {
    Key key{};
    std::uint32_t number = none;
  };

  static Key key_of(const AccessPattern& p) {
    const auto dims = std::bit_cast<std::array<std::uint64_t, 2>>(p.dims);
    const auto width = static_cast<std::uint64_t>(size_of(p.dtype));
    return {std::uint64_t{p.offset} << 32U | (p.space == Space::psum ? 1U : 0U) << 24U | width << 16U |
                std::uint64_t{p.partition} << 8U | p.partitions,
            dims[0], dims[1]};
  }
  // Without a call of memcmp, which std::array's comparison is.
  static bool same(const Key& a, const Key& b) {
    return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
  }
  static std::uint64_t hash_of(const Key& key) {
    std::uint64_t h = key[0] * 0x9E37'79B9'7F4A'7C15U;
    h = (h ^ h >> 32U ^ key[1]) * 0xBF58'476D'1CE4'E5B9U;
    h = (h ^ h >> 32U ^ key[2]) * 0x94D0'49BB'1331'11EBU;
    return h ^ h >> 32U;
  }
  // Where the key is, or would be.
  std::size_t slot_of(const Key& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_of(key) & mask;
    while (slots_[at].number != none && !same(slots_[at].key, key)) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.number != none) slots_[slot_of(slot.key)] = slot;
    }
  }

  std::vector<Slot> slots_;  // open addressing; a power of two
  std::size_t count_ = 0;
};

}  // namespace ncemu
