#pragma once

// Turns a plan into streams: numbers the semaphore values, puts waits and signals on instructions, and lowers
// joins, loops and blocks to what the sequencers execute.

#include "isa/sync_plan.h"

namespace ncemu::autosync {

SyncReport emit(Program& program, const Plan& plan, const SyncOptions& options);

}  // namespace ncemu::autosync
