#pragma once

// What an instruction touches, as automatic synchronisation sees it: the runs of bytes of a memory and the
// lanes (partitions) they lie in. Never less than the truth; more only where exactness would be slow.

#include <cstdint>
#include <vector>

#include "isa/program.h"

namespace ncemu::autosync {

// Partitions as bits; HBM has one lane.
struct Lanes {
  std::uint64_t low = 0, high = 0;
  static Lanes range(std::uint32_t first, std::uint32_t count);
  bool none() const { return (low | high) == 0; }
  bool meets(const Lanes& other) const { return ((low & other.low) | (high & other.high)) != 0; }
  void remove(const Lanes& other) {
    low &= ~other.low;
    high &= ~other.high;
  }
  friend bool operator==(const Lanes&, const Lanes&) = default;
};

// Memories: SBUF, PSUM, then one per tensor.
inline constexpr std::uint32_t sbuf_region = 0;
inline constexpr std::uint32_t psum_region = 1;
inline constexpr std::uint32_t first_tensor_region = 2;

struct Footprint {
  std::uint32_t region = 0;
  bool write = false;
  std::uint8_t ordinal = 0;  // counts the accesses of the instruction (for_each_access)
  Lanes lanes;
  detail::Runs runs;  // ascending: no zero or negative steps, no runs that touch
};

// A pattern of more runs than this is taken as if its finest dimensions were filled: a false conflict costs a
// wait, a hundred thousand runs per instruction would cost the writer's patience.
inline constexpr std::int64_t run_limit = 512;

class Footprints {
 public:
  explicit Footprints(const Program& program);

  // Appends the instruction's accesses; tensors that no instruction writes cannot conflict and are left out.
  void collect(const Instruction& instruction, std::vector<Footprint>& out) const;
  std::size_t regions() const { return first_tensor_region + written_.size(); }

 private:
  void add(const AccessPattern& pattern, Footprint footprint, std::vector<Footprint>& out) const;
  void add(const HbmPattern& pattern, Footprint footprint, std::vector<Footprint>& out) const;

  const Program* program_;
  std::vector<bool> written_;  // tensors
};

// Ascending runs without repetitions, at most run_limit of them.
detail::Runs normalise(detail::Runs runs);

}  // namespace ncemu::autosync
