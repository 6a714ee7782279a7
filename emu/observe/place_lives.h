#pragma once

// Which tiles hold values when. A place of a tile is alive from a write to the last access before the next
// write that follows a read: writes after writes, and reads after reads, are of one life.

#include <cstdint>
#include <vector>

#include "emu/observe/timeline.h"

namespace ncemu {

struct PlaceLife {
  PlaceId place = 0;
  Ticks begin = 0, end = 0;
};
// In order of begins. Operands that name no tile (raw patterns, containers without debug data) leave no
// trace.
std::vector<PlaceLife> place_lives(const Timeline& timeline, const Program& program);

// Bytes per partition that live tiles take, after each change; and the largest of them.
struct MemoryUse {
  struct Change {
    Ticks at = 0;
    std::int64_t sbuf_bytes = 0, psum_bytes = 0;
  };
  std::vector<Change> changes;
  std::int64_t sbuf_peak = 0, psum_peak = 0;
};
MemoryUse memory_use(const std::vector<PlaceLife>& lives, const Program& program);

}  // namespace ncemu
