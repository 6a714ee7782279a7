#include "tools/command/run_request.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <thread>

#include "isa/fault.h"
#include "tools/command/run_options.h"

namespace ncemu::command {
namespace {

std::byte parse_byte(const std::string& text) {
  const bool hex = text.starts_with("0x");
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
  if (error != std::errc{} || stopped != end || value > 0xFF)
    throw Fault(FaultKind::input, "--poison", "'{}' is no byte: expected 0 to 255 or 0x00 to 0xFF", text);
  return static_cast<std::byte>(value);
}

// At most the host's processors: more would only wait for each other.
int thread_count(const Options& options) {
  const auto processors = std::max(1U, std::thread::hardware_concurrency());
  const std::uint64_t asked = options.count("threads").value_or(1);
  return static_cast<int>(asked == 0 ? processors : std::min<std::uint64_t>(asked, processors));
}

}  // namespace

void declare_run_options(Options& options) {
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
      .value("threads", "N",
             "host threads that share large instructions (default 1; 0: all processors); same results")
      .value("max-time", "SECONDS", "ends with a partial report after this much host time")
      .value("max-instructions", "N", "ends with a partial report after N instructions")
      .value("stochastic-rounding", "SEED",
             "vector, scalar and gpsimd round float results up or down by chance, from this seed")
      .value("poison", "BYTE", "what memory that nothing wrote reads as: 0 to 255 or 0x00 to 0xFF (default)")
      .value("vector-target", "NAME", "host vector code: scalar, avx2, avx3 or best (default); same results");
  options.note(
      "Generators: random[:seed=N] is normal(0, 1); uniform[:lo=A,hi=B,seed=N]; zeros; ones; iota. The same "
      "on every\n"
      "host; tensors of different names get different numbers.\n"
      "An .inout tensor takes both --in and --out.");
}

RunRequest run_request(const Options& options, std::string_view verb) {
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
  request.threads = thread_count(options);
  request.stochastic_rounding_seed = options.count("stochastic-rounding");
  if (request.bits && (options.has("rtol") || options.has("atol"))) {
    throw Fault(FaultKind::input, fmt::format("ncemu {}", verb),
                "--bits allows no tolerance: leave out --rtol and --atol");
  }
  return request;
}

OutputFiles report_files(const KernelSource& source, const RunRequest& request) {
  OutputFiles files;
  files.keep("the kernel", source.path);
  for (const auto* list : {&request.in, &request.out, &request.expect}) {
    for (const std::string& text : *list) {
      std::string path = text.substr(text.find('=') + 1);  // all of it where there is no '='
      // "y.npy:float32", "all.safetensors:ENTRY"
      for (const std::string_view end : {".npy:", ".safetensors:"}) {
        if (const std::size_t at = path.find(end); at != std::string::npos) path.resize(at + end.size() - 1);
      }
      files.keep(fmt::format("the file of '{}'", text), path);
    }
  }
  return files;
}

int report_outcome(const KernelSource& source, const RunReport& report, bool json_on_output) {
  std::fputs(findings_text(report.checks).c_str(), stderr);
  for (const std::string& warning : report.warnings) fmt::print(stderr, "{}\n", warning);
  if (report.partial()) fmt::print(stderr, "{}: {}\n", source.path, report.message);
  for (const std::string& failure : report.failures) fmt::print(stderr, "{}: {}\n", source.path, failure);
  // The report on standard output says it otherwise.
  if (json_on_output && report.differs()) {
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
