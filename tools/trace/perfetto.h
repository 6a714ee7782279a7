#pragma once

// A recorded run as a Perfetto trace (protobuf), for people who know that viewer and for programs.
//
// Rows: the tensor engine's weight loads and its other instructions apart, the other engines, when the clock
// gate slowed the tensor engine down, one row per DMA queue (transfers, from trigger to visible completion)
// and per DMA engine (packets). Counters: semaphores, transfers in flight, bytes moved in each microsecond,
// SBUF and PSUM in use. Arrows go from the instruction or transfer that signalled to the instruction that
// waited for it.
//
// Times are nanoseconds since the start of the kernel window, rounded down.

#include <string>

#include "emu/observe/profile.h"

namespace ncemu {

// `kernel` names the top row.
std::string perfetto_trace(const std::string& kernel, const Profile& profile);

}  // namespace ncemu
