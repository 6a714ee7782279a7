#pragma once

// One engine while it runs: its sequencer, its pipeline, and where its next instruction stands. A plain
// record; the rules are in core.cpp and core_start.cpp.

#include <cstdint>
#include <vector>

#include "emu/machine/event_queue.h"
#include "emu/machine/observer.h"
#include "emu/machine/semaphores.h"
#include "emu/machine/sequencer.h"
#include "emu/machine/shapes.h"
#include "emu/timing/engine_timeline.h"
#include "emu/timing/ports.h"

namespace ncemu {

// What is known about instructions of one shape, worked out when the first of them is reached.
struct Prepared {
  enum class Kind : std::uint8_t { control, data, transfer };
  Kind kind = Kind::control;
  bool registers = false;           // operands or wait must be resolved at issue
  PortUse ports;                    // of the first instruction of the shape
  DgeMode mode = DgeMode::static_;  // of a transfer
  std::uint32_t described = 0;      // of a transfer
  Cost cost;
  Work work;
};

// The earliest legal start of the next instruction and the constraint that sets it. Ports come later: they
// are claimed once everything else allows the start.
struct Plan {
  Ticks ready = 0;
  Ticks free = 0;  // the engine itself had nothing else to do from here on
  StallReason reason = StallReason::none;
  // Of its wait, if it was satisfied recently: by whom, and from when on it allowed the start.
  bool released = false;
  Signaller by;
  Ticks release = 0;
};

struct EngineCore {
  EngineCore(Engine e, const std::vector<Instruction>& stream, const MachineConfig& machine)
      : engine(e), sequencer(stream), timeline(machine), shape_of(stream.size(), Shapes::none) {}

  Engine engine;
  Sequencer sequencer;
  EngineTimeline timeline;
  Shapes shapes;
  std::vector<Shapes::Number> shape_of;  // of each instruction of the stream that has been reached
  std::vector<Prepared> prepared;        // of each shape

  Ticks control_issue = 0;  // of this engine's sequencer, datasheet 6.0.1

  // The next instruction.
  Shapes::Number shape = 0;
  const Prepared& next() const { return prepared[shape]; }
  Cost cost;             // perturbed; zero without a clock; of a trigger: how long it occupies the issuer
  Ticks issue_cost = 0;  // of a trigger: from its issue to the descriptor generator
  std::uint16_t wait_value = 0;
  PortUse ports;
  Plan plan;

  // When the sequencer may issue again: a control instruction, and a data-path instruction. The second is
  // free of the issue cost after another data-path instruction: there the pipeline alone decides.
  Ticks next_control = 0, next_data = 0;
  Ticks busy_until = 0;   // of the data path: start + interval
  Ticks stores_done = 0;  // of register stores, which bypass the data path

  Moment wake;              // when to look again; never: something else must happen first
  bool claiming = false;    // waits for ports
  std::uint64_t claim = 0;  // order of the claims
};

}  // namespace ncemu
