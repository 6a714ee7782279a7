#pragma once

// The 16 DMA engines of a core: queues, descriptors, packets, rates (datasheet 7). It knows bytes and
// runs, not values. Events come out in time order, ties by DMA engine number.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "emu/machine_config.h"
#include "emu/timing/ticks.h"
#include "isa/program.h"

namespace ncemu {

inline constexpr int dma_engine_count = 16;  // datasheet 1.1

// `count` descriptors of `bytes` contiguous bytes each.
struct DescriptorRuns {
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  friend bool operator==(const DescriptorRuns&, const DescriptorRuns&) = default;
};

// What the DMA engines do with the bytes; it decides their rate (datasheet 7.9).
enum class TransferKind : std::uint8_t {
  copy,            // also element by element
  compute,         // joins sources
  transpose_hbm,   // through the transposing unit of v3, from HBM
  transpose_sbuf,  // the same, from SBUF
};

struct TransferWork {
  TransferKind kind = TransferKind::copy;
  std::int64_t indexed_rows = 0;                                      // whose numbers are read from an index
  std::array<std::vector<DescriptorRuns>, dma_engine_count> engines;  // what each DMA engine moves
  std::int64_t bytes = 0;                                             // max(source, destination) bytes in all
  std::int64_t hbm_read = 0, hbm_written = 0, sbuf_read = 0, sbuf_written = 0, psum_read = 0;
  std::int64_t descriptors = 0;
  std::int64_t shortest_run = 0;  // bytes of the shortest descriptor
};
// Splits a transfer into descriptors (contiguous on both sides, at most 64 KiB) and gives each to its
// engine: floor(partition / 8) of the destination's on-chip side, else of the source's; HBM to HBM 16
// equal parts of whole rows. Rows chosen by an index have at least one descriptor each, moved or not.
TransferWork transfer_work(const DmaCopy& copy);
// Any transfer on a NeuronCore of this generation.
TransferWork transfer_work(const Operands& transfer, int generation);

// The life of a transfer whose instruction issues at t (datasheet 7.6, 7.10):
//   g        = max(t + cost().interval, the generator is free); the generator is then busy for
//              generation_time(), and with it the issuer where generation_blocks_issuer()
//   submit     at g + trigger_latency()
//   increments at the engine_done events
//   consumers  may start transfer_done_latency() after the increment that satisfies them
Ticks generation_time(DgeMode mode, const TransferWork& work, const MachineConfig& machine);
Ticks trigger_latency(DgeMode mode, const MachineConfig& machine);
Ticks transfer_done_latency(const MachineConfig& machine);
// The instruction takes as long as the generation: static transfers, whose doorbells the issuer rings itself,
// and hardware generation (measured rows: 541 ns on sync, 571 ns on scalar). In software it is a program of
// gpsimd, which has its engine but not its sequencer.
bool generation_blocks_issuer(DgeMode mode);
// Transfers that transpose or compute reach a share of a copy's rate (datasheet 7.9).
double rate_share(TransferKind kind, const MachineConfig::DmaParameters& dma);

class DmaService {
 public:
  explicit DmaService(const MachineConfig& machine);
  ~DmaService();
  DmaService(DmaService&&) noexcept;
  DmaService& operator=(DmaService&&) noexcept;

  using TransferId = std::uint32_t;  // counts from 0
  // Descriptors are ready at `t` (trigger and generation done): engine e may begin at t + e * stagger.
  // `t` must not lie before the last event taken.
  TransferId submit(std::shared_ptr<const TransferWork> work, std::uint8_t queue, Ticks t);

  struct Event {
    enum class Kind : std::uint8_t { packet, engine_done } kind = Kind::packet;
    TransferId transfer = 0;
    std::uint8_t engine = 0;   // 0..15
    Ticks begin = 0, end = 0;  // of the packet; engine_done: end is when its semaphore increment is visible
    std::int64_t bytes = 0;
  };
  // When the service has something to do next; call pop() at that time. `never`: it has nothing to do.
  Ticks next_time() const;
  // Does it. Nothing comes out when it is of no interest outside (a transfer reaches its engine). Every
  // transfer gives 16 engine_done events, also from engines that moved nothing.
  std::optional<Event> pop();
  bool idle() const { return next_time() == never; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ncemu
