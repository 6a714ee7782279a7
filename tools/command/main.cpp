// Chooses the verb; the only place that catches and exits. 0 fine, 1 the kernel or a check failed, 2 the
// input cannot be used, 3 our own bug.

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "tools/command/verbs.h"
#include "tools/command/version.h"

namespace {

using namespace ncemu;

constexpr std::string_view log_levels = "trace debug info warning error off";

std::string help() {
  std::string text =
      "ncemu runs kernels written for the NeuronCore-v2 and -v3 without the hardware and says where their "
      "time "
      "goes.\n\nUsage: ncemu [--log-level LEVEL] VERB [arguments]\n\n";
  for (const command::Verb& verb : command::verbs())
    text += fmt::format("  {:<8} {}\n", verb.name, verb.sentence);
  text += "  help     print this page, or the page of a verb\n\n";
  text +=
      "'ncemu VERB --help' lists the options of a verb; 'ncemu --version' prints version, commit and "
      "machine.\n"
      "--log-level (" +
      std::string(log_levels) +
      ") sends messages for developers to standard error.\n"
      "Exit codes: 0 fine; 1 the kernel or a check failed; 2 the input cannot be used; 3 a bug of ncemu.\n";
  return text;
}

int print_version() {
  fmt::print("{}\n", command::version_text());
  return 0;
}

int dispatch(command::Arguments words) {
  while (!words.empty() && words.front().starts_with("--log-level")) {
    std::string level;
    if (words.front().starts_with("--log-level=")) {
      level = words.front().substr(12);
    } else if (words.size() > 1 && words.front() == "--log-level") {
      level = words[1];
      words.erase(words.begin());
    }
    const auto known = spdlog::level::from_str(level);
    if (known == spdlog::level::off && level != "off") {
      throw Fault(FaultKind::input, "ncemu", "--log-level '{}' is not one of: {}", level, log_levels);
    }
    spdlog::set_level(known);
    words.erase(words.begin());
  }
  if (words.empty()) {
    std::fputs(help().c_str(), stderr);
    return 2;
  }
  std::string name = words.front();
  words.erase(words.begin());
  if (name == "--version") return print_version();
  if (name == "help" && !words.empty()) {
    name = words.front();
    words = {"--help"};
  }
  if (name == "help" || name == "--help" || name == "-h") {
    std::fputs(help().c_str(), stdout);
    return 0;
  }
  std::vector<std::string_view> names = {"help"};
  for (const command::Verb& verb : command::verbs()) {
    if (verb.name == name && words == command::Arguments{"--version"}) return print_version();
    if (verb.name == name) return verb.function(words);
    names.push_back(verb.name);
  }
  const std::string_view near = did_you_mean(name, names);
  throw Fault(FaultKind::input, "ncemu", "there is no verb '{}'{}; see 'ncemu help'", name,
              near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

}  // namespace

int main(int count, char** words) {
  spdlog::set_default_logger(spdlog::stderr_logger_st("ncemu"));
  spdlog::set_level(spdlog::level::off);
  try {
    const int code = dispatch(command::Arguments(words + 1, words + count));
    // What was printed may still fail to arrive (a full disk); a pipe closed by its reader is the reader's
    // wish.
    if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && code == 0)
      throw Fault(FaultKind::input, "standard output", "cannot write: {}", std::strerror(errno));
    return code;
  } catch (const Fault& fault) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", fault.what());
    switch (fault.kind()) {
      case FaultKind::program: return 1;
      case FaultKind::input: return 2;
      case FaultKind::internal: return 3;
    }
  } catch (const std::system_error& error) {  // fmt's, of a print that the system refused
    fmt::print(stderr, "standard output: {}\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    fmt::print(
        stderr,
        "ncemu: out of memory: the kernel's tensors or the machine's memories are too large for this host\n");
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "ncemu: internal error: {}\n", error.what());
  } catch (...) {
    fmt::print(stderr, "ncemu: internal error of unknown kind\n");
  }
  return 3;
}
