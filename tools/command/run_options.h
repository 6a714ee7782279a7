#pragma once

// Options that several verbs share beside those of the kernel: limits, checks, files of reports.

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

// A report must not replace the kernel, and its directory must exist; "" and "-" are fine.
void check_report_file(const std::string& path, const KernelSource& source);
void write_sarif(const std::string& path, const CheckReport& checks);  // nothing for ""

}  // namespace ncemu::command
