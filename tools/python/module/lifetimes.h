#pragma once

// On-chip memory for tiles that live from their first to their last use in the text order: what a traced
// kernel needs, which has no blocks. Knows nothing of Python.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/diagnostics.h"
#include "isa/program.h"

namespace ncemu::python {

inline constexpr std::uint32_t never = no_index;

// A tile as it was declared: every declaration is a tile of its own.
struct TracedTile {
  std::string name;
  Space space = Space::sbuf;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // [partitions, free...]
  std::uint32_t bytes = 0;          // per partition
  std::uint32_t loop = no_index;    // the innermost that was open where it was declared, in Program::loops
  std::uint32_t site = 0;
  // Placed by hand; then both are known before the rest is placed.
  bool fixed = false;
  std::uint32_t partition = 0, offset = 0;

  // Positions of the text order, both included; first > last: never used.
  std::uint32_t first = never, last = 0;
  bool used() const { return first <= last; }
  bool meets(const TracedTile& other) const {
    return used() && other.used() && first <= other.last && other.first <= last;
  }
};

// A tile that a loop uses lives through the whole loop, unless it was declared inside: then each iteration
// has a tile of its own.
void extend_through_loops(std::vector<TracedTile>& tiles, std::span<const Loop> loops);

enum class AllocationOrder : std::uint8_t { rotate, compact };

// Gives every used tile that is not fixed its offset (and partition 0). `rotate` takes the next free bytes
// behind the last tile that was placed, round and round, so that memory is used again as late as possible and
// few waits follow; where that does not fit, and for `compact`, the lowest free bytes. SBUF in units of 32
// bytes, PSUM in whole banks. What does not fit is an error that names the tiles alive at that moment,
// largest first, with their lines; fixed tiles that overlap while both live are warnings that fail the run.
void allocate(std::vector<TracedTile>& tiles, const Program& program, AllocationOrder order,
              Diagnostics& diagnostics);

}  // namespace ncemu::python
