#pragma once

// Options that several verbs share beside those of the kernel: limits, checks, findings.

#include <functional>
#include <string>

#include "tools/command/execution.h"
#include "tools/command/options.h"

namespace ncemu::command {

// --max-time and --max-instructions. Throws Fault(input) for 0, which would mean no limit or no run.
void read_limits(const Options& options, RunRequest& request);
// --checks and --strict.
void read_checks(const Options& options, RunRequest& request);
// Ends an assembly, by a Fault(program), when --max-time is over; empty without a limit.
std::function<void()> time_limit(const std::string& kernel, const RunRequest& request);

// The findings as SARIF, with paths as seen from where the command runs.
std::string sarif_here(const CheckReport& checks);

}  // namespace ncemu::command
