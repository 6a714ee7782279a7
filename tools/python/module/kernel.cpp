#include "tools/python/module/kernel.h"

#include "isa/asm/assembler.h"
#include "isa/check.h"
#include "isa/container.h"
#include "isa/fault.h"
#include "isa/place.h"

namespace ncemu::python {
namespace {

void check_not_empty(const RunnableKernel& kernel) {
  if (kernel.kernel.program.instruction_count() > 0) return;
  throw Fault(FaultKind::input, kernel.name, "the kernel has no instructions: a run would do nothing");
}

// The kernel's own machine, as its name says.
MachineConfig machine_of(const std::optional<MachineConfig>& machine, const Target& target) {
  return machine ? *machine : builtin_machine(target.machine);
}

void check_legal(command::Kernel& kernel, const Target& target) {
  if (first_difference(kernel.program.target, target).empty()) return;
  kernel.program.target = target;
  check_program(kernel.program, kernel.diagnostics);
  throw_errors(kernel.diagnostics);
}

}  // namespace

Diagnosed::Diagnosed(Diagnostics diagnostics)
    : diagnostics_(std::move(diagnostics)), text_(diagnostics_.text()) {}

void throw_errors(const Diagnostics& diagnostics) {
  if (diagnostics.has_errors()) throw Diagnosed(diagnostics);
}

void take_overlaps(command::Kernel& kernel) {
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

KernelPointer assemble(const AssembleRequest& request) {
  AssembleOptions options;
  options.params = request.defines;
  if (request.machine) options.target = request.machine->target;
  const std::string name = !request.name.empty()   ? request.name
                           : !request.path.empty() ? request.path
                                                   : "<text>";
  Assembly assembly = request.path.empty() ? assemble_text(request.text, name, options)
                                           : assemble_file(request.path, options);
  throw_errors(assembly.diagnostics);
  auto made = std::make_shared<RunnableKernel>();
  made->name = name;
  made->kernel.machine = machine_of(request.machine, assembly.program.target);
  made->kernel.program = std::move(assembly.program);
  made->kernel.diagnostics = std::move(assembly.diagnostics);
  made->kernel.sync = std::move(assembly.sync);
  take_overlaps(made->kernel);
  check_not_empty(*made);
  return made;
}

KernelPointer load(const std::string& path, std::optional<MachineConfig> machine) {
  auto made = std::make_shared<RunnableKernel>();
  made->name = path;
  command::Kernel& kernel = made->kernel;
  kernel.program = load_container(path);
  kernel.machine = machine_of(machine, kernel.program.target);
  check_legal(kernel, kernel.machine.target);
  check_overlaps(kernel.program, kernel.diagnostics);
  take_overlaps(kernel);
  check_not_empty(*made);
  return made;
}

void save(const RunnableKernel& kernel, const std::string& path) {
  save_container(kernel.kernel.program, path);
}

KernelPointer on_machine(const KernelPointer& kernel, const MachineConfig& machine) {
  if (machine.target == kernel->kernel.machine.target &&
      config_hash(machine) == config_hash(kernel->kernel.machine))
    return kernel;
  auto made = std::make_shared<RunnableKernel>(*kernel);
  made->kernel.machine = machine;
  check_legal(made->kernel, machine.target);
  return made;
}

}  // namespace ncemu::python
