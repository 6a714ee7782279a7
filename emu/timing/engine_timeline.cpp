#include "emu/timing/engine_timeline.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "emu/timing/tensor_passes.h"
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
                      : 0),
      generation_(machine.target.generation),
      tile_issue_(machine.tensor.tile_issue * ticks_per_cycle(machine, Engine::tensor)) {}

EngineTimeline::Cells EngineTimeline::cells_of(ArrayPair position, ArrayPair size) {
  constexpr Cells whole = 0xFFFF;
  if (size == whole_array) return whole;
  constexpr unsigned side = 32, per_row = 4;
  const unsigned columns = ((1U << (size.column / side)) - 1) << (position.column / side);
  unsigned cells = 0;
  for (unsigned row = position.row / side; row < (position.row + unsigned{size.row}) / side; ++row)
    cells |= columns << (per_row * row);
  return static_cast<Cells>(cells);
}

Ticks EngineTimeline::latest(Cells cells, Ticks Cell::*what) const {
  if (!tiled_) return cells_[0].*what;
  Ticks result = 0;
  for (unsigned rest = cells; rest != 0; rest &= rest - 1)
    result = std::max(result, cells_[static_cast<std::size_t>(std::countr_zero(rest))].*what);
  return result;
}

template <typename Change>
void EngineTimeline::change(Cells cells, Change&& make) {
  constexpr Cells whole = 0xFFFF;
  if (!tiled_ && cells != whole) {
    cells_.fill(cells_[0]);
    tiled_ = true;
  }
  if (!tiled_) return make(cells_[0]);
  for (unsigned rest = cells; rest != 0; rest &= rest - 1)
    make(cells_[static_cast<std::size_t>(std::countr_zero(rest))]);
}

Ticks EngineTimeline::earliest_start(const Instruction& instruction, const Cost&) const {
  if (instruction.opcode == Opcode::load_stationary) {
    const auto& load = std::get<LoadStationary>(instruction.operands);
    const Cells cells = cells_of(load.tile_position, load.tile_size);
    return std::max({last_start_, load_free_, latest(cells, &Cell::weights_free)});
  }
  if (instruction.opcode == Opcode::matmul) {
    const auto& matmul = std::get<Matmul>(instruction.operands);
    const Cells cells = cells_of(matmul.tile_position, matmul.tile_size);
    const Ticks spacing = last_cells_ != 0 && cells != last_cells_ ? last_matmul_ + tile_issue_ : 0;
    return std::max(
        {last_start_, spacing, latest(cells, &Cell::next_matmul), latest(cells, &Cell::weights_ready)});
  }
  return std::max(last_start_, next_start_);
}

Passage EngineTimeline::start(const Instruction& instruction, const Cost& cost, Ticks start) {
  ensure(start >= earliest_start(instruction, cost), "an instruction starts when its pipeline can take it");
  if (instruction.opcode == Opcode::load_stationary) return start_load(instruction, cost, start);
  if (instruction.opcode == Opcode::matmul) return start_matmul(instruction, cost, start);
  if (cost.write > 0) return start_writing(cost, start);
  next_start_ = start + cost.interval;
  return pass(start, cost.interval, cost.stream, cost.latency);
}

// The engine waits until no more of its results are under way than the queue before the memory holds.
Passage EngineTimeline::start_writing(const Cost& cost, Ticks start) {
  written_ = std::max(written_, start) + cost.write;
  const Ticks taken = written_ - cost.write_ahead - start;
  const Ticks interval = std::max(cost.interval, taken);
  next_start_ = start + interval;
  Passage passage = pass(start, interval, std::max(cost.stream, taken), 0);
  last_complete_ = std::max({last_complete_, start + cost.stream + cost.latency, written_ + cost.latency});
  passage.complete = last_complete_;
  return passage;
}

Passage EngineTimeline::start_load(const Instruction& instruction, const Cost& cost, Ticks start) {
  const auto& load = std::get<LoadStationary>(instruction.operands);
  const Ticks count = loads(load, generation_);
  load_free_ = start + cost.interval / count;
  change(cells_of(load.tile_position, load.tile_size), [&](Cell& cell) {
    cell.weights_ready = start + cost.stream / count;
    cell.half_load = count == 2 ? cost.stream / 2 : 0;
    cell.next_matmul = std::max(cell.next_matmul, start) + count * load_issue_;
  });
  return pass(start, cost.interval, cost.stream, cost.latency);
}

Passage EngineTimeline::start_matmul(const Instruction& instruction, const Cost& cost, Ticks start) {
  const auto& matmul = std::get<Matmul>(instruction.operands);
  const Cells cells = cells_of(matmul.tile_position, matmul.tile_size);
  const Passes passing = passes(matmul, generation_);
  const bool twice = passing.matmuls == 2;
  const Ticks half_load = latest(cells, &Cell::half_load);
  const Ticks streams = passing.matmuls;
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
  if (twice) last_start = start + std::max(one_interval, half_load);
  const Ticks weights_free = last_start + (matmul.moving.dtype == DType::f32 ? 0 : load_after_);

  const Ticks interval = last_start + one_interval - start;
  change(cells, [&](Cell& cell) {
    cell.weights_free = weights_free;
    // Without another load_stationary the engine loads the first half again.
    if (half_load > 0) cell.weights_ready = weights_free + half_load;
    cell.next_matmul = start + interval;
  });
  last_cells_ = cells;
  last_matmul_ = start;
  gate_.busy(start, start + interval);
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
