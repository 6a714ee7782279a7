#pragma once

// The 16 DMA engines of a core: queues, descriptors, packets, rates (datasheet 7; timing notes).
// It knows bytes and runs, not values. Events come out in time order, ties by DMA engine number.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/machine_config.h"
#include "emu/timing/ticks.h"
#include "isa/program.h"

namespace ncemu {

// `count` descriptors of `bytes` contiguous bytes each.
struct DescriptorRuns {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
};

struct TransferWork {
  std::array<std::vector<DescriptorRuns>, 16> engines;  // what each DMA engine moves
  std::int64_t bytes = 0;                               // max(source, destination) bytes in all
  std::int64_t hbm_read = 0, hbm_written = 0, sbuf_read = 0, sbuf_written = 0;
  std::int64_t descriptors = 0;
};
// Splits a transfer into descriptors (contiguous on both sides, at most 64 KiB) and gives each to its
// engine: floor(partition / 8) of the destination's on-chip side, else of the source's; HBM to HBM 16
// equal parts of whole rows.
TransferWork transfer_work(const DmaCopy& copy);

class DmaService {
 public:
  explicit DmaService(const MachineConfig& machine);

  using TransferId = std::uint32_t;
  // Descriptors are ready at `t` (trigger and generation done): engine e may begin at t + e * stagger.
  TransferId submit(const TransferWork& work, Engine issuer, std::uint8_t queue, Ticks t);

  struct Event {
    enum class Kind : std::uint8_t { packet, engine_done } kind = Kind::packet;
    TransferId transfer = 0;
    std::uint8_t engine = 0;  // 0..15
    Ticks begin = 0, end = 0; // of the packet; engine_done: end is when its semaphore increment is visible
    std::int64_t bytes = 0;
  };
  std::optional<Ticks> next_time() const;  // of the next event
  Event pop();
  bool idle() const;

 private:
  // Owned by the implementation; queues per DMA engine, round robin by packet.
  struct Queue;
  const MachineConfig* machine_;
};

}  // namespace ncemu
