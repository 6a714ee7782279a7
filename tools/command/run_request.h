#pragma once

// What the verbs that run a kernel share: the options that say what to run on which data, and the exit code.

#include <string>

#include "tools/command/execution.h"
#include "tools/command/kernel.h"
#include "tools/command/options.h"

namespace ncemu::command {

// The checks and the groups "Data" and "Run".
void declare_run_options(Options& options);
RunRequest run_request(const Options& options, std::string_view verb);

// A report must not replace the kernel or a tensor's file. `path`: empty or "-" is no file.
void check_report_path(const std::string& path, const KernelSource& source, const RunRequest& request);

// Findings, warnings and failures of a run to standard error; the exit code.
int report_outcome(const KernelSource& source, const RunReport& report, bool json_on_output);

}  // namespace ncemu::command
