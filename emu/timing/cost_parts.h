#pragma once

// What the files behind cost.h share: the parts of a cost in cycles of the engine, and what operands say
// for every instruction alike.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "emu/machine_config.h"
#include "emu/timing/cost.h"
#include "isa/instruction.h"

namespace ncemu::cost_parts {

struct Parts {
  Cycles interval = 0, stream = 0, latency = 0;
  Cycles write = 0, write_ahead = 0;  // as in Cost
};

// An engine does nothing for a part of a cycle.
inline Cycles whole(double cycles) { return static_cast<Cycles>(std::ceil(cycles - 1e-9)); }

// Bytes from one element to the next in the fastest dimension that has a next one; 0 if none has.
std::int64_t distance(const AccessPattern& p);
inline bool adjacent(const AccessPattern& p) { return p.elements() == 1 || distance(p) == size_of(p.dtype); }
inline bool is_sbuf(const AccessPattern& p) { return p.space == Space::sbuf; }

struct Streams {
  std::int64_t elements = 0;
  bool reads_apart = false;   // an operand that is read has its elements too far apart for the full rate
  bool writes_apart = false;  // one that is written
  bool pointer = false;       // a [P,1] operand is fetched before the stream
  bool result = false;        // a [P,1] result is read out of the accumulators after the stream
  bool dynamic = false;       // an operand's address is in a register

  // The slowest port sets the factor (datasheet 3.3).
  double stride_factor(const MachineConfig& m) const {
    return reads_apart || writes_apart ? m.stream.stride_factor : 1;
  }
};
Streams streams(const Instruction& instruction, const MachineConfig& machine);

inline bool is_measured(const MachineConfig& m) { return m.timing.mode == TimingMode::measured; }

// Measured: interval = stream + gap. Documented: max(minimum, stream). Datasheet 6.0.2.
inline Cycles interval_of(Cycles stream, Cycles gap, Cycles minimum, const MachineConfig& m) {
  return is_measured(m) ? stream + gap : std::max(minimum, stream);
}

// With few lanes the skew over them ends sooner.
inline Cycles saving(int partitions, std::int64_t few, Cycles by, Cycles latency) {
  return partitions <= few ? std::min(by, latency) : 0;
}

// Instructions of the vector engine that stream (vector_cost.cpp).
Parts on_vector(const Instruction& instruction, const Streams& streams, const MachineConfig& machine);
// Control instructions (control_cost.cpp).
Cost control(const Instruction& instruction, Engine engine, const MachineConfig& machine);
// What SDK 2.26 prints, in cycles of the engine; absent where it prints nothing (documented_cost.cpp).
struct Printed {
  Cycles interval = 0, stream = 0;
};
std::optional<Printed> printed_cost(const Instruction& instruction, Engine engine, const Streams& streams,
                                    const MachineConfig& machine);

}  // namespace ncemu::cost_parts
