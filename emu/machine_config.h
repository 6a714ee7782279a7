#pragma once

// A machine: a Target plus everything that costs time. Each number has a unit, a mark and a source
// (datasheet 0.1); TOML in and out; the machines inf2, trn1 and trn2 are embedded. The members are
// generated from emu/parameters.def.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "emu/timing/ticks.h"
#include "isa/target.h"
#include "isa/types.h"

namespace ncemu {

enum class TimingMode : std::uint8_t { measured, documented };

// Where a value comes from: mark doc, drv, derived, assumed or measured; "set" when a user changed it.
struct Provenance {
  std::string mark, source;
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

// A default-constructed configuration has no values: start from builtin_machine or load_machine.
struct MachineConfig {
  Target target;
#define SECTION_BEGIN(Type, section) struct Type {
#define PARAMETER(section, name, type, unit, rule, description) type name{};
#define SECTION_END(section) \
  }                          \
  section;
#include "emu/parameters.def"
  std::vector<Provenance> provenance;  // by parameter, in the table's order
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
// The same from text; `file` is for messages.
MachineConfig parse_machine(std::string_view text, const std::string& file);
// "dma.l_trig_ns=1000". Throws Fault(input) with the nearest key.
void set_parameter(MachineConfig& machine, std::string_view assignment);
std::vector<ParameterInfo> parameters(const MachineConfig& machine);
std::string to_toml(const MachineConfig& machine);
// 16 hexadecimal digits over every parameter and the target; marks and sources do not count.
std::string config_hash(const MachineConfig& machine);

// ---- time -----------------------------------------------------------------------------------

std::int64_t clock_mhz(const MachineConfig& machine, Engine engine);
// The tick is the longest time in which every clock of the machine is exact.
Ticks ticks_per_us(const MachineConfig& machine);
Ticks ticks_per_cycle(const MachineConfig& machine, Engine engine);
// Of the base clock.
Ticks ticks_per_core_cycle(const MachineConfig& machine);
// The one place where times become ticks: to nearest, halves up.
Ticks ticks_from_ns(Ticks ticks_per_us, double ns);
Ticks ticks_from_ns(const MachineConfig& machine, double ns);
double ns_from_ticks(const MachineConfig& machine, Ticks ticks);
double core_cycles(const MachineConfig& machine, Ticks ticks);
// The one place where bandwidths become time.
Ticks ticks_from_bytes(Ticks ticks_per_us, double bytes, double bytes_per_ns, double overhead_ns);

}  // namespace ncemu
