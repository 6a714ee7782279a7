#include "tools/command/execution.h"

#include <algorithm>
#include <array>
#include <optional>

#include "emu/data/state.h"
#include "isa/fault.h"
#include "tools/command/dump.h"
#include "tools/command/interrupt.h"
#include "tools/command/show.h"

namespace ncemu::command {
namespace {

constexpr std::array<std::string_view, 4> mode_names = {"functional", "timed", "timing-only", "check"};

struct Progress : Observer {
  std::uint64_t instructions = 0;
  Ticks now = 0;
  void on_start(const Started& started) override {
    instructions = started.serial + 1;
    now = started.passage.start;
  }
};

// How many instructions a run will execute: known where every one of the program runs once.
std::optional<std::uint64_t> expected_instructions(const Program& program) {
  for (const auto& stream : program.streams) {
    for (const Instruction& i : stream) {
      if (i.opcode == Opcode::compare_branch || i.opcode == Opcode::halt) return std::nullopt;
    }
  }
  return program.instruction_count();
}

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

bool RunReport::differs() const {
  return std::any_of(checked.begin(), checked.end(), [](const Checked& c) { return !c.difference.equal(); });
}

std::vector<std::string> RunReport::all_failures() const {
  std::vector<std::string> all;
  if (partial()) all.push_back(message);
  for (const Checked& c : checked) {
    if (!c.difference.equal()) all.push_back(fmt::format("output '{}': {} ({})", c.tensor, c.text, c.source));
  }
  for (const Reported& r : checks.findings) {
    if (!r.allowed && r.text.severity == Severity::error) all.push_back(r.text.message);
  }
  all.insert(all.end(), failures.begin(), failures.end());
  return all;
}

RunReport execute(const Kernel& kernel, const RunRequest& request, std::FILE* values) {
  check_request(request);
  const Program& program = kernel.program;
  const bool data = has_data(request.mode);
  RunReport report;
  report.mode = request.mode;
  report.stochastic_rounding_seed = request.stochastic_rounding_seed;
  if (data && !request.provide) {
    report.inputs = load_inputs(program, request.in);
  } else {
    check_input_names(program, request.in);
  }
  Outputs outputs(program, request.out, request.expect, request.tolerance, request.bits);
  outputs.read_references();
  std::vector<Dump> dumps;
  for (const std::string& text : request.dumps) dumps.emplace_back(program, text);

  Watch watch(request.max_time, request.started, request.interrupted);
  Progress progress;
  Checks checks(program, request.checks);
  RunOptions options;
  options.mode = request.mode;
  options.max_instructions = request.max_instructions;
  options.stochastic_rounding_seed = request.stochastic_rounding_seed;
  options.threads = request.threads;
  options.initial = request.poison.value_or(initial_byte);
  options.watch_values =
      request.checks.has(CheckKind::nonfinite) || request.checks.has(CheckKind::saturation);
  const std::optional<std::uint64_t> expected = expected_instructions(program);
  options.interrupted = [&] {
    return watch.ask(progress.instructions, ns_from_ticks(kernel.machine, progress.now) / 1000, expected);
  };
  if (data) {
    options.on_probe = [&](const Probe& probe, State& state) {
      fmt::print(values, "{}", show(probe.label, probe.view, state));
    };
    options.on_effect = [&](Engine engine, std::uint32_t index, const Instruction& instruction,
                            State& state) {
      for (const Dump& dump : dumps) fmt::print(values, "{}", dump.after(engine, index, instruction, state));
    };
  }
  Machine machine(kernel.machine, program, std::move(options));
  SummaryObserver summary(kernel.machine);
  machine.add(summary);
  for (Observer* observer : request.observers) machine.add(*observer);
  if (watch.shows_progress()) machine.add(progress);
  for (Observer* observer : checks.observers()) machine.add(*observer);
  if (data && request.provide) {
    report.inputs = request.provide(machine.state());
  } else if (data) {
    fill(machine.state(), report.inputs);
  }
  for (Input& input : report.inputs) {
    if (input.overflowed > 0) {
      report.warnings.push_back(
          fmt::format("input '{}': {} values of {} are too large for the type and became infinite",
                      input.name, input.overflowed, input.source));
    }
  }

  report.result = machine.run();
  if (data && request.collect) request.collect(machine.state());
  report.summary = summary.summary();
  report.checks = report_checks(kernel, checks, request.checks,
                                {.data = data, .finished = !report.partial(), .strict = request.strict});
  report.host_seconds = watch.seconds();
  if (report.partial()) {
    report.message = early_end(report.result, watch);
    return report;
  }
  if (report.result.instructions == 0) report.failures.emplace_back("the run executed no instruction");
  if (!data) return report;
  // Values of an output that is not all there would be compared or kept in vain.
  const auto& found = report.checks.findings;
  const bool whole = std::none_of(found.begin(), found.end(), [](const Reported& r) {
    return r.kind == CheckKind::outputs && !r.allowed && r.text.severity == Severity::error;
  });
  if (!whole) return report;
  report.checked = outputs.compare(machine.state());
  if (request.judge) {
    for (Checked& checked : request.judge(machine.state())) report.checked.push_back(std::move(checked));
  }
  report.saved = outputs.save(machine.state());
  return report;
}

}  // namespace ncemu::command
