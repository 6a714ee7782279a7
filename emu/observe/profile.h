#pragma once

// The model of a profile: everything the reports say about one recorded run, computed once. Plain data; how
// it is shown is the business of tools/command.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "emu/observe/account.h"
#include "emu/observe/bounds.h"
#include "emu/observe/critical_path.h"
#include "emu/observe/dma_time.h"
#include "emu/observe/metrics.h"
#include "emu/observe/place_lives.h"
#include "emu/observe/regions.h"
#include "emu/observe/reloads.h"
#include "emu/observe/summary.h"
#include "emu/observe/timeline.h"

namespace ncemu {

// All stalls of one engine on one line for one reason, and of one cause.
struct StallGroup {
  Engine engine = Engine::tensor;
  PlaceNumber place = 0;
  StallReason reason = StallReason::none;
  bool cause_known = false;  // who was waited for: see waited_for
  Engine cause_engine = Engine::tensor;
  PlaceNumber cause_place = 0;
  Opcode cause_opcode = Opcode::nop;
  Ticks ticks = 0;
  std::uint64_t count = 0;
};

struct OpcodeTime {
  Engine engine = Engine::tensor;
  Opcode opcode = Opcode::nop;
  std::uint64_t count = 0;
  Ticks busy = 0;
};

// What a line, loop or macro took.
struct RegionTime {
  RegionNumber region = 0;
  std::uint64_t instructions = 0, transfers = 0;
  std::uint64_t own = 0;  // of a line: instructions that stand on it, not in what it calls
  std::int64_t dma_bytes = 0, flops = 0;
  std::array<Ticks, engine_count> busy{};
  std::array<Ticks, engine_count> stalled{};
  std::array<Ticks, stall_reason_kinds> stalled_for{};  // the same, over all engines, by reason
  Ticks caused = 0;                                     // stalls elsewhere that waited for it
  Ticks critical = 0;                                   // of the critical path
  Ticks least_slack = 0;                                // of its instructions
  BoundsWork work;

  Ticks busy_in_all() const;
  Ticks stalled_in_all() const;
};

struct QueueUse {
  std::uint8_t queue = 0;
  std::uint64_t transfers = 0;
  std::int64_t bytes = 0;
  Ticks active = 0;
};

struct DmaEngineUse {
  std::int64_t bytes = 0;
  Ticks active = 0;
};

// Transfers whose descriptors have between `low` and `high` bytes on average.
struct DescriptorSizes {
  std::int64_t low = 0, high = 0;
  std::uint64_t transfers = 0;
  std::int64_t descriptors = 0, bytes = 0;
  Ticks packet_time = 0;
  double efficiency = 0;  // bytes / packet time, of a DMA engine's peak rate
};

struct CriticalGroup {
  StepKind kind = StepKind::runs;
  Engine engine = Engine::tensor;
  PlaceNumber place = 0;
  Opcode opcode = Opcode::nop;
  Ticks ticks = 0;
  std::uint64_t steps = 0;
};

struct Roofline {
  double peak_flops = 0;        // of the tensor engine, bf16, FLOP/s
  double hbm_bytes_per_s = 0;   // of the core
  double dma_bytes_per_s = 0;   // what the DMA engines reach together
  double sbuf_bytes_per_s = 0;  // one engine's read port: 128 lanes of 4 bytes per base clock (datasheet 1.4)
  std::optional<double> intensity, flops;             // the kernel: FLOP/B of HBM traffic, adjusted FLOP/s
  std::array<double, engine_count> elements_per_s{};  // 128 lanes at the engine's clock; sync has none
  std::array<double, engine_count> kernel_elements_per_s{};
};

struct Profile {
  Profile(Timeline recorded, Summary counted, const Program& program, const MachineConfig& machine,
          std::span<const SourceBlock> blocks, std::size_t window_count);

  // Both must outlive the profile.
  const Program* program;
  const MachineConfig* machine;

  Timeline timeline;
  Summary summary;
  Regions regions;
  Traffic traffic;
  Metrics metrics;
  std::array<EngineTime, engine_count> engines;
  std::vector<OpcodeTime> opcodes;  // by engine, most busy first
  std::vector<StallGroup> stalls;   // largest first
  std::vector<RegionTime> source;   // those with instructions, by region
  BoundsWork kernel;
  std::vector<BoundsWork> windows;
  std::vector<Step> path;
  std::vector<Ticks> slack;             // by serial
  std::vector<CriticalGroup> critical;  // largest first
  DmaTime dma_time;                     // of the transfers among them
  std::vector<QueueUse> queues;
  std::array<DmaEngineUse, dma_engine_count> dma_engines;
  std::vector<DescriptorSizes> descriptor_sizes;
  std::uint64_t waits = 0, table_loads = 0;
  std::vector<PlaceLife> lives;
  MemoryUse memory;
  Roofline roofline;

  const Instruction& instruction(Serial serial) const {
    const Timeline::Instructions& all = timeline.instructions;
    return program->stream(all.engine[serial])[all.index[serial]];
  }
  PlaceNumber place(Serial serial) const { return regions.place_of(instruction(serial).site); }
  double us(Ticks ticks) const { return ns_from_ticks(*machine, ticks) / 1000; }
  double us(double ticks) const { return ticks / static_cast<double>(ticks_per_us(*machine)); }
};

}  // namespace ncemu
