// `ncemu check`: everything that can be known without data.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "isa/fault.h"
#include "isa/place.h"
#include "tools/command/execution.h"
#include "tools/command/output_files.h"
#include "tools/command/report.h"
#include "tools/command/run_options.h"
#include "tools/command/verbs.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

// A run without data ends where data decide what comes next; that is no fault of the kernel.
bool stopped_for_data(const RunReport& report) { return report.result.status == RunStatus::no_data; }

bool failed(const RunReport& report) {
  return report.checks.failed() || !report.failures.empty() ||
         (report.partial() && !stopped_for_data(report));
}

std::vector<std::string> not_checked(const RunReport& report) {
  std::vector<std::string> texts = report.checks.not_checked;
  if (stopped_for_data(report)) {
    texts.insert(texts.begin(),
                 fmt::format("what follows {}; 'ncemu run' checks it with data", report.message));
  }
  return texts;
}

std::string verdict(const RunReport& report) {
  if (failed(report)) return "not fine";
  if (stopped_for_data(report)) return "fine as far as it goes without data";
  return report.checks.warnings() > 0 ? "fine, with warnings" : "fine";
}

std::string text(const Kernel& kernel, const RunReport& report) {
  const Target& target = kernel.machine.target;
  const Usage used = usage(kernel.program);
  std::string all = fmt::format("machine       {}\n", target.machine);
  all += fmt::format("instructions  {} in the streams, {} executed\n", kernel.program.instruction_count(),
                     report.result.instructions);
  all += fmt::format("SBUF          {} of {} bytes per partition\n", used.sbuf_bytes,
                     target.sbuf_partition_bytes);
  all += fmt::format("PSUM          {} of {} banks\n", used.psum_banks, target.psum_banks);
  for (const std::string& what : not_checked(report)) all += fmt::format("not checked   {}\n", what);
  for (const std::string& failure : report.failures) all += failure + "\n";
  return all + verdict(report) + "\n";
}

std::string json(const ReportHead& head, const Kernel& kernel, const RunReport& report) {
  const Usage used = usage(kernel.program);
  nlohmann::ordered_json all = report_head_json("ncemu.check/1", head, kernel);
  all["passed"] = !failed(report);
  all["status"] = status_name(report.result.status);
  all["message"] = report.message;
  all["instruction_count"] = report.result.instructions;
  all["sbuf_bytes_per_partition"] = used.sbuf_bytes;
  all["psum_banks"] = used.psum_banks;
  all["findings"] = findings_json(report.checks);
  all["not_checked"] = not_checked(report);
  all["failures"] = failed(report) ? report.all_failures() : std::vector<std::string>();
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int check(const Arguments& arguments) {
  Options options("check", "check KERNEL.nca|KERNEL.ncb [options]",
                  "Checks legality, placement, synchronisation, initialisation and deadlock without data; "
                  "prints the memory "
                  "in use and what could not be checked.",
                  1);
  declare_kernel_options(options);
  declare_check_options(options);
  options.group("Run")
      .value("max-time", "SECONDS", "gives up after this much host time")
      .value("max-instructions", "N", "gives up after N instructions");
  options.group("Output")
      .optional_value("json", "FILE", "-",
                      "the report as JSON, to FILE (write --json=FILE) or to standard output")
      .flag("explain-sync", "prints why each wait was inserted");
  if (!options.parse(arguments)) return 0;
  RunRequest request;
  request.mode = Mode::check;
  read_limits(options, request);
  read_checks(options, request);
  KernelSource source = kernel_source(options);
  source.explain_sync = options.on("explain-sync");
  source.progress = time_limit(source.path, request);
  const std::string to = options.text("json");
  const std::string sarif = options.text("sarif");
  OutputFiles files;
  files.keep("the kernel", source.path);
  files.add("--json", to);
  files.add("--sarif", sarif);
  const Kernel kernel = load_kernel(source);
  // Where JSON goes to standard output nothing else does.
  std::FILE* const out = to == "-" ? stderr : stdout;
  if (source.explain_sync) std::fputs(explain_sync(kernel).c_str(), out);

  const RunReport report = execute(kernel, request, out);
  const ReportHead head = {.command_line = command_line("check", arguments), .kernel = source.path};
  // Standard output comes last: a reader that has seen enough of it (head) ends the process.
  if (!sarif.empty()) files.write(sarif, sarif_here(report.checks));
  if (!to.empty()) files.write(to, json(head, kernel, report));
  if (to != "-") files.write("-", text(kernel, report));
  std::fputs(findings_text(report.checks).c_str(), stderr);
  if (report.partial() && !stopped_for_data(report))
    fmt::print(stderr, "{}: {}\n", source.path, report.message);
  files.finish();
  return failed(report) ? 1 : 0;
}

}  // namespace ncemu::command
