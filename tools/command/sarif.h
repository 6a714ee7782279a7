#pragma once

// Findings as SARIF 2.1.0 (OASIS), the format with which code hosts annotate lines.

#include <string>

#include "tools/command/checks.h"

namespace ncemu::command {

// Paths become URIs relative to `directory` where they lie inside it.
std::string sarif(const CheckReport& report, const std::string& directory);

}  // namespace ncemu::command
