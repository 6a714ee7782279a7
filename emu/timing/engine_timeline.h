#pragma once

// The pipeline of one engine: starts in order, finishes reading in order, completes in order. The
// tensor engine's weight loads run in the background of the matmul before them (datasheet 6.1).

#include "emu/timing/cost.h"

namespace ncemu {

struct Passage {
  Ticks start = 0;
  Ticks busy_until = 0;  // start + interval: the engine's own part of the time line
  Ticks read_done = 0;
  Ticks complete = 0;
};

class EngineTimeline {
 public:
  // When the pipeline can take the instruction, waits and ports aside.
  Ticks earliest_start(const Instruction& instruction, const Cost& cost) const;
  // Takes it at `start` >= earliest_start.
  Passage start(const Instruction& instruction, const Cost& cost, Ticks start);
  // When everything started so far has completed.
  Ticks drained() const { return last_complete_; }

 private:
  Ticks next_start_ = 0;        // after the last instruction's interval
  Ticks last_read_done_ = 0;
  Ticks last_complete_ = 0;
  Ticks weights_ready_ = 0;     // tensor engine: the last load's stream has passed
  Ticks weights_free_ = 0;      // tensor engine: the shadow weights may be loaded again
};

}  // namespace ncemu
