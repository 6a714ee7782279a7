#pragma once

// One run of one kernel: inputs in, outputs out, everything a report needs to say about it.

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/observe/summary.h"
#include "tools/command/checks.h"
#include "tools/command/inputs.h"
#include "tools/command/kernel.h"
#include "tools/command/outputs.h"

namespace ncemu::command {

struct RunRequest {
  Mode mode = Mode::timed;
  std::vector<std::string> in, out, expect, dumps;
  Tolerance tolerance;
  bool bits = false;
  CheckSet checks = CheckSet::all();
  bool strict = false;              // warnings of the run are errors
  std::optional<std::byte> poison;  // what memory that nothing wrote reads as
  std::optional<double> max_time;   // seconds of host time
  std::chrono::steady_clock::time_point started =
      std::chrono::steady_clock::now();  // max_time counts from here
  std::uint64_t max_instructions = 0;    // 0: no limit
  int threads = 1;
  std::optional<std::uint64_t> stochastic_rounding_seed;  // absent: to nearest even
  std::vector<Observer*> observers;                       // told of everything, beside the run's own
  // For programs that hold their data in memory. Instead of `in`: puts the inputs where they belong and says
  // what they are, without their bytes. After a run with data: what it left.
  std::function<std::vector<Input>(State&)> provide;
  std::function<void(const State&)> collect;
  // Asked now and then instead of looking for Ctrl-C, which is the caller's business then; nor is progress
  // shown.
  std::function<bool()> interrupted;
  // Compares the results of a run with data that finished, beside `expect`; may be empty.
  std::function<std::vector<Checked>(const State&)> judge;
};

struct RunReport {
  Mode mode = Mode::timed;
  std::optional<std::uint64_t> stochastic_rounding_seed;
  RunResult result;
  std::string message;  // why it ended early; empty if it finished
  Summary summary;
  std::vector<Input> inputs;  // without their bytes
  std::vector<Checked> checked;
  std::vector<std::string> saved;  // paths
  CheckReport checks;
  std::vector<std::string> failures;  // what else makes the exit code 1
  std::vector<std::string> warnings;
  double host_seconds = 0;

  bool partial() const { return result.status != RunStatus::finished; }
  bool differs() const;  // from a reference
  bool failed() const { return partial() || differs() || !failures.empty() || checks.failed(); }
  // Every reason why it failed, in words: the early end, differences, findings that are errors, the rest.
  std::vector<std::string> all_failures() const;
};

// "timing-only" and its like. Throws Fault(input, "--mode", ...) for another word.
Mode parse_mode(const std::string& text);
std::string_view mode_name(Mode mode);

// Values of `.print` and --dump go to `values`. Throws Fault(input) for anything in the request that does not
// fit the kernel, before the run; what goes wrong in the run is in the report.
RunReport execute(const Kernel& kernel, const RunRequest& request, std::FILE* values);

}  // namespace ncemu::command
