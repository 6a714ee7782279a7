#pragma once

// What a run prints: an aligned text for people, JSON with a versioned schema for programs. Modelled device
// time and host time are separate, labelled lines.

#include <string>

#include "tools/command/execution.h"

namespace ncemu::command {

struct ReportHead {
  std::string command_line;
  std::string kernel;  // as given
};

// "ncemu run 'a b.nca' -D M=1": words quoted for a shell where they need it.
std::string command_line(std::string_view verb, const Arguments& arguments);

std::string report_text(const ReportHead& head, const Kernel& kernel, const RunReport& report);
std::string report_json(const ReportHead& head, const Kernel& kernel, const RunReport& report);

}  // namespace ncemu::command
