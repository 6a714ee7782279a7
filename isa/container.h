#pragma once

// The `.ncb` container: magic, version, target, streams of words, named tensors with constants, and
// a debug section (files, sites, tiles, places, semaphore names, probes,
// allowances) with a checksum of its own.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "isa/program.h"

namespace ncemu {

inline constexpr std::uint32_t container_version = 3;

// The program must be placed and synchronised.
std::vector<std::byte> write_container(const Program& program);
// Throws Fault(input, name, ...) for anything but a well-formed container of this version.
Program read_container(std::span<const std::byte> bytes, const std::string& name);

void save_container(const Program& program, const std::string& path);  // temporary name, then rename
Program load_container(const std::string& path);

}  // namespace ncemu
