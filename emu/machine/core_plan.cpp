// When the next instruction of an engine may start: the latest of what its pipeline, its wait, its descriptor
// generator and its ports allow (design: time; datasheet 6.0.2).

#include <algorithm>

#include "emu/machine/core.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Whether an instruction that runs keeps the other waiting.
bool keeps_waiting(const PortUse& running, const PortUse& other) {
  return (running.holds & other.waits) != 0;
}

}  // namespace

const Prepared& Core::prepare(EngineCore& engine) {
  const Instruction& instruction = engine.sequencer.current();
  Shapes::Number& shape = engine.shape_of[engine.sequencer.index()];
  if (shape == Shapes::none) shape = engine.shapes.number(instruction);
  engine.shape = shape;
  if (shape < engine.prepared.size()) return engine.next();
  Prepared& prepared = engine.prepared.emplace_back();
  const InstructionInfo& row = info(instruction.opcode);
  prepared.kind = row.is_control() ? Prepared::Kind::control
                  : row.is_dma()   ? Prepared::Kind::transfer
                                   : Prepared::Kind::data;
  prepared.registers = needs_resolving(instruction);
  prepared.work = work(instruction);
  if (clocked_) {
    prepared.cost = ncemu::cost(instruction, engine.engine, machine_);
    if (prepared.kind == Prepared::Kind::data && !options_.share_ports) {
      prepared.ports = port_use(instruction, engine.engine, machine_);
    }
  }
  if (prepared.kind == Prepared::Kind::transfer) {
    prepared.mode = route(instruction.operands).mode;
    if (clocked_ || !observers_.empty()) prepared.described = dma_.describe(instruction.operands);
  }
  return prepared;
}

void Core::fetch(EngineCore& engine) {
  engine.wake.at = never;
  if (engine.sequencer.ended()) {
    const Ticks end = std::max({engine.next_control, engine.next_data, engine.busy_until});
    for (Observer* observer : observers_) observer->on_stream_end(engine.engine, end);
    return;
  }
  fault_at(engine.engine, engine.sequencer.index());
  const Prepared& prepared = prepare(engine);
  const Instruction& instruction = engine.sequencer.current();
  engine.cost = prepared.cost;
  engine.ports = prepared.ports.of_banks() ? port_use(instruction, engine.engine, machine_) : prepared.ports;
  if (clocked_ && options_.perturb && prepared.kind == Prepared::Kind::data) {
    options_.perturb(instruction, engine.engine, engine.cost);
  }
  if (prepared.kind == Prepared::Kind::transfer && clocked_) {
    // Generation occupies the issuer; on gpsimd it is a program like any other, which has the engine but not
    // the sequencer (datasheet 7.7).
    engine.issue_cost = prepared.cost.interval;
    engine.cost = {dma_.occupation(prepared.mode, prepared.described, engine.issue_cost), 0, 0};
  }
  engine.wait_value = instruction.wait.present()
                          ? wait_value(instruction.wait, engine.sequencer.registers(), machine_.target)
                          : std::uint16_t{0};
  look(engine);
}

void Core::wake(EngineCore& engine, Ticks at) { engine.wake = moment(at, engine.engine); }

bool Core::look(EngineCore& engine) {
  if (!plan(engine)) {
    engine.wake.at = never;
    const Instruction& instruction = engine.sequencer.current();
    waiters_[instruction.wait.semaphore] |= bit(engine.engine);
    if (engine.claiming) {
      engine.claiming = false;
      wake_claimants();
    }
    return false;
  }
  wake(engine, std::max(engine.plan.ready, now_));
  return true;
}

bool Core::plan(EngineCore& engine) {
  const Instruction& instruction = engine.sequencer.current();
  const Prepared& prepared = engine.next();
  const Semaphores::Satisfaction wait =
      instruction.wait.present() ? semaphores_.satisfaction(instruction.wait.semaphore,
                                                            instruction.wait.condition, engine.wait_value)
                                 : Semaphores::Satisfaction{true, false, 0, {}};
  if (!wait.holds) return false;
  Plan& plan = engine.plan;
  plan.reason = StallReason::none;
  plan.released = false;
  if (!clocked_) {
    plan.ready = plan.free = now_;
    return true;
  }
  const auto no_sooner_than = [&](Ticks t, StallReason reason) {
    if (t <= plan.ready) return false;
    plan.ready = t;
    plan.reason = reason;
    return true;
  };
  const bool control = prepared.kind != Prepared::Kind::data;
  plan.ready = control ? engine.next_control : engine.next_data;
  plan.free = std::max(plan.ready, engine.busy_until);
  if (!control || occupies_pipeline(prepared)) {
    no_sooner_than(engine.timeline.earliest_start(instruction, engine.cost), StallReason::pipeline);
  }
  if (instruction.opcode == Opcode::drain) {
    no_sooner_than(std::max(engine.timeline.drained(), engine.stores_done), StallReason::pipeline);
  }
  if (prepared.kind == Prepared::Kind::transfer) {
    no_sooner_than(dma_.earliest_issue(engine.engine, prepared.mode, engine.issue_cost),
                   StallReason::dma_queue);
  }
  if (wait.remembered) {
    plan.released = true;
    plan.by = wait.by;
    plan.release = wait.since + (wait.by.transfer ? transfer_done_ : wake_up(engine.engine, wait.by.engine));
    no_sooner_than(plan.release, wait.by.transfer ? StallReason::dma : StallReason::semaphore);
  }
  return true;
}

bool Core::claim_ports(EngineCore& engine) {
  if (engine.ports.nothing()) return true;
  if (!engine.claiming) {
    engine.claiming = true;
    engine.claim = claims_++;
  }
  // Behind an older claim the wake-up comes from its start.
  for (const EngineCore& other : engines_) {
    if (!other.claiming || other.claim >= engine.claim) continue;
    if (keeps_waiting(other.ports, engine.ports)) {
      engine.wake.at = never;
      return false;
    }
  }
  const Ticks free = ports_.free_at(engine.ports);
  if (free > now_) {
    wake(engine, free);
    return false;
  }
  engine.claiming = false;
  if (now_ > engine.plan.ready) engine.plan.reason = StallReason::port;
  return true;
}

void Core::wake_claimants() {
  for (EngineCore& other : engines_) {
    if (!other.claiming) continue;
    wake(other, std::max(now_, ports_.free_at(other.ports)));
  }
}

}  // namespace ncemu
