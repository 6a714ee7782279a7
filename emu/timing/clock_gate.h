#pragma once

// The clock gate of the NeuronCore-v3 tensor engine (measured rows, see bench/calibration). Time is
// divided into windows on a fixed grid that starts at tick 0. The array starts at half rate; it goes
// to full rate in a window if the window before it was busy enough, stays there for a minimum number
// of windows, and falls back when a window was not busy enough. While it is gated, a stream takes
// twice its cycles.

#include "emu/machine_config.h"
#include "emu/timing/ticks.h"

namespace ncemu {

class ClockGate {
 public:
  // Off when the machine has no gate, or in documented mode.
  explicit ClockGate(const MachineConfig& machine);

  bool enabled() const { return window_ > 0; }
  // Whether the array runs at half rate at `t`. Times must not decrease over the calls of this and busy().
  bool gated_at(Ticks t);
  // The array streams in [from, to); intervals begin in order and may overlap.
  void busy(Ticks from, Ticks to);

 private:
  void close_windows_before(Ticks t);
  void close_window(Ticks busy_ticks);

  Ticks window_ = 0;          // 0: no gate
  Ticks busy_threshold_ = 0;  // of one window
  std::int64_t full_windows_min_ = 0;
  std::int64_t current_ = 0;           // index of the open window
  Ticks busy_from_ = 0, busy_to_ = 0;  // the newest interval, as far as it is not accounted for
  Ticks busy_in_window_ = 0;           // older ones of the open window
  bool gated_ = true;
  std::int64_t full_windows_ = 0;  // closed windows since the clock went full
};

}  // namespace ncemu
