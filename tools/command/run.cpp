// `ncemu run`: a kernel, its data, and what came out.

#include <charconv>
#include <cstdio>

#include "emu/data/vector_target.h"
#include "isa/fault.h"
#include "tools/command/execution.h"
#include "tools/command/first_difference.h"
#include "tools/command/report.h"
#include "tools/command/run_options.h"
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
  declare_check_options(options);
  options.group("Data")
      .values("in", "NAME=SOURCE", "an input: FILE.npy, FILE.safetensors[:ENTRY], or a generator (below)")
      .values("out", "NAME=FILE",
              "saves an output: FILE.npy, FILE.npy:float32 or FILE.safetensors; FILE.safetensors "
              "alone saves all")
      .values("expect", "NAME=FILE",
              "compares an output with a reference; a difference makes the exit code 1")
      .value("rtol", "X", "tolerance relative to the reference (default 0)")
      .value("atol", "X", "absolute tolerance (default 0)")
      .flag("bits", "compares bit for bit, after conversion of the reference to the output's type");
  options.group("Run")
      .value("mode", "MODE", "functional, timed (default), timing-only or check")
      .value("max-time", "SECONDS", "ends with a partial report after this much host time")
      .value("max-instructions", "N", "ends with a partial report after N instructions")
      .value("stochastic-rounding", "SEED",
             "vector, scalar and gpsimd round float results up or down by chance, from this seed")
      .value("poison", "BYTE", "what memory that nothing wrote reads as: 0 to 255 or 0x00 to 0xFF (default)")
      .value("vector-target", "NAME", "host vector code: scalar, avx2, avx3 or best (default); same results");
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
  options.note(
      "Generators: random[:seed=N] is normal(0, 1); uniform[:lo=A,hi=B,seed=N]; zeros; ones; iota. The same "
      "on every\n"
      "host; tensors of different names get different numbers.\n"
      "An .inout tensor takes both --in and --out.");
  return options;
}

std::byte parse_byte(const std::string& text) {
  const bool hex = text.starts_with("0x");
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (error != std::errc{} || stopped != end || value > 0xFF)
    throw Fault(FaultKind::input, "--poison", "'{}' is no byte: expected 0 to 255 or 0x00 to 0xFF", text);
  return static_cast<std::byte>(value);
}

RunRequest run_request(const Options& options) {
  RunRequest request;
  request.mode = parse_mode(options.text("mode", "timed"));
  request.in = options.list("in");
  request.out = options.list("out");
  request.expect = options.list("expect");
  request.dumps = options.list("dump");
  request.tolerance = {.relative = options.number("rtol").value_or(0),
                       .absolute = options.number("atol").value_or(0)};
  request.bits = options.on("bits");
  read_limits(options, request);
  read_checks(options, request);
  if (options.has("poison")) request.poison = parse_byte(options.text("poison"));
  request.stochastic_rounding_seed = options.count("stochastic-rounding");
  if (request.bits && (options.has("rtol") || options.has("atol"))) {
    throw Fault(FaultKind::input, "ncemu run", "--bits allows no tolerance: leave out --rtol and --atol");
  }
  return request;
}

// The report must not replace the kernel or a tensor's file.
void check_report(const std::string& json, const KernelSource& source, const RunRequest& request) {
  if (json.empty() || json == "-") return;
  check_report_file(json, source);
  for (const auto* list : {&request.in, &request.out, &request.expect}) {
    for (const std::string& text : *list) {
      if (same_file(json, text.substr(text.find('=') + 1)))  // all of it where there is no '='
        throw Fault(FaultKind::input, json, "the report would replace the file of '{}'", text);
    }
  }
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
  const RunRequest request = run_request(options);
  const std::string json = options.text("json");
  const std::string sarif_file = options.text("sarif");
  for (const std::string& path : {json, sarif_file}) check_report(path, source, request);
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
  if (json == "-") {
    std::fputs(report_json(head, kernel, report).c_str(), stdout);
  } else {
    std::fputs(report_text(head, kernel, report).c_str(), stdout);
    if (!json.empty()) write_file(json, report_json(head, kernel, report));
  }
  write_sarif(sarif_file, report.checks);
  std::fflush(stdout);
  std::fputs(findings_text(report.checks).c_str(), stderr);
  for (const std::string& warning : report.warnings) fmt::print(stderr, "{}\n", warning);
  if (report.partial()) fmt::print(stderr, "{}: {}\n", source.path, report.message);
  for (const std::string& failure : report.failures) fmt::print(stderr, "{}: {}\n", source.path, failure);
  // The report on standard output says it otherwise.
  if (json == "-" && report.differs()) {
    for (const Checked& c : report.checked) {
      if (!c.difference.equal())
        fmt::print(stderr, "{}: output '{}': {} ({})\n", source.path, c.tensor, c.text, c.source);
    }
  }
  if (source.strict && !report.warnings.empty()) {
    fmt::print(stderr, "{}: --strict makes {} warnings of the run errors\n", source.path,
               report.warnings.size());
    return 1;
  }
  return report.failed() ? 1 : 0;
}

}  // namespace ncemu::command
