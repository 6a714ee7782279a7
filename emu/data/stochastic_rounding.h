#pragma once

// Stochastic rounding of float results (datasheet 4.4: scope and random source assumed): the output
// converters of vector, scalar and gpsimd round a value up or down with a probability proportional to
// its distance. Off unless a run gives a seed. The random bits are a hash of the seed, the engine, the
// number of its instruction, the lane and the element: no timing and no host changes them.

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/types.h"

namespace ncemu {

// `value` in the type, with 64 random bits. Float types only; exact values, NaN and infinities are as by
// to_bits (isa/number.h).
std::uint32_t to_bits_stochastic(DType type, float value, std::uint64_t random);

class StochasticRounding {
 public:
  explicit StochasticRounding(std::uint64_t seed) : seed_(seed) {}

  // The engine's next instruction begins; what follows belongs to it.
  void begin(Engine engine);
  // Elements [first, first + count) of each of `lanes` lanes from `lane` on, in that order, to contiguous
  // elements.
  void convert(DType type, const float* source, std::byte* destination, int lane, int lanes,
               std::int64_t first, std::int64_t count) const;

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, engine_count> instructions_{};
  std::uint64_t key_ = 0;
};

}  // namespace ncemu
