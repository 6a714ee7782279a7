#pragma once

// What placement has to say: explicit places that cannot be, memory that is full, live tiles that overlap.

#include "isa/diagnostics.h"
#include "isa/place_arrange.h"

namespace ncemu::placing {

void check_explicit(const Program& program, const Tile& tile, Diagnostics& diagnostics);
// Needed, available and the largest tiles that live together, with their lines.
void report_full(const Program& program, const Arrangement& arrangement, Space space,
                 Diagnostics& diagnostics);
// Explicit places that overlap while both tiles live: once per pair of tiles.
void report_overlaps(const Program& program, const std::vector<Block>& blocks, Diagnostics& diagnostics);

}  // namespace ncemu::placing
