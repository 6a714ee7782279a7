#pragma once

// Whole files in and out. A file that is written appears complete or not at all.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu {

// Throws Fault(input, path, ...) with the system's reason.
std::vector<std::byte> read_file(const std::string& path);

// Writes a temporary name in the same directory, then renames it. Throws Fault(input, path, ...).
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);

}  // namespace ncemu
