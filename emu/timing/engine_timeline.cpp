#include "emu/timing/engine_timeline.h"

#include <algorithm>
#include <cmath>

#include "isa/fault.h"

namespace ncemu {

EngineTimeline::EngineTimeline(const MachineConfig& machine)
    : gate_(machine),
      gate_factor_(machine.gate.stream_factor),
      gate_latency_(machine.gate.latency * ticks_per_cycle(machine, Engine::tensor)),
      matmul_gap_(machine.tensor.ii_gap * ticks_per_cycle(machine, Engine::tensor)),
      load_issue_(machine.timing.mode == TimingMode::measured
                      ? machine.tensor.load_issue * ticks_per_cycle(machine, Engine::tensor)
                      : 0),
      load_after_(machine.timing.mode == TimingMode::measured
                      ? machine.tensor.load_after * ticks_per_cycle(machine, Engine::tensor)
                      : 0) {}

Ticks EngineTimeline::earliest_start(const Instruction& instruction, const Cost&) const {
  if (instruction.opcode == Opcode::load_stationary)
    return std::max({last_start_, load_free_, weights_free_});
  if (instruction.opcode == Opcode::matmul) return std::max({last_start_, next_start_, weights_ready_});
  return std::max(last_start_, next_start_);
}

Passage EngineTimeline::start(const Instruction& instruction, const Cost& cost, Ticks start) {
  ensure(start >= earliest_start(instruction, cost), "an instruction starts when its pipeline can take it");
  if (instruction.opcode == Opcode::load_stationary) return start_load(instruction, cost, start);
  if (instruction.opcode == Opcode::matmul) return start_matmul(instruction, cost, start);
  next_start_ = start + cost.interval;
  return pass(start, cost.interval, cost.stream, cost.latency);
}

Passage EngineTimeline::start_load(const Instruction& instruction, const Cost& cost, Ticks start) {
  const bool twice = std::get<LoadStationary>(instruction.operands).src.dtype == DType::f32;
  const Ticks loads = twice ? 2 : 1;
  load_free_ = start + cost.interval / loads;
  weights_ready_ = start + cost.stream / loads;
  half_load_ = twice ? cost.stream / 2 : 0;
  next_start_ = std::max(next_start_, start) + loads * load_issue_;
  return pass(start, cost.interval, cost.stream, cost.latency);
}

Passage EngineTimeline::start_matmul(const Instruction& instruction, const Cost& cost, Ticks start) {
  const bool twice = std::get<Matmul>(instruction.operands).moving.dtype == DType::f32;
  const Ticks streams = twice ? 2 : 1;
  Ticks one_interval = cost.interval / streams;
  Ticks last_stream = cost.stream - (streams - 1) * one_interval;
  Ticks latency = cost.latency;
  const Ticks ungated = one_interval;
  const bool gated = gate_.gated_at(start);
  if (gated) {
    // At half rate the gap between two streams disappears (measured rows, see bench/calibration).
    const auto stretch = [&](Ticks t) { return std::llround(gate_factor_ * static_cast<double>(t)); };
    one_interval = std::max<Ticks>(one_interval, stretch(one_interval - matmul_gap_));
    last_stream = std::max<Ticks>(last_stream, stretch(last_stream));
    latency += gate_latency_;
  }
  // The second of two streams needs the second of two loads, which runs behind the first stream. Loads
  // of fp32 follow one another without a pause (measured rows: they alone may set the interval).
  Ticks last_start = start;
  if (twice) last_start = start + std::max(one_interval, half_load_);
  weights_free_ = last_start + (twice ? 0 : load_after_);
  // Without another load_stationary the engine loads the first half again.
  if (half_load_ > 0) weights_ready_ = weights_free_ + half_load_;

  const Ticks interval = last_start + one_interval - start;
  next_start_ = start + interval;
  gate_.busy(start, next_start_);
  Passage passage = pass(start, interval, last_start + last_stream - start, latency);
  passage.gated = streams * (one_interval - ungated);
  return passage;
}

Passage EngineTimeline::pass(Ticks start, Ticks interval, Ticks stream, Ticks latency) {
  last_start_ = start;
  last_read_done_ = std::max(last_read_done_, start + stream);
  last_complete_ = std::max(last_complete_, start + latency + stream);
  return {.start = start,
          .busy_until = start + interval,
          .read_done = last_read_done_,
          .complete = last_complete_};
}

}  // namespace ncemu
