#pragma once

// What `ncemu --version` prints and reports carry.

#include <string>

namespace ncemu::command {

// "ncemu 0.1.0 (commit 0123456789ab, machine trn1 0123456789abcdef)"
std::string version_text();
std::string version_number();
std::string commit();

}  // namespace ncemu::command
