#include "tools/command/kernel.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "isa/asm/assembler.h"
#include "isa/check.h"
#include "isa/container.h"
#include "isa/fault.h"
#include "isa/place.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

bool is_container(const std::string& path, std::span<const std::byte> bytes) {
  constexpr std::string_view magic = "NCEMUNCB";
  return path.ends_with(".ncb") ||
         (bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0);
}

std::string plural(std::size_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::size_t warnings(const Diagnostics& diagnostics) {
  const auto& all = diagnostics.all();
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const Diagnostic& d) { return d.severity == Severity::warning; }));
}

// Takes out what the check `overlap` reports.
void take_overlaps(Kernel& kernel) {
  Diagnostics rest;
  for (const Diagnostic& d : kernel.diagnostics.all()) {
    if (d.fails_run) {
      kernel.overlaps.push_back(d);
    } else {
      rest.add(d);
    }
  }
  kernel.diagnostics = std::move(rest);
}

void report(const KernelSource& source, const Diagnostics& diagnostics) {
  std::fputs(diagnostics.text().c_str(), stderr);
  if (diagnostics.has_errors()) {
    throw Fault(FaultKind::input, source.path, "{}, nothing was run", plural(diagnostics.errors(), "error"));
  }
  if (source.strict && warnings(diagnostics) > 0) {
    throw Fault(FaultKind::program, source.path, "{}, and --strict makes them errors",
                plural(warnings(diagnostics), "warning"));
  }
}

// The machine asked for, or the one the program was written for.
MachineConfig machine_of(const KernelSource& source, const Target& target) {
  return load_machine_config(source.machine.empty() ? target.machine : source.machine, source.settings);
}

AssembleOptions assemble_options(const KernelSource& source) {
  AssembleOptions options;
  options.explain_sync = source.explain_sync;
  for (const std::string& define : source.defines) {
    auto [name, value] = split_assignment("-D", define, "NAME=VALUE");
    if (!options.params.emplace(name, value).second) {
      throw Fault(FaultKind::input, "-D", "'{}' is given twice", name);
    }
  }
  return options;
}

// From the bytes read: a pipe gives them only once.
Kernel assemble_kernel(const KernelSource& source, std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  AssembleOptions options = assemble_options(source);
  // The assembler would take the end for one mistake of the source among others.
  std::optional<Fault> ended;
  if (source.progress) {
    options.progress = [&] {
      try {
        source.progress();
      } catch (const Fault& fault) {
        ended = fault;
        throw;
      }
    };
  }
  Kernel kernel;
  if (!source.machine.empty()) {
    kernel.machine = load_machine_config(source.machine, source.settings);
    options.target = kernel.machine.target;
  }
  Assembly assembly = assemble_text(text, source.path, options);
  if (!options.target && assembly.ok()) {
    kernel.machine = machine_of(source, assembly.program.target);
    if (kernel.machine.target != assembly.program.target) {  // --set changed the geometry
      options.target = kernel.machine.target;
      assembly = assemble_text(text, source.path, options);
    }
  }
  if (ended) throw *ended;
  kernel.diagnostics = std::move(assembly.diagnostics);
  take_overlaps(kernel);
  report(source, kernel.diagnostics);
  kernel.program = std::move(assembly.program);
  kernel.sync = std::move(assembly.sync);
  return kernel;
}

Kernel load_assembled(const KernelSource& source, std::span<const std::byte> bytes) {
  if (!source.defines.empty()) {
    throw Fault(FaultKind::input, source.path,
                "-D changes a source, but this is a container: assemble it again");
  }
  Kernel kernel;
  kernel.program = read_container(bytes, source.path);
  kernel.machine = machine_of(source, kernel.program.target);
  const std::string difference = first_difference(kernel.program.target, kernel.machine.target);
  if (!difference.empty()) {
    const std::string assembled_for = kernel.program.target.machine;
    kernel.program.target = kernel.machine.target;
    check_program(kernel.program, kernel.diagnostics);
    if (kernel.diagnostics.has_errors()) {
      std::fputs(kernel.diagnostics.text().c_str(), stderr);
      throw Fault(FaultKind::input, source.path, "assembled for {} and not legal on {} ({})", assembled_for,
                  kernel.machine.target.machine, difference);
    }
  }
  check_overlaps(kernel.program, kernel.diagnostics);
  take_overlaps(kernel);
  report(source, kernel.diagnostics);
  return kernel;
}

}  // namespace

void declare_kernel_options(Options& options) {
  options.group("Kernel and machine")
      .values("define,D", "NAME=VALUE", "sets a .param of the source")
      .value("machine", "NAME|FILE.toml", "runs on this machine instead of the kernel's own")
      .values("set", "KEY=VALUE", "changes one parameter of the machine ('ncemu machine NAME' lists them)")
      .flag("strict", "treats warnings as errors");
}

KernelSource kernel_source(const Options& options) {
  return {.path = options.word("the kernel (.nca or .ncb)"),
          .defines = options.list("define"),
          .machine = options.text("machine"),
          .settings = options.list("set"),
          .explain_sync = false,
          .strict = options.on("strict"),
          .progress = {}};
}

MachineConfig load_machine_config(const std::string& name_or_file, const std::vector<std::string>& settings) {
  const bool file = name_or_file.ends_with(".toml") || name_or_file.find('/') != std::string::npos;
  MachineConfig machine = file ? load_machine(name_or_file) : builtin_machine(name_or_file);
  for (const std::string& setting : settings) set_parameter(machine, setting);
  return machine;
}

std::string explain_sync(const Kernel& kernel) {
  std::string text;
  for (const SyncRecord& record : kernel.sync.records) text += format(record, kernel.program) + "\n";
  text += fmt::format("{} waits, {} updates, {} instructions inserted, {} joins\n", kernel.sync.waits,
                      kernel.sync.updates, kernel.sync.inserted, kernel.sync.joins);
  return text;
}

Kernel load_kernel(const KernelSource& source) {
  const std::vector<std::byte> bytes = read_file(source.path);
  Kernel kernel =
      is_container(source.path, bytes) ? load_assembled(source, bytes) : assemble_kernel(source, bytes);
  if (kernel.program.instruction_count() == 0) {
    throw Fault(FaultKind::input, source.path, "the kernel has no instructions: a run would do nothing");
  }
  return kernel;
}

}  // namespace ncemu::command
