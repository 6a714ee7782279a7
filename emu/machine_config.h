#pragma once

// A machine: a Target plus everything that costs time. Each number has a unit, a mark and a source
// (datasheet 0.1); TOML in and out; the machines inf2, trn1 and trn2 are embedded.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emu/timing/ticks.h"
#include "isa/target.h"
#include "isa/types.h"

namespace ncemu {

struct MachineConfig {
  Target target;
};

// One parameter as `ncemu machine` shows it.
struct ParameterInfo {
  std::string key;  // "vector.ii_gap"
  std::string value, unit, mark, source, description;
};

// inf2, trn1, trn2. Throws Fault(input) naming the known machines.
MachineConfig builtin_machine(std::string_view name);
// A TOML file: `base = "trn1"` and what differs. Unknown keys are errors with file, line and column.
MachineConfig load_machine(const std::string& path);
// "dma.l_trig_ns=1000". Throws Fault(input) with the nearest key.
void set_parameter(MachineConfig& machine, std::string_view assignment);
std::vector<ParameterInfo> parameters(const MachineConfig& machine);
std::string to_toml(const MachineConfig& machine);
// 16 hexadecimal digits over every parameter and the target.
std::string config_hash(const MachineConfig& machine);

}  // namespace ncemu
