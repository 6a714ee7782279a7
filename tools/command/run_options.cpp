#include "tools/command/run_options.h"

#include <chrono>
#include <filesystem>

#include "isa/fault.h"
#include "tools/command/sarif.h"

namespace ncemu::command {

void read_limits(const Options& options, RunRequest& request) {
  request.max_time = options.number("max-time");
  request.max_instructions = options.count("max-instructions").value_or(0);
  if (request.max_time == 0.0)
    throw Fault(FaultKind::input, "--max-time",
                "0 s leave no time to run; leave the option out for no limit");
  if (options.has("max-instructions") && request.max_instructions == 0)
    throw Fault(FaultKind::input, "--max-instructions",
                "0 instructions would run nothing; leave the option out for no limit");
}

void read_checks(const Options& options, RunRequest& request) {
  request.checks = check_set(options);
  request.strict = options.on("strict");
}

std::function<void()> time_limit(const std::string& kernel, const RunRequest& request) {
  if (!request.max_time) return {};
  return [kernel, limit = *request.max_time, started = request.started] {
    if (std::chrono::steady_clock::now() - started < std::chrono::duration<double>(limit)) return;
    throw Fault(FaultKind::program, kernel, "the time limit of {} s of host time ended the assembly", limit);
  };
}

std::string sarif_here(const CheckReport& checks) {
  return sarif(checks, std::filesystem::current_path().string());
}

}  // namespace ncemu::command
