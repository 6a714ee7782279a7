// `ncemu profile`: a run, and the whole report of where its time went.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>

#include "emu/data/vector_target.h"
#include "isa/fault.h"
#include "tools/command/profile.h"
#include "tools/command/run_options.h"
#include "tools/command/run_request.h"
#include "tools/command/verbs.h"
#include "tools/trace/perfetto.h"

namespace ncemu::command {
namespace {

Options profile_options() {
  Options options("profile", "profile KERNEL.nca|KERNEL.ncb [options]",
                  "Runs a kernel and says what bounds it, what each engine waited for, which chain of "
                  "instructions is critical, and what it would take to be faster.",
                  1);
  declare_kernel_options(options);
  declare_run_options(options);
  options.group("Output")
      .optional_value("json", "FILE", "-",
                      "the profile as JSON, to FILE (write --json=FILE) or to standard output")
      .value("perfetto", "FILE",
             "the run as a trace for the Perfetto viewer and programs that read its format")
      .value("html", "FILE", "the report as one HTML file, with an interactive timeline")
      .flag("schema", "prints the JSON Schema of --json and does nothing else")
      .value("windows", "N", "bounds and metrics for N equal parts of the time (default 1)");
  options.add_note(
      "Without --in, --out and --expect the default mode is timing-only, which needs no data and takes the "
      "same time on the device.");
  return options;
}

// Data are asked for only by those who name some.
void choose_mode(const Options& options, RunRequest& request) {
  const bool data = !request.in.empty() || !request.out.empty() || !request.expect.empty();
  if (!options.has("mode") && !data) request.mode = Mode::timing_only;
  if (!has_clock(request.mode)) {
    throw Fault(FaultKind::input, "--mode",
                "a profile needs a clock, and mode {} has none: timed or timing-only",
                mode_name(request.mode));
  }
}

std::size_t window_count(const Options& options) {
  const std::uint64_t count = options.count("windows").value_or(1);
  constexpr std::uint64_t most = 10'000;
  if (count < 1 || count > most)
    throw Fault(FaultKind::input, "--windows", "takes 1 to {}, found {}", most, count);
  return static_cast<std::size_t>(count);
}

// Colour is for people: on a terminal, and unless they refuse it (no-color.org).
bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0');
}

}  // namespace

int profile(const Arguments& arguments) {
  Options options = profile_options();
  if (!options.parse(arguments)) return 0;
  if (options.on("schema")) {
    fmt::print("{}", profile_schema());
    return 0;
  }
  if (options.has("vector-target")) restrict_vector_targets(options.text("vector-target"));
  KernelSource source = kernel_source(options);
  RunRequest request = run_request(options, "profile");
  choose_mode(options, request);
  const std::size_t windows = window_count(options);
  const std::string json = options.text("json");
  const std::string html = options.text("html");
  const std::string sarif = options.text("sarif");
  const std::string perfetto = options.text("perfetto");
  OutputFiles files = report_files(source, request);
  for (const auto& [option, path] :
       {std::pair("--json", &json), {"--html", &html}, {"--perfetto", &perfetto}, {"--sarif", &sarif}})
    files.add(option, *path);
  source.progress = time_limit(source.path, request);
  const Kernel kernel = load_kernel(source);

  TimelineObserver recorder;
  request.observers.push_back(&recorder);
  const RunReport run = execute(kernel, request, json == "-" ? stderr : stdout);
  const SourceText text = read_sources(kernel.program);
  const Profile model(recorder.take(), run.summary, kernel.program, kernel.machine, text.blocks, windows);
  const ProfileReport report = make_report(
      {.command_line = command_line("profile", arguments), .kernel = source.path}, kernel, run, model, text);
  // Standard output comes last: a reader that has seen enough of it (head) ends the process. The trace is the
  // largest; it is made beside the others.
  std::future<std::string> trace;
  if (!perfetto.empty())
    trace = std::async(std::launch::async, [&] { return perfetto_trace(source.path, model); });
  const std::string as_json = json.empty() && html.empty() ? std::string() : profile_json(report);
  if (json != "-") files.write(json, as_json);
  if (!html.empty()) files.write(html, profile_html(report, as_json));
  if (trace.valid()) files.write(perfetto, trace.get());
  if (!sarif.empty()) files.write(sarif, sarif_here(run.checks));
  files.write("-", json == "-" ? as_json : profile_text(report, wants_colour()));
  const int code = report_outcome(source, run, json == "-");
  files.finish();
  return code;
}

}  // namespace ncemu::command
