#pragma once

// `--checks`, `--strict` and what a run's checks found, as messages at source lines: the same for every verb
// and every output.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/observe/checks.h"
#include "tools/command/kernel.h"
#include "tools/command/options.h"

namespace ncemu::command {

// Declares --checks and --sarif.
void declare_check_options(Options& options);
CheckSet check_set(const Options& options);

struct Reported {
  CheckKind kind = CheckKind::races;
  Diagnostic text;  // its severity is what counts: --strict has been applied
  std::string fix;  // also the hint of `text`
  std::uint64_t count = 1;
  bool allowed = false;  // by a comment in the source, whose reason is `reason`
  std::string reason;
};

struct CheckReport {
  CheckSet set;
  std::vector<Reported> findings;
  std::vector<Diagnostic> unused;        // comments that allow what was not found
  std::vector<std::string> not_checked;  // in words

  bool failed() const;
  std::size_t errors() const;  // allowed ones do not count
  std::size_t warnings() const;
};

struct RanHow {
  bool data = true;
  bool finished = true;
  bool strict = false;
};
// Throws Fault(input) if a comment of the source allows a check that does not exist.
CheckReport report_checks(const Kernel& kernel, const Checks& checks, CheckSet set, const RanHow& how);

// All that is not allowed, as a compiler would print it; and what allowances were not used.
std::string findings_text(const CheckReport& report);
// The array "findings" of a report.
nlohmann::ordered_json findings_json(const CheckReport& report);

}  // namespace ncemu::command
