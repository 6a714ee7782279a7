#pragma once

// The files of emu/machines, embedded by CMake (embedded_machines.cpp.in).

#include <span>
#include <string_view>

namespace ncemu {

struct EmbeddedMachine {
  std::string_view name;
  std::string_view toml;
};
std::span<const EmbeddedMachine> embedded_machines();

}  // namespace ncemu
