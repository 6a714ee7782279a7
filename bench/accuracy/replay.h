#pragma once

// A generated instruction stream, and what the machine did with it, without data as a rule.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/machine_config.h"
#include "isa/program.h"

namespace ncemu::accuracy {

struct Start {
  Opcode opcode = Opcode::nop;
  Cost cost;
  Passage passage;
};

struct Packet {
  DmaService::Event event;
  bool into_hbm = false;
};

struct Replay {
  // The single events, unless only the counts were asked for.
  std::array<std::vector<Start>, engine_count> starts;
  std::vector<Packet> packets;                 // in order of their end
  std::vector<Ticks> triggers;                 // of each transfer
  Ticks total = 0;                             // the kernel window
  Ticks shown_after = 0;                       // from a visible increment to the end of its packet in a trace
  std::int64_t hbm_read = 0, hbm_written = 0;  // bytes
  std::int64_t matmuls = 0;                    // instructions of the machine: two for fp32
  // Of loads and of stores: the first packet's begin, the last visible increment.
  std::array<Ticks, 2> first_begin{}, last_increment{};

  // Starts of one opcode on one engine.
  std::vector<Start> of(Engine engine, Opcode opcode) const;
  Ticks first_packet(bool into_hbm) const { return first_begin[into_hbm ? 1 : 0]; }  // its begin
  // The end of the last semaphore packet of loads or of stores, as a trace shows it: it begins when the data
  // are there, and a trace gives it longer than it takes until the increment is visible.
  Ticks last_packet(bool into_hbm) const { return last_increment[into_hbm ? 1 : 0] + shown_after; }
  Ticks window(bool into_hbm) const { return last_packet(into_hbm) - first_packet(into_hbm); }
};

enum class Keep : std::uint8_t { events, counts };
// Throws Fault(program) when the run does not finish.
Replay replay(const MachineConfig& machine, const Program& program, Mode mode = Mode::timing_only,
              Keep keep = Keep::events);

// Streams that need no synchronisation, put down as they are.
class Streams {
 public:
  explicit Streams(const MachineConfig& machine);
  // `times` copies of the sequence.
  Streams& add(Engine engine, std::initializer_list<Instruction> sequence, int times = 1);
  // A tensor large enough for what is asked of it; its index.
  std::uint16_t tensor(DType dtype, std::vector<std::int64_t> shape);
  const Program& program() const { return program_; }

 private:
  Program program_;
};

Instruction instruction(Opcode opcode, Operands operands = NoOperands{});

// A kernel's source with its parameters, assembled for the machine. Throws Fault(input) with the messages.
// Names and values as they are written in a source: {"M", "128"}, {"T", "bf16"}.
using KernelParams = std::vector<std::pair<std::string, std::string>>;
Program assemble_kernel(const std::string& path, const MachineConfig& machine, const KernelParams& params);

}  // namespace ncemu::accuracy
