#pragma once

// Patterns of integers for the tests of iota and affine_select, and their values from nothing but the formula
// of datasheet 6.8.1.

#include "tests/emu/data/plain.h"

namespace ncemu::test {

struct Values {
  AffineDims pattern;
  std::int32_t offset = 0, multiplier = 0;

  // Of element `i` in stream order of lane `p`: exact, then cut to 32 bits.
  std::int32_t of(int p, std::int64_t i) const {
    std::int64_t v = offset + std::int64_t{p} * multiplier;
    for (const AffineDim& d : pattern.dims) {
      v += i % d.count * d.step;
      i /= d.count;
    }
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(v)));
  }
};

inline Values random_values(Random& r, int elements) {
  // Small numbers, whose sums meet 0 often, or any.
  const int limit = pick(r, 0, 3) == 0 ? 0x7FFFFFFF : pick_of(r, {3, 40, 3000});
  Values v;
  const auto counts = random_counts(r, elements);
  for (std::size_t k = 0; k < 4; ++k) {
    v.pattern.dims[k].count = static_cast<std::uint16_t>(counts[k]);
    v.pattern.dims[k].step = pick(r, -limit, limit);
  }
  v.offset = pick(r, -limit, limit);
  v.multiplier = pick(r, -limit, limit);
  return v;
}

}  // namespace ncemu::test
