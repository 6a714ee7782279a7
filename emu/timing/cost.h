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
  // Results whose elements lie far apart: how long the memory takes for them, which may be longer than the
  // stream, and by how much of that the engine runs ahead of it. 0: as fast as they come.
  Ticks write = 0, write_ahead = 0;
};
// Compute and control instructions; a transfer's cost is that of its trigger's issue, the rest is the
// business of DmaService. Takes the instruction as it stands in the program: resolving its registers
// would hide that a copy is dynamic. The value of a register never matters, so one call per static
// instruction is enough.
Cost cost(const Instruction& instruction, Engine engine, const MachineConfig& machine);

// Whether the vector engine streams from SBUF faster than its lanes take elements one by one
// (datasheet 6.0.5).
bool in_performance_mode(const Instruction& instruction, const MachineConfig& machine);

// From a semaphore update by `producer` to the start of the instruction of `waiter` that it releases
// (datasheet 2.4: SEM_TURN, SEM_CROSS). For updates by a transfer see transfer_done_latency.
Ticks wake_up(Engine waiter, Engine producer, const MachineConfig& machine);

// What a taken branch from stream index `from` to `to` waits for instructions, beside its own cost: 0
// while the target lies in the instruction buffer (datasheet 2.1).
Ticks branch_miss(std::uint32_t from, std::uint32_t to, const MachineConfig& machine);

}  // namespace ncemu
