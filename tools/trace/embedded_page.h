#pragma once

#include <string_view>

namespace ncemu {

// tools/report/dist/report.html, as it was when this was built.
std::string_view embedded_page();

}  // namespace ncemu
