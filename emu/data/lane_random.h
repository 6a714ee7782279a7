#pragma once

// The vector engine's random numbers. The hardware has a generator of shift registers per lane whose
// polynomial and seeding are not published (datasheet 6.9), so its bits cannot be had; ours is Marsaglia's
// xorshift of 32 bits (13, 17, 5), which is of that kind, one per lane, and the same on every host.

#include <array>
#include <cstdint>

namespace ncemu {

// Advances one lane's generator and returns its bits. The state is never 0.
constexpr std::uint32_t next_random(std::uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

// Lanes start far apart: the finishing mix of MurmurHash3 over seed and lane.
constexpr std::uint32_t lane_seed(std::uint32_t seed, std::uint32_t lane) {
  std::uint32_t h = seed + (lane + 1) * 0x9E3779B9U;
  h = (h ^ (h >> 16)) * 0x85EBCA6BU;
  h = (h ^ (h >> 13)) * 0xC2B2AE35U;
  h ^= h >> 16;
  return h != 0 ? h : 0x9E3779B9U;
}

// The generators of all lanes.
constexpr std::array<std::uint32_t, 128> seeded_lanes(std::uint32_t seed) {
  std::array<std::uint32_t, 128> states{};
  for (std::uint32_t lane = 0; lane < states.size(); ++lane) states[lane] = lane_seed(seed, lane);
  return states;
}

}  // namespace ncemu
