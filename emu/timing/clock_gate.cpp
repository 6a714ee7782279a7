#include "emu/timing/clock_gate.h"

#include <algorithm>
#include <cmath>

#include "isa/fault.h"

namespace ncemu {

ClockGate::ClockGate(const MachineConfig& machine) {
  if (machine.timing.mode == TimingMode::documented) return;
  window_ = machine.gate.window * ticks_per_core_cycle(machine);
  busy_threshold_ = static_cast<Ticks>(std::ceil(machine.gate.threshold * static_cast<double>(window_)));
  full_windows_min_ = machine.gate.full_windows_min;
}

bool ClockGate::gated_at(Ticks t) {
  if (!enabled()) return false;
  close_windows_before(t);
  return gated_;
}

void ClockGate::busy(Ticks from, Ticks to) {
  if (!enabled()) return;
  ensure(from >= busy_from_, "the tensor engine's streams begin in order");
  if (from < busy_to_) {  // beside the one before, in another tile of the array
    busy_to_ = std::max(busy_to_, to);
    return;
  }
  close_windows_before(from);
  // What is left of the interval before lies in the open window, since this one starts there too.
  busy_in_window_ += std::max<Ticks>(0, busy_to_ - busy_from_);
  busy_from_ = from;
  busy_to_ = to;
}

void ClockGate::close_windows_before(Ticks t) {
  while ((current_ + 1) * window_ <= t) {
    // Idle windows of a gated array change nothing.
    if (gated_ && busy_in_window_ == 0 && busy_to_ <= current_ * window_) {
      current_ = t / window_;
      return;
    }
    const Ticks end = (current_ + 1) * window_;
    const Ticks part = std::max<Ticks>(0, std::min(busy_to_, end) - busy_from_);
    close_window(busy_in_window_ + part);
    busy_in_window_ = 0;
    busy_from_ = std::max(busy_from_, end);
    ++current_;
  }
}

void ClockGate::close_window(Ticks busy_ticks) {
  const bool was_busy = busy_ticks >= busy_threshold_;
  if (gated_) {
    gated_ = !was_busy;
    full_windows_ = 0;
  } else {
    ++full_windows_;
    gated_ = !was_busy && full_windows_ >= full_windows_min_;
  }
}

}  // namespace ncemu
