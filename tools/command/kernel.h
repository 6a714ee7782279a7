#pragma once

// From a file name to a program that can run, and the machine it runs on.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emu/machine_config.h"
#include "isa/diagnostics.h"
#include "isa/program.h"
#include "isa/sync.h"
#include "tools/command/options.h"

namespace ncemu::command {

struct Kernel {
  Program program;
  MachineConfig machine;
  Diagnostics diagnostics;           // warnings only
  std::vector<Diagnostic> overlaps;  // of live tiles, which are for a check to report
  SyncReport sync;                   // records only if asked for; empty for a container
};

struct KernelSource {
  std::string path;                   // .nca or .ncb
  std::vector<std::string> defines;   // NAME=VALUE
  std::string machine;                // a name, a .toml file, or empty: the kernel's own
  std::vector<std::string> settings;  // key=value
  bool explain_sync = false;
  bool strict = false;             // warnings are errors
  std::function<void()> progress;  // called now and then while the source is assembled; may throw
};

// Declares -D, --machine, --set, --strict and reads them.
void declare_kernel_options(Options& options);
KernelSource kernel_source(const Options& options);

// Prints the diagnostics to standard error. Throws Fault(input) if the source cannot be assembled, or if a
// container is not legal on the chosen machine.
Kernel load_kernel(const KernelSource& source);

// One line per wait that was inserted, for --explain-sync.
std::string explain_sync(const Kernel& kernel);

// "trn2", "mine.toml", with the settings applied.
MachineConfig load_machine_config(const std::string& name_or_file, const std::vector<std::string>& settings);

}  // namespace ncemu::command
