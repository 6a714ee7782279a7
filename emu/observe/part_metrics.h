#pragma once

// The metrics of metrics.def that have a meaning for a part of a run, a window of time or a region of the
// source: times, shares, bytes and FLOPs, by the same formulas. What counts instructions or tells of the
// whole kernel stays absent, and so does what the part does not use.

#include "emu/machine_config.h"
#include "emu/observe/bounds.h"
#include "emu/observe/metrics.h"

namespace ncemu {

Metrics part_metrics(const BoundsWork& work, const MachineConfig& machine);

}  // namespace ncemu
