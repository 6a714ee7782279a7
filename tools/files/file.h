#pragma once

// Whole files in and out. A file that is written appears complete or not at all.

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu {

// Throws Fault(input, path, ...) with the system's reason.
std::vector<std::byte> read_file(const std::string& path);

// Writes a temporary name in the same directory, then renames it. Throws Fault(input, path, ...).
void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> pieces);
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);

// Two spellings of one path, links followed; the files need not exist.
bool same_file(const std::string& a, const std::string& b);

// Throws Fault(input, path, ...) if the file cannot be made for want of a directory: found before a long run
// and not after it.
void check_directory(const std::string& path);

}  // namespace ncemu
