#pragma once

// The chain of instructions, transfers and waits that determines the total, found backwards from the end by
// what each start waited for. Its steps follow one another without a gap, so they add up to the total.

#include <cstdint>
#include <string_view>
#include <vector>

#include "emu/machine_config.h"
#include "emu/observe/timeline.h"

namespace ncemu {

enum class StepKind : std::uint8_t {
  runs,             // an instruction, until what waits for it may go on
  signal,           // from a semaphore's change to the start it releases
  dma_start,        // from a trigger to the first packet: descriptors, latency
  dma_moves,        // packets of the DMA engine that ends last
  dma_done,         // from the last packet to the visible increment
  dma_queue_waits,  // a DMA engine served another transfer in between
  before_start,     // nothing that was recorded: the window's begin
};
inline constexpr std::size_t step_kind_count = 7;
std::string_view name(StepKind kind);

struct Step {
  StepKind kind = StepKind::runs;
  Ticks begin = 0, end = 0;
  Serial serial = no_serial;      // the instruction; of a transfer: the one that triggered it
  std::uint32_t span = no_index;  // of dma_moves: in Timeline::spans
};

// In order of time.
std::vector<Step> critical_path(const Timeline& timeline, const Program& program,
                                const MachineConfig& machine);

// By serial: how much later the instruction's results could have come without a later end, as far as the
// recorded constraints tell: the next instruction of its engine, whom its signal or its transfer's released,
// who waited for its ports. At most what the end leaves; 0 on the critical path.
std::vector<Ticks> slack(const Timeline& timeline);

}  // namespace ncemu
