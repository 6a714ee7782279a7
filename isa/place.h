#pragma once

// Allocation of SBUF and PSUM: gives every place of every tile its partition and offset and turns
// operands that are relative to a place into addresses.

#include <vector>

#include "isa/diagnostics.h"
#include "isa/program.h"

namespace ncemu {

// The bytes [offset, offset + bytes) of partitions [partition, partition + partitions) that a place takes.
struct Placement {
  PlaceId place = 0;
  std::uint32_t tile = 0;
  Space space = Space::sbuf;
  std::uint32_t partition = 0, partitions = 0;
  std::uint32_t offset = 0, bytes = 0;
};

// Explicitly placed tiles first, then in text order, lowest address that fits. SBUF is aligned to 32
// bytes; a PSUM tile starts at a bank and takes whole banks if larger than one; two tiles share a
// bank only by explicit placement. Tiles of sibling blocks share addresses only when the tiles would not fit
// otherwise. What does not fit is an error with needed, available and the largest live tiles with their
// lines; explicitly placed tiles that overlap while both are live are a warning that fails the run, naming
// both. Operands must be relative to their places; afterwards they are absolute (places stay as debug data).
void place(Program& program, Diagnostics& diagnostics);

// Where every place is, after place().
std::vector<Placement> placements(const Program& program);

// What place() says of explicitly placed tiles that overlap while both are live, for a program that is placed
// already (from a container).
void check_overlaps(const Program& program, Diagnostics& diagnostics);

// Peak bytes per partition in use.
struct Usage {
  std::uint32_t sbuf_bytes = 0;
  std::uint32_t psum_banks = 0;
};
Usage usage(const Program& program);

}  // namespace ncemu
