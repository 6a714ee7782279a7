#pragma once

// Results of a suite as JUnit XML, which continuous integration servers show.

#include <string>
#include <vector>

#include "tools/command/suite_run.h"

namespace ncemu::command {

// A test case per case; `time` is host time, the modelled time is a property.
std::string junit(const Suite& suite, const std::vector<const SuiteCase*>& cases,
                  const std::vector<CaseResult>& results);

}  // namespace ncemu::command
