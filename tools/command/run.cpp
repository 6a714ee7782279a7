// `ncemu run`: a kernel, its data, and what came out.

#include <cstdio>

#include "emu/data/vector_target.h"
#include "isa/fault.h"
#include "tools/command/execution.h"
#include "tools/command/first_difference.h"
#include "tools/command/report.h"
#include "tools/command/run_options.h"
#include "tools/command/run_request.h"
#include "tools/command/verbs.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

Options run_options() {
  Options options(
      "run", "run KERNEL.nca|KERNEL.ncb [options]",
      "Assembles (or loads) a kernel and executes it; saves or compares its outputs; prints where the time "
      "went.",
      1);
  declare_kernel_options(options);
  declare_run_options(options);
  options.group("Output")
      .optional_value("json", "FILE", "-",
                      "the report as JSON, to FILE (write --json=FILE) or to standard output")
      .values("dump", "NAME@line=N", "shows a tensor or tile after each instruction of source line N")
      .flag("explain-sync", "prints why each wait was inserted");
  options.group("Comparing two runs")
      .value("first-difference", "KERNEL",
             "runs this kernel too, on the same inputs, and shows where values first differ")
      .values("other-define", "NAME=VALUE", "-D of the other kernel")
      .value("other-machine", "NAME|FILE.toml", "--machine of the other kernel")
      .values("other-set", "KEY=VALUE", "--set of the other kernel");
  return options;
}

// The other kernel starts from the options of the first and replaces what is given for it.
KernelSource other_source(const Options& options, KernelSource source) {
  source.path = options.text("first-difference");
  source.explain_sync = false;
  if (options.has("other-define")) source.defines = options.list("other-define");
  if (options.has("other-machine")) source.machine = options.text("other-machine");
  if (options.has("other-set")) source.settings = options.list("other-set");
  return source;
}

}  // namespace

int run(const Arguments& arguments) {
  Options options = run_options();
  if (!options.parse(arguments)) return 0;
  if (options.has("vector-target")) restrict_vector_targets(options.text("vector-target"));
  KernelSource source = kernel_source(options);
  source.explain_sync = options.on("explain-sync");
  const RunRequest request = run_request(options, "run");
  const std::string json = options.text("json");
  const std::string sarif = options.text("sarif");
  OutputFiles files = report_files(source, request);
  files.add("--json", json);
  files.add("--sarif", sarif);
  source.progress = time_limit(source.path, request);
  const Kernel kernel = load_kernel(source);

  if (options.has("first-difference")) {
    const std::string difference =
        first_difference(kernel, load_kernel(other_source(options, source)), request);
    std::fputs(
        difference.empty() ? "no difference: the same effects and the same outputs\n" : difference.c_str(),
        stdout);
    return difference.empty() ? 0 : 1;
  }

  // Where JSON goes to standard output nothing else does.
  std::FILE* const text = json == "-" ? stderr : stdout;
  if (source.explain_sync) std::fputs(explain_sync(kernel).c_str(), text);
  const RunReport report = execute(kernel, request, text);

  const ReportHead head = {.command_line = command_line("run", arguments), .kernel = source.path};
  // Standard output comes last: a reader that has seen enough of it (head) ends the process.
  const bool json_only = json == "-";
  if (!sarif.empty()) files.write(sarif, sarif_here(report.checks));
  if (!json.empty() && !json_only) files.write(json, report_json(head, kernel, report));
  files.write("-", json_only ? report_json(head, kernel, report) : report_text(head, kernel, report));
  const int code = report_outcome(source, report, json == "-");
  files.finish();
  return code;
}

}  // namespace ncemu::command
