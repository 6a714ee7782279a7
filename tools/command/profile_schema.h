#pragma once

#include <string_view>

namespace ncemu::command {

// profile_schema.json as it stands in the repository: %METRIC_NAMES% and %METRIC_PROPERTIES% stand for the
// rows of emu/observe/metrics.def.
std::string_view profile_schema_template();

}  // namespace ncemu::command
