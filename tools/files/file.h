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

// Writes a temporary name in the same directory, then renames it; follows links, and writes into what is no
// regular file (a device, a pipe, /dev/stdout). Throws Fault(input, path, ...).
void write_file(const std::string& path, std::initializer_list<std::span<const std::byte>> pieces);
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);

// To standard output, at once. Throws Fault(input, "standard output", ...).
void write_output(std::string_view text);

// Two spellings of one path, links followed; the files need not exist.
bool same_file(const std::string& a, const std::string& b);

// Throws Fault(input, path, ...) if write_file() could not write there now: no directory, no permission, a
// device that is full. Found before a long run and not after it; what is there stays as it is.
void check_writable(const std::string& path);

}  // namespace ncemu
