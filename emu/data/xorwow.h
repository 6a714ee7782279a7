#pragma once

// XORWOW, the generator of the gpsimd engine on NeuronCore-v3 (datasheet 6.9): G. Marsaglia, "Xorshift
// RNGs", Journal of Statistical Software 8 (14), 2003. A 160-bit xorshift plus a Weyl sequence.

#include <array>
#include <cstdint>

namespace ncemu {

struct Xorwow {
  // The paper's names; the order in which rand_get_state writes them is assumed.
  std::uint32_t x = 0, y = 0, z = 0, w = 0, v = 0, d = 0;
  static constexpr int words = 6;

  std::uint32_t next() {
    const std::uint32_t t = x ^ (x >> 2);
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ (v << 4)) ^ (t ^ (t << 1));
    d += 362437;
    return d + v;
  }
  std::array<std::uint32_t, words> state() const { return {x, y, z, w, v, d}; }
  static Xorwow from(const std::array<std::uint32_t, words>& s) {
    return {s[0], s[1], s[2], s[3], s[4], s[5]};
  }
  friend bool operator==(const Xorwow&, const Xorwow&) = default;
};

// One generator per lane, all different, never all zero; what hardware starts with is not published.
std::array<Xorwow, 128> initial_generators();

}  // namespace ncemu
