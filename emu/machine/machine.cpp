#include "emu/machine/machine.h"

#include <utility>

#include "emu/machine/core.h"

namespace ncemu {

struct Machine::Impl {
  Core core;
};

Machine::Machine(const MachineConfig& config, const Program& program, RunOptions options)
    : impl_(new Impl{Core(config, program, std::move(options))}) {}
Machine::~Machine() = default;

State& Machine::state() { return impl_->core.state(); }
void Machine::add(Observer& observer) { impl_->core.add(observer); }
RunResult Machine::run() { return impl_->core.run(); }

}  // namespace ncemu
