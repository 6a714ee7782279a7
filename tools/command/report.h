#pragma once

// What a run prints: an aligned text for people, JSON with a versioned schema for programs. Modelled device
// time and host time are separate, labelled lines.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/command/execution.h"

namespace ncemu::command {

struct ReportHead {
  std::string command_line;
  std::string kernel;  // as given
};

// "finished", "deadlock" and so on.
std::string_view status_name(RunStatus status);
// "ncemu run 'a b.nca' -D M=1": words quoted for a shell where they need it.
std::string command_line(std::string_view verb, const Arguments& arguments);

// What every report begins with: schema, version, commit, command line, kernel, machine.
nlohmann::ordered_json report_head_json(std::string_view schema, const ReportHead& head,
                                        const Kernel& kernel);

std::string report_text(const ReportHead& head, const Kernel& kernel, const RunReport& report);
std::string report_json(const ReportHead& head, const Kernel& kernel, const RunReport& report);

}  // namespace ncemu::command
