#pragma once

// A program that can run, on the machine it was made for: what a Python `Program` holds.

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "emu/machine_config.h"
#include "tools/command/kernel.h"

namespace ncemu::python {

struct RunnableKernel {
  command::Kernel kernel;
  std::string name;  // for messages and reports
};
using KernelPointer = std::shared_ptr<const RunnableKernel>;

// Several mistakes at once; becomes an ncemu.Error with .diagnostics.
class Diagnosed : public std::exception {
 public:
  explicit Diagnosed(Diagnostics diagnostics);
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Diagnostics diagnostics_;
  std::string text_;
};
// Throws Diagnosed if there are errors.
void throw_errors(const Diagnostics& diagnostics);

// Moves what fails a run without being an error (tiles placed over each other) to where a check reports it.
void take_overlaps(command::Kernel& kernel);

struct AssembleRequest {
  std::string path;  // empty: `text` is the source
  std::string text;
  std::string name;  // in messages; empty: the path, or "<text>"
  std::map<std::string, std::string> defines;
  std::optional<MachineConfig> machine;  // absent: the source's own
};
KernelPointer assemble(const AssembleRequest& request);
KernelPointer load(const std::string& path, std::optional<MachineConfig> machine);
void save(const RunnableKernel& kernel, const std::string& path);

// The same program on another machine. Throws Diagnosed if it is not legal there; the program itself where
// the machine is the one it has.
KernelPointer on_machine(const KernelPointer& kernel, const MachineConfig& machine);

}  // namespace ncemu::python
