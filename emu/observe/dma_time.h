#pragma once

// What the transfers on the critical path spend their time on. The causes add up to their steps there.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "emu/observe/critical_path.h"
#include "emu/observe/regions.h"

namespace ncemu {

enum class DmaCause : std::uint8_t {
  start,        // from a trigger to the first packet: descriptors, latency
  completion,   // semaphore writes, from the last packet to the visible increment
  few_engines,  // too few of the 16 DMA engines move to reach the core's rate
  hbm_twice,    // reading and writing HBM takes its bandwidth twice
  unit,         // transposing and computing are slower than copying
  descriptors,  // what each costs beside its bytes, and its least time
  bytes,        // what is left: the bytes at the rate that the engines share
};
inline constexpr std::size_t dma_cause_count = 7;
std::string_view name(DmaCause cause);

struct DmaTime {
  struct Part {
    double ticks = 0;
    PlaceNumber place = 0;  // the line with most of it
  };
  std::array<Part, dma_cause_count> parts;
  double quiet = 0;             // of start: no DMA engine moves anything
  double engines = 0;           // that move on average while they are few
  double descriptors = 0;       // of the steps that move
  double descriptor_bytes = 0;  // on average, each weighed by what it costs beside its bytes

  const Part& operator[](DmaCause cause) const { return parts[static_cast<std::size_t>(cause)]; }
  double in_all() const;
};
DmaTime dma_time(std::span<const Step> path, const Timeline& timeline, const Regions& regions,
                 const Program& program, const MachineConfig& machine);

}  // namespace ncemu
