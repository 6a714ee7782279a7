#pragma once

// What the verbs that run a kernel share: the options that say what to run on which data, and the exit code.

#include <string>

#include "tools/command/execution.h"
#include "tools/command/kernel.h"
#include "tools/command/options.h"
#include "tools/command/output_files.h"

namespace ncemu::command {

// The checks and the groups "Data" and "Run".
void declare_run_options(Options& options);
RunRequest run_request(const Options& options, std::string_view verb);

// For the reports of a run, which must not replace the kernel or a tensor's file.
OutputFiles report_files(const KernelSource& source, const RunRequest& request);

// Findings, warnings and failures of a run to standard error; the exit code.
int report_outcome(const KernelSource& source, const RunReport& report, bool json_on_output);

}  // namespace ncemu::command
