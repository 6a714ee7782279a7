#pragma once

// What transfers move between HBM and the core, tensor by tensor: how much of it for the first time, and how
// much again.

#include <cstdint>
#include <vector>

#include "emu/observe/timeline.h"

namespace ncemu {

struct TensorTraffic {
  std::uint16_t tensor = 0;                      // in Program::tensors
  std::int64_t read = 0, written = 0;            // bytes
  std::int64_t read_once = 0, written_once = 0;  // distinct bytes
  std::int64_t unknown_read = 0;  // rows chosen by an index, and reads that reach outside: not known which
  double times_read() const {
    return read_once == 0 ? 0 : static_cast<double>(read) / static_cast<double>(read_once);
  }
};

struct Traffic {
  std::vector<TensorTraffic> tensors;  // those that were touched, in the program's order
  std::vector<std::int64_t>
      first_touch;  // by transfer: of its bytes, those of inputs and outputs that move for the first time
  std::vector<std::int64_t> reloaded;            // by transfer: bytes read that had been read before
  std::int64_t read_once = 0, written_once = 0;  // of inputs, constants and outputs
};
Traffic traffic(const Timeline& timeline, const Program& program);

}  // namespace ncemu
