#pragma once

// Misuse of semaphores: signals that nobody waits for, waits that can never hold, counters that another
// timing takes below zero, signals that a clear may lose.

#include <string>
#include <vector>

#include "emu/observe/finding.h"
#include "emu/observe/happens_before.h"
#include "emu/observe/run_trace.h"
#include "emu/observe/semaphore_use.h"

namespace ncemu {

// Found without running: waits for more than all instructions of the program together can signal. Where
// branches lead back, only waits that nothing signals at all.
std::vector<Finding> find_impossible_waits(const Program& program);
std::vector<Finding> find_impossible_waits(const Program& program, const SemaphoreUse& use);

// Semaphores that the run has signalled and no instruction of the program waits for or takes from.
std::vector<Finding> find_unused_signals(const RunTrace& trace);

// What the order of the run says about a semaphore (happens_before.h), in the user's words.
Finding describe_hazard(const SemaphoreHazard& hazard, const RunTrace& trace);

// "S[5] (ready)" where the program names it, else "S[5]".
std::string semaphore_in_words(const Program& program, std::uint8_t semaphore);

}  // namespace ncemu
