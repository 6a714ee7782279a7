#pragma once

// The counters of a run: where each engine's time went, what the DMA engines moved, what the tensor
// engine computed. For every engine busy + stalls + idle is the total, to the tick.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "emu/machine/observer.h"

namespace ncemu {

inline constexpr std::size_t stall_reason_count = 6;

// Design, "Busy, stalled, idle": busy in [start, start + interval), stalled while its next instruction
// waits after that, idle otherwise.
struct EngineSummary {
  std::uint64_t instructions = 0;  // control instructions and triggers included
  Ticks busy = 0;
  std::array<Ticks, stall_reason_count> stalled{};  // by StallReason
  Ticks idle = 0;
  Ticks gated = 0;   // of busy: what the clock gate added
  Ticks active = 0;  // union of [start, complete), the profiler's engine_active_time

  Ticks stalled_for(StallReason reason) const { return stalled[static_cast<std::size_t>(reason)]; }
  Ticks stalled_in_all() const;
};

struct DmaSummary {
  std::uint64_t transfers = 0, descriptors = 0, packets = 0;
  std::int64_t bytes = 0;  // max(source, destination) of each transfer
  std::int64_t hbm_read = 0, hbm_written = 0, sbuf_read = 0, sbuf_written = 0, psum_read = 0;
  Ticks active = 0;       // while any DMA engine serves a packet
  Ticks packet_time = 0;  // summed over the DMA engines
};

struct OpcodeCount {
  Opcode opcode = Opcode::nop;
  std::uint64_t count = 0;
};

struct Summary {
  Ticks total = 0;  // the kernel window
  double total_us = 0;
  double core_cycles = 0;
  std::uint64_t instructions = 0;
  std::array<EngineSummary, engine_count> engines;
  DmaSummary dma;
  std::int64_t sbuf_read = 0, sbuf_written = 0, psum_read = 0, psum_written = 0;  // by the engines, bytes
  std::int64_t hardware_flops = 0;  // of the tensor engine, as they are
  // In units of a bf16 operation: fp32 counts its passes, 4 without hints; fp8 counts 1 on v2 and 1/2 on v3.
  double adjusted_hardware_flops = 0;
  // adjusted_hardware_flops / (128 x 128 x 2 x clock x total); none without a clock or a matmul.
  std::optional<double> mfu_estimated_percent;
  std::vector<OpcodeCount> opcodes;  // those that ran, in the table's order

  const EngineSummary& engine(Engine e) const { return engines[static_cast<std::size_t>(e)]; }
  // Bytes over the time in which any DMA engine served a packet; none if none did.
  std::optional<double> dma_active_gb_per_s() const;
  // Bytes over the whole window.
  std::optional<double> dma_gb_per_s() const;
};

class SummaryObserver : public Observer {
 public:
  explicit SummaryObserver(const MachineConfig& machine);

  void on_start(const Started& started) override;
  void on_transfer(const TransferStarted& transfer) override;
  void on_dma(const DmaService::Event& event) override;
  void on_end(Ticks at) override;

  // Complete once the run has ended.
  const Summary& summary() const { return summary_; }

 private:
  struct Interval {
    Ticks begin = 0, end = 0;
  };
  struct Account {
    bool open = false;
    Ticks until = 0;  // accounted for up to here
    Ticks last_complete = 0;
  };
  void count_flops(const Started& started);

  // What is needed of the machine, so that the observer may outlive it.
  int generation_ = 2;
  Ticks per_us_ = 1;
  Ticks per_core_cycle_ = 1;
  double flops_per_tick_ = 0;

  Summary summary_;
  std::optional<Ticks> first_start_;
  std::array<Account, engine_count> accounts_;
  std::array<std::uint64_t, 256> opcodes_{};  // by code
  std::vector<Interval> dma_busy_;            // disjoint, in order
  bool stationary_fp8_ = false;
};

}  // namespace ncemu
