#include "tools/command/version.h"

#include <fmt/format.h>

#include "emu/machine_config.h"
#include "tools/command/build_version.h"

namespace ncemu::command {

std::string version_number() { return build_version; }
std::string commit() { return build_commit; }

std::string version_text() {
  const MachineConfig machine = builtin_machine(Target{}.machine);
  return fmt::format("ncemu {} (commit {}, machine {} {})", build_version, build_commit,
                     machine.target.machine, config_hash(machine));
}

}  // namespace ncemu::command
