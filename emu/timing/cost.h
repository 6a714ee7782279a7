#pragma once

// What an instruction costs on an engine: a pure function of shapes, types, engine and configuration
// (datasheet 6.0). It never sees a value.

#include "emu/machine_config.h"
#include "emu/timing/ticks.h"
#include "isa/instruction.h"

namespace ncemu {

// What moves, whatever the machine.
struct Work {
  std::int64_t elements = 0;  // per partition, streamed
  std::int64_t flops = 0;     // multiply-adds count twice; tensor engine only
  std::int64_t sbuf_read = 0, sbuf_written = 0, psum_read = 0, psum_written = 0;  // bytes, all partitions
};
Work work(const Instruction& instruction);

struct Cost {
  Ticks interval = 0;  // II: the next instruction of the engine may start this much later
  Ticks stream = 0;    // S: read_done = start + stream
  Ticks latency = 0;   // L0: complete = start + latency + stream
};
// Compute and control instructions; transfers are the business of DmaService.
Cost cost(const Instruction& instruction, Engine engine, const MachineConfig& machine);

}  // namespace ncemu
