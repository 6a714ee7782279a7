#pragma once

// The HTML report: the page of tools/report with a run's data in it. One file, no network.

#include <string>
#include <vector>

#include "emu/observe/profile.h"

namespace ncemu {

// What the script of the page decodes: columns.h around this run, for all that `ncemu profile --json` does
// not say. `sources`: the text of Program::files, empty where it cannot be read. Times count from the start
// of the kernel window.
std::string trace_data(const Profile& profile, const std::vector<std::string>& sources);

// The page itself, with the profile as `ncemu profile --json` prints it.
std::string html_page(const std::string& profile_json, const std::string& trace);

}  // namespace ncemu
