#pragma once

// One case of a suite: run, compared, measured against its limits.

#include <string>
#include <vector>

#include "tools/command/baseline.h"
#include "tools/command/suite.h"
#include "tools/command/workers.h"

namespace ncemu::command {

struct CaseFailure {
  std::string kind;     // "values", "check", "run", "time", "roofline", "metric", "baseline", "input", "bug"
  std::string message;  // a sentence with the figures
  std::string detail;   // more lines; may be empty
};

struct CaseResult {
  std::string id;
  std::vector<CaseFailure> failures;
  std::string messages;  // what the run printed: warnings of the assembler
  std::string compared;  // "y: 4096 elements", "nothing"
  double host_seconds = 0;
  Record record;                // null if the run did not finish
  double roofline_percent = 0;  // 100 x the least time the work needs / the time

  bool passed() const { return failures.empty(); }
};

// Everything but the baseline. As JSON, to pass from one process to another.
std::string run_case(const SuiteCase& c);
CaseResult read_result(const SuiteCase& c, const Finished& finished);

// Adds the failure, if there is one.
void compare_with_baseline(const SuiteCase& c, const Baseline& baseline, CaseResult& result);

}  // namespace ncemu::command
