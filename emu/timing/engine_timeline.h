#pragma once

// The pipeline of one engine: starts in order, finishes reading in order, completes in order. The
// tensor engine's weight loads run in the background of the matmul before them, into the second of
// its two weight buffers; fp32 takes two loads and two streams. Matmuls in disjoint tiles of the array run at
// the same time: a tile is a rectangle of cells of 32 rows and 32 columns (datasheet 6.1).

#include <array>

#include "emu/timing/clock_gate.h"
#include "emu/timing/cost.h"

namespace ncemu {

struct Passage {
  Ticks start = 0;
  Ticks busy_until = 0;  // start + interval: the engine's own part of the time line
  Ticks read_done = 0;
  Ticks complete = 0;
  Ticks gated = 0;  // of [start, busy_until): what the clock gate added
};

class EngineTimeline {
 public:
  explicit EngineTimeline(const MachineConfig& machine);

  // When the pipeline can take the instruction, waits and ports aside.
  Ticks earliest_start(const Instruction& instruction, const Cost& cost) const;
  // Takes it at `start` >= earliest_start.
  Passage start(const Instruction& instruction, const Cost& cost, Ticks start);
  // When everything started so far has completed.
  Ticks drained() const { return last_complete_; }

 private:
  Passage start_load(const Instruction& instruction, const Cost& cost, Ticks start);
  Passage start_matmul(const Instruction& instruction, const Cost& cost, Ticks start);
  Passage start_writing(const Cost& cost, Ticks start);
  Passage pass(Ticks start, Ticks interval, Ticks stream, Ticks latency);

  ClockGate gate_;
  double gate_factor_ = 1;
  Ticks gate_latency_ = 0;
  Ticks matmul_gap_ = 0;
  Ticks load_issue_ = 0;  // what a load takes from the time of the matmuls
  Ticks load_after_ = 0;  // from a matmul's start until the second buffer may be loaded

  int generation_ = 2;
  Ticks tile_issue_ = 0;  // from one matmul to the next one in another tile

  Ticks last_start_ = 0;
  Ticks next_start_ = 0;  // after the last interval; matmuls have their own in the cells
  Ticks last_read_done_ = 0;
  Ticks last_complete_ = 0;
  Ticks load_free_ = 0;  // the load path has taken the last load
  Ticks written_ = 0;    // the memory has taken all results of instructions that write elements far apart

  struct Cell {
    Ticks next_matmul = 0;    // after the interval of the last one
    Ticks weights_free = 0;   // the second weight buffer may be loaded
    Ticks weights_ready = 0;  // the weights that the next matmul uses have passed
    Ticks half_load = 0;      // one of the two loads of fp32 weights; 0 for other types
  };
  using Cells = std::uint16_t;  // a bit each, row-major
  static Cells cells_of(ArrayPair position, ArrayPair size);
  Ticks latest(Cells cells, Ticks Cell::*what) const;
  template <typename Change>
  void change(Cells cells, Change&& make);

  std::array<Cell, 16> cells_{};
  bool tiled_ = false;  // until the first instruction in a tile the first cell stands for all
  Cells last_cells_ = 0;
  Ticks last_matmul_ = 0;
};

}  // namespace ncemu
