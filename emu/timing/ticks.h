#pragma once

// Time is an integer number of ticks in which every engine clock of the machine is exact: 1/5.6 ns
// on NeuronCore-v2, 1/4.8 ns on -v3. The conversions are in emu/machine_config.h, since they need the
// machine's clocks.

#include <cstdint>
#include <limits>

namespace ncemu {

using Ticks = std::int64_t;
inline constexpr Ticks never = std::numeric_limits<Ticks>::max();
using Cycles = std::int64_t;  // of the engine that is spoken of

}  // namespace ncemu
