#pragma once

// The times of a suite's cases as a table in a Markdown file.

#include <string>
#include <vector>

#include "tools/command/suite_run.h"

namespace ncemu::command {

// A row for each `table` of the cases, in their order; a column for each machine: time, and the larger of the
// shares of the tensor engine's and of HBM's peak that it reaches.
std::string times_table(const std::vector<const SuiteCase*>& cases, const std::vector<CaseResult>& results);

// `text` with the table between its marks. Throws Fault(input, path, ...) if it has no marks.
std::string with_table(const std::string& text, const std::string& table, const std::string& path);

}  // namespace ncemu::command
