#include "tools/command/suite_run.h"

#include <algorithm>
#include <chrono>

#include "isa/fault.h"
#include "tools/command/execution.h"
#include "tools/command/suite_reference.h"
#include "tools/command/tensors.h"

namespace ncemu::command {
namespace {

KernelSource source_of(const SuiteCase& c) {
  KernelSource source;
  source.path = c.kernel;
  for (const auto& [name, value] : c.params) source.defines.push_back(name + "=" + value);
  source.machine = c.machine_file;
  source.settings = c.settings;
  source.strict = c.strict;
  return source;
}

// Inputs without a source are normal(0, 1) if they are floats; indices and the like need one.
std::vector<std::string> input_assignments(const SuiteCase& c, const Program& program) {
  std::vector<std::string> all;
  for (const auto& [name, source] : c.inputs) all.push_back(name + "=" + source);
  for (const Tensor& tensor : program.tensors) {
    if (tensor.kind != TensorKind::input && tensor.kind != TensorKind::inout) continue;
    if (c.inputs.count(tensor.name) > 0) continue;
    if (is_integer(tensor.dtype)) {
      throw Fault(FaultKind::input, c.where,
                  "inputs needs a source for {}: a file or, say, {} = \"uniform:lo=0,hi=9\"",
                  describe(tensor), tensor.name);
    }
    all.push_back(tensor.name + "=random");
  }
  return all;
}

// The least time that the work needs: its FLOPs at the array's peak, or each byte of inputs and outputs once
// at the peak of the DMA engines, whichever is longer.
double roofline_percent(const Profile& profile) {
  const Ladder l = ladder(profile.kernel, *profile.machine);
  const double least = std::max(l[Rung::compute_bound_ideal_flops].value_or(0),
                                l[Rung::memory_bound_ideal_no_reloads].value_or(0));
  return profile.timeline.total() == 0 ? 0 : 100 * least / static_cast<double>(profile.timeline.total());
}

void check_limits(const SuiteCase& c, const Profile& profile, CaseResult& result) {
  const double us = profile.us(profile.timeline.total());
  if (c.max_us && us > *c.max_us)
    result.failures.push_back(
        {"time", fmt::format("{:.3f} us, at most {} us are allowed", us, *c.max_us), {}});
  if (c.min_roofline_percent && result.roofline_percent < *c.min_roofline_percent) {
    result.failures.push_back(
        {"roofline",
         fmt::format("{:.1f} % of the roofline, at least {} % are asked for: the work needs {:.3f} us at the "
                     "peaks, and took {:.3f} us",
                     result.roofline_percent, *c.min_roofline_percent, us * result.roofline_percent / 100,
                     us),
         {}});
  }
  for (const Requirement& r : c.requirements) {
    const MetricInfo& info = all_metrics()[static_cast<std::size_t>(r.metric)];
    const auto v = value(profile.metrics, r.metric);
    if (!v)
      result.failures.push_back({"metric", fmt::format("'{}': the run has no {}", r.text, info.name), {}});
    else if (!r.holds(*v))
      result.failures.push_back(
          {"metric", fmt::format("{} is {:.10g} {}, not '{}'", info.name, *v, info.unit, r.text), {}});
  }
}

void add_run_failures(const RunReport& run, CaseResult& result) {
  if (run.partial()) result.failures.push_back({"run", run.message, {}});
  for (const Checked& checked : run.checked) {
    result.compared += fmt::format("{}{}: {} elements", result.compared.empty() ? "" : ", ", checked.tensor,
                                   checked.difference.count);
    if (!checked.difference.equal()) {
      result.failures.push_back(
          {"values", fmt::format("output '{}': {} ({})", checked.tensor, checked.text, checked.source), {}});
    }
  }
  if (run.checks.failed()) {
    result.failures.push_back(
        {"check", fmt::format("{} errors of the checks", run.checks.errors()), findings_text(run.checks)});
  }
  for (const std::string& failure : run.failures) result.failures.push_back({"run", failure, {}});
}

void run(const SuiteCase& c, CaseResult& result) {
  const Kernel kernel = load_kernel(source_of(c));
  RunRequest request;
  request.mode = c.data ? Mode::timed : Mode::timing_only;
  request.checks = c.checks;
  request.strict = c.strict;
  std::vector<ExpectedOutput> expected;
  if (c.data) {
    request.in = input_assignments(c, kernel.program);
    expected = expected_outputs(c, kernel.program, load_inputs(kernel.program, request.in));
    request.judge = [&](const State& state) { return compare_outputs(kernel.program, expected, state); };
  }
  TimelineObserver recorder;
  request.observers.push_back(&recorder);
  const RunReport report = execute(kernel, request, stdout);
  add_run_failures(report, result);
  if (report.partial()) return;
  const SourceText text = read_sources(kernel.program);
  const Profile profile(recorder.take(), report.summary, kernel.program, kernel.machine, text.blocks, 1);
  result.roofline_percent = roofline_percent(profile);
  result.record = make_record(kernel, profile, text, c.name);
  check_limits(c, profile, result);
}

}  // namespace

std::string run_case(const SuiteCase& c) {
  const auto began = std::chrono::steady_clock::now();
  CaseResult result;
  try {
    run(c, result);
  } catch (const Fault& fault) {
    result.failures.push_back({fault.kind() == FaultKind::internal ? "bug" : "input", fault.what(), {}});
  }
  Record failures = Record::array();
  for (const CaseFailure& f : result.failures)
    failures.push_back({{"kind", f.kind}, {"message", f.message}, {"detail", f.detail}});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  const Record json = {{"failures", failures},
                       {"compared", result.compared},
                       {"host_seconds", seconds.count()},
                       {"roofline_percent", result.roofline_percent},
                       {"record", result.record}};
  return json.dump(-1, ' ', false, Record::error_handler_t::replace);
}

CaseResult read_result(const SuiteCase& c, const Finished& finished) {
  CaseResult result;
  result.id = c.id();
  result.messages = finished.messages;
  if (!finished.died.empty()) {
    result.failures.push_back({"bug", "the process of the run " + finished.died, finished.messages});
    return result;
  }
  const Record json = Record::parse(finished.result);
  for (const Record& f : json.at("failures"))
    result.failures.push_back({f.at("kind"), f.at("message"), f.at("detail")});
  result.compared = json.at("compared");
  result.host_seconds = json.at("host_seconds");
  result.roofline_percent = json.at("roofline_percent");
  result.record = json.at("record");
  return result;
}

void compare_with_baseline(const SuiteCase& c, const Baseline& baseline, CaseResult& result) {
  if (!c.max_slower_percent || result.record.is_null()) return;
  const Record* before = baseline.find(c.id());
  if (before == nullptr) {
    result.failures.push_back({"baseline", "there is no baseline; --update records it", {}});
    return;
  }
  const std::string was = before->at("config_hash"), is = result.record.at("config_hash");
  if (was != is) {
    result.failures.push_back(
        {"baseline",
         fmt::format(
             "the baseline is of another configuration of {} ({}, now {}), so times are not compared; "
             "--update records it anew",
             c.machine, was, is),
         {}});
    return;
  }
  const auto old_ticks = before->at("ticks").get<double>(), ticks = result.record.at("ticks").get<double>();
  if (ticks <= old_ticks * (1 + *c.max_slower_percent / 100)) return;
  result.failures.push_back(
      {"time",
       fmt::format("{:.3f} us, {:.2f} % over the baseline of {:.3f} us; {} % are allowed",
                   result.record.at("us").get<double>(), 100 * (ticks / old_ticks - 1),
                   before->at("us").get<double>(), *c.max_slower_percent),
       explain(*before, result.record)});
}

}  // namespace ncemu::command
