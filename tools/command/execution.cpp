#include "tools/command/execution.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "emu/data/state.h"
#include "isa/fault.h"
#include "tools/command/coverage.h"
#include "tools/command/dump.h"
#include "tools/command/interrupt.h"
#include "tools/command/show.h"

namespace ncemu::command {
namespace {

constexpr std::array<std::string_view, 4> mode_names = {"functional", "timed", "timing-only", "check"};

struct Progress : Observer {
  std::uint64_t instructions = 0;
  void on_start(const Started& started) override { instructions = started.serial + 1; }
};

// What values did that is legal and worth a warning, once per kind and source place.
class ValueWarnings : public Observer {
 public:
  explicit ValueWarnings(const Program& program) : program_(program) {}

  void on_numeric(const NumericEvent& event) override {
    const std::uint32_t site = event.instruction->site;
    const std::string where = site == 0 ? fmt::format("{} instruction {}", name(event.engine), event.index)
                                        : describe_site(program_, site);
    Seen& seen = seen_[{where, std::string(event.what)}];
    if (seen.times++ > 0) return;
    seen.partition = event.partition;
    seen.element = event.element;
    seen.value = event.value;
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const auto& [key, seen] : seen_) {
      all.push_back(fmt::format("{}: warning: {}{} (first at partition {}, element {}{})", key.first,
                                key.second, seen.value ? fmt::format(": {}", *seen.value) : "",
                                seen.partition, seen.element,
                                seen.times > 1 ? fmt::format("; {} times", seen.times) : ""));
    }
    return all;
  }

 private:
  struct Seen {
    std::uint64_t times = 0;
    int partition = 0;
    std::int64_t element = 0;
    std::optional<float> value;
  };
  const Program& program_;
  std::map<std::pair<std::string, std::string>, Seen> seen_;
};

void check_request(const RunRequest& request) {
  if (has_data(request.mode)) return;
  for (const auto& [option, given] :
       {std::pair("--out", !request.out.empty()), std::pair("--expect", !request.expect.empty()),
        std::pair("--dump", !request.dumps.empty())}) {
    if (given) {
      throw Fault(FaultKind::input, option, "needs values, and a run in mode {} has none",
                  mode_name(request.mode));
    }
  }
}

std::string early_end(const RunResult& result, const Watch& watch) {
  if (result.status != RunStatus::interrupted || watch.reason().empty()) return result.message;
  return fmt::format("{}: ended after {} instructions", watch.reason(), result.instructions);
}

}  // namespace

Mode parse_mode(const std::string& text) {
  const auto found = std::find(mode_names.begin(), mode_names.end(), text);
  if (found != mode_names.end()) return static_cast<Mode>(found - mode_names.begin());
  throw Fault(FaultKind::input, "--mode", "'{}' is not one of: {}", text, fmt::join(mode_names, " "));
}

std::string_view mode_name(Mode mode) { return mode_names[static_cast<std::size_t>(mode)]; }

RunReport execute(const Kernel& kernel, const RunRequest& request, std::FILE* values) {
  check_request(request);
  const Program& program = kernel.program;
  const bool data = has_data(request.mode);
  RunReport report;
  report.mode = request.mode;
  report.stochastic_rounding_seed = request.stochastic_rounding_seed;
  if (data) {
    report.inputs = load_inputs(program, request.in);
  } else {
    check_input_names(program, request.in);
  }
  Outputs outputs(program, request.out, request.expect, request.tolerance, request.bits);
  outputs.read_references();
  std::vector<Dump> dumps;
  for (const std::string& text : request.dumps) dumps.emplace_back(program, text);

  Watch watch(request.max_time);
  Progress progress;
  Coverage coverage(program);
  ValueWarnings value_warnings(program);
  RunOptions options;
  options.mode = request.mode;
  options.max_instructions = request.max_instructions;
  options.stochastic_rounding_seed = request.stochastic_rounding_seed;
  options.interrupted = [&] { return watch.ask(progress.instructions); };
  if (data) {
    options.on_probe = [&](const Probe& probe, State& state) {
      fmt::print(values, "{}", show(probe.label, probe.view, state));
    };
    options.on_effect = [&](Engine engine, std::uint32_t index, const Instruction& instruction,
                            State& state) {
      coverage.note(instruction);
      for (const Dump& dump : dumps) fmt::print(values, "{}", dump.after(engine, index, instruction, state));
    };
  }
  Machine machine(kernel.machine, program, std::move(options));
  SummaryObserver summary(kernel.machine);
  machine.add(summary);
  if (isatty(STDERR_FILENO) == 1) machine.add(progress);
  if (data) {
    fill(machine.state(), report.inputs);
    machine.add(value_warnings);
  }
  for (Input& input : report.inputs) {
    if (input.overflowed > 0) {
      report.warnings.push_back(
          fmt::format("input '{}': {} values of {} are too large for the type and became infinite",
                      input.name, input.overflowed, input.source));
    }
    std::vector<std::byte>().swap(input.bytes);  // the machine has them now
  }

  report.result = machine.run();
  report.summary = summary.summary();
  report.host_seconds = watch.seconds();
  for (std::string& text : value_warnings.texts()) report.warnings.push_back(std::move(text));
  if (report.partial()) {
    report.message = early_end(report.result, watch);
    return report;
  }
  if (report.result.instructions == 0) report.failures.emplace_back("the run executed no instruction");
  if (data) {
    for (std::string& complaint : coverage.complaints()) report.failures.push_back(std::move(complaint));
    if (!report.failures.empty()) return report;
    report.checked = outputs.compare(machine.state());
    for (const Checked& c : report.checked) {
      if (!c.difference.equal())
        report.failures.push_back(fmt::format("output '{}': {} ({})", c.tensor, c.text, c.source));
    }
    report.saved = outputs.save(machine.state());
  }
  for (const Diagnostic& d : kernel.diagnostics.all()) {
    if (d.fails_run) report.failures.push_back(d.message);
  }
  return report;
}

}  // namespace ncemu::command
