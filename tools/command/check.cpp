// `ncemu check`: everything that can be known without data.

#include <cstdio>

#include "isa/fault.h"
#include "isa/place.h"
#include "tools/command/execution.h"
#include "tools/command/verbs.h"

namespace ncemu::command {

int check(const Arguments& arguments) {
  Options options(
      "check", "check KERNEL.nca|KERNEL.ncb [options]",
      "Checks legality, placement, synchronisation and deadlock without data; prints the memory in use.", 1);
  declare_kernel_options(options);
  options.group("Run")
      .value("max-time", "SECONDS", "gives up after this much host time")
      .value("max-instructions", "N", "gives up after N instructions")
      .flag("explain-sync", "prints why each wait was inserted");
  if (!options.parse(arguments)) return 0;
  KernelSource source = kernel_source(options);
  source.explain_sync = options.on("explain-sync");
  const Kernel kernel = load_kernel(source);
  if (source.explain_sync) std::fputs(explain_sync(kernel).c_str(), stdout);

  RunRequest request;
  request.mode = Mode::check;
  request.max_time = options.number("max-time");
  request.max_instructions = options.count("max-instructions").value_or(0);
  const RunReport report = execute(kernel, request, stdout);

  const Target& target = kernel.machine.target;
  const Usage used = usage(kernel.program);
  fmt::print("machine       {}\n", target.machine);
  fmt::print("instructions  {} in the streams, {} executed\n", kernel.program.instruction_count(),
             report.result.instructions);
  fmt::print("SBUF          {} of {} bytes per partition\n", used.sbuf_bytes, target.sbuf_partition_bytes);
  fmt::print("PSUM          {} of {} banks\n", used.psum_banks, target.psum_banks);
  for (const std::string& failure : report.failures) fmt::print("{}\n", failure);
  if (report.partial()) fmt::print("{}\n", report.message);
  fmt::print("{}\n", report.failed() ? "not fine" : "fine");
  return report.failed() ? 1 : 0;
}

}  // namespace ncemu::command
