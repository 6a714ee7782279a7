#pragma once

// What a run would take if something were otherwise: the clock runs again, without data, on a changed machine
// or with changed costs. Nothing is estimated by formula.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/observe/profile.h"
#include "tools/command/kernel.h"

namespace ncemu::command {

struct Change {
  std::function<void(MachineConfig&)> machine;  // may be empty
  std::function<void(RunOptions&)> options;     // may be empty
};

class Retimer {
 public:
  explicit Retimer(const Kernel& kernel) : kernel_(&kernel) {}

  // The time with each change, by itself; none for a kernel whose control flow depends on loaded data. They
  // run beside each other, as many as the host has processors, and do not depend on how many.
  std::vector<std::optional<Ticks>> totals(std::span<const Change> changes) const;
  std::size_t runs() const { return runs_; }

 private:
  std::optional<Ticks> total(const Change& change) const;

  const Kernel* kernel_;
  mutable std::size_t runs_ = 0;
};

// Costs of the data path of some instructions times `factor`.
Change scaled(double factor, std::function<bool(const Instruction&, Engine)> which);
// The chosen transfers move nothing; they are still triggered and signalled. `which` gets the transfer's
// place in the order of its issuer, from 0.
Change without_moving(std::function<bool(Engine issuer, std::size_t nth)> which);
// Each transfer's bytes spread evenly over the 16 DMA engines.
Change evenly_spread();

struct WhatIf {
  std::string name;      // "dma_free"
  std::string question;  // "if transfers took no time"
  std::optional<Ticks> total;
};
std::vector<WhatIf> what_if(const Profile& profile, const Retimer& retimer);

}  // namespace ncemu::command
