#pragma once

// Machines as Python gives them: a name, a .toml file or a Machine.

#include <pybind11/pybind11.h>

#include <optional>

#include "emu/machine_config.h"

namespace ncemu::python {

MachineConfig machine_of(pybind11::handle object);
std::optional<MachineConfig> optional_machine_of(pybind11::handle object);  // absent for None

}  // namespace ncemu::python
