#pragma once

// Transfers that the rows of DMA measurements describe.

#include <cstdint>
#include <string>

#include "bench/accuracy/replay.h"
#include "emu/machine_config.h"
#include "isa/forms.h"

namespace ncemu::accuracy {

// `rows` rows of `bytes` from the partitions of the first DMA engine into HBM.
Replay stores(const MachineConfig& machine, std::int64_t bytes, int rows);

// One or more descriptors of `bytes` on each of the first `engines` DMA engines, from HBM into SBUF.
Replay descriptors(const MachineConfig& machine, std::int64_t bytes, int per_engine, int engines,
                   DgeMode mode = DgeMode::static_, Engine issuer = Engine::sync);

// A stream of [128, columns] tiles of bf16 between HBM and SBUF. Loads go into `buffers` places in turn, and
// a reduction on the vector engine reads each; stores come from one place. Descriptors are made in software,
// as the compiler of the measured streams does unless it is told otherwise.
struct TileStream {
  std::int64_t columns = 2048;
  int tiles = 64;
  int buffers = 4;
  bool stores = false;
  std::int64_t bytes() const { return tiles * 128 * columns * 2; }
};
Replay stream(const MachineConfig& machine, const TileStream& tiles);

// Rows of a table chosen by an index, 128 in each transfer.
Replay gathers(const MachineConfig& machine, int transfers, std::int64_t row_bytes);

// Element-granular copies from HBM to HBM: `copies` tiles of 128 x 128 elements that lie `step` elements
// apart in the source.
Replay scattered_copies(const MachineConfig& machine, DType type, int copies, int step);

}  // namespace ncemu::accuracy
