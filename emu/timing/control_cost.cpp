// Control instructions: what a sequencer takes for them. The sequencers of the five engines differ (measured
// rows), so an engine has its own times where they are measured.

#include "emu/timing/cost_parts.h"

namespace ncemu::cost_parts {
namespace {

// The times that every engine has, whatever the type of its section.
struct OwnTimes {
  double event_ns, clear_ns, drain_ns, notify_ns, branch_ns, register_hbm_ns, trigger_ns;
};
OwnTimes times_of(const auto& section) {
  return {section.event_ns,  section.clear_ns,        section.drain_ns,  section.notify_ns,
          section.branch_ns, section.register_hbm_ns, section.trigger_ns};
}
OwnTimes times_of(Engine engine, const MachineConfig& m) {
  switch (engine) {
    case Engine::tensor: return times_of(m.tensor);
    case Engine::vector: return times_of(m.vector);
    case Engine::scalar: return times_of(m.scalar);
    case Engine::gpsimd: return times_of(m.gpsimd);
    case Engine::sync: return times_of(m.sync);
  }
  return {};
}

}  // namespace

Cost control(const Instruction& instruction, Engine engine, const MachineConfig& m) {
  const OwnTimes own = times_of(engine, m);
  const Ticks cycle = ticks_per_core_cycle(m);
  const Ticks issue = m.control.issue * cycle;
  const auto fixed = [&](double own_ns, Ticks otherwise) {
    const Ticks t = own_ns > 0 ? ticks_from_ns(m, own_ns) : otherwise;
    return Cost{.interval = t, .stream = 0, .latency = t};
  };
  const auto memory = [&](const MemoryOperand& operand) {
    if (std::holds_alternative<AccessPattern>(operand)) return m.control.register_memory * cycle;
    return ticks_from_ns(m, own.register_hbm_ns);
  };
  if (const auto* load = std::get_if<RegisterLoad>(&instruction.operands)) {
    // The next instruction may use the register, so the sequencer waits.
    return {.interval = memory(load->src), .stream = 0, .latency = memory(load->src)};
  }
  if (const auto* store = std::get_if<RegisterStore>(&instruction.operands)) {
    return {.interval = issue, .stream = 0, .latency = memory(store->dst)};
  }
  if (info(instruction.opcode).is_dma()) return fixed(own.trigger_ns, issue);
  if (instruction.opcode == Opcode::compare_branch) return fixed(own.branch_ns, m.control.branch * cycle);
  if (instruction.opcode == Opcode::event_semaphore) return fixed(own.event_ns, issue);
  if (instruction.opcode == Opcode::semaphore_clear) return fixed(own.clear_ns, issue);
  if (instruction.opcode == Opcode::drain) return fixed(own.drain_ns, issue);
  if (instruction.opcode == Opcode::notify) return fixed(own.notify_ns, issue);
  if (instruction.opcode == Opcode::write) return fixed(m.control.write_ns, issue);
  return fixed(0, issue);
}

}  // namespace ncemu::cost_parts
