#pragma once

// Slices of one row of a trace must not overlap, but transfers of one queue do. Such a row has lanes: a slice
// takes the first lane that is free, so that a row without overlap has one.

#include <cstdint>
#include <vector>

#include "emu/timing/ticks.h"

namespace ncemu {

class Lanes {
 public:
  // Slices come in order of their begins.
  std::uint32_t take(Ticks begin, Ticks end) {
    std::uint32_t lane = 0;
    while (lane < busy_until_.size() && busy_until_[lane] > begin) ++lane;
    if (lane == busy_until_.size()) busy_until_.push_back(0);
    busy_until_[lane] = end;
    return lane;
  }

 private:
  std::vector<Ticks> busy_until_;
};

}  // namespace ncemu
