// What happens when an instruction starts: its place in the pipeline, its effect on data (design: at start),
// the updates it will make, and when the sequencer may issue again.

#include <algorithm>
#include <cstring>

#include "emu/machine/core.h"
#include "isa/address_window.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

std::string_view describe(DataEvent::Kind kind) {
  switch (kind) {
    case DataEvent::Kind::joined_no_group:
      return "accumulated where no accumulation group was open: it overwrote";
    case DataEvent::Kind::bank_shared:
      return "accumulated while a newer accumulation group was open in the same PSUM bank";
    case DataEvent::Kind::outside_domain: return "an input outside the function's valid range";
    case DataEvent::Kind::not_finite: return "a result that is not finite, from finite operands";
    case DataEvent::Kind::saturated: return "a value that the destination's type cannot hold";
  }
  return "";
}

NumericEvent::Kind numeric_kind(DataEvent::Kind kind) {
  switch (kind) {
    case DataEvent::Kind::joined_no_group:
    case DataEvent::Kind::bank_shared: return NumericEvent::Kind::group;
    case DataEvent::Kind::outside_domain: return NumericEvent::Kind::outside_domain;
    case DataEvent::Kind::not_finite: return NumericEvent::Kind::not_finite;
    case DataEvent::Kind::saturated: return NumericEvent::Kind::saturated;
  }
  return NumericEvent::Kind::group;
}

}  // namespace

void Core::start(EngineCore& engine) {
  const std::uint32_t index = engine.sequencer.index();
  const Prepared& prepared = engine.next();
  fault_at(engine.engine, index);
  const Instruction* instruction = &engine.sequencer.current();
  inside_ = true;
  if (prepared.registers) {
    resolved_ = *instruction;
    inside_ = resolve(resolved_, engine.sequencer.registers(), *program_);
    instruction = &resolved_;
  }
  at_work_ = {engine.engine, false, serial_++};
  if (!first_start_) first_start_ = now_;
  switch (prepared.kind) {
    case Prepared::Kind::data: start_data(engine, *instruction, index); break;
    case Prepared::Kind::control: start_control(engine, *instruction, index); break;
    case Prepared::Kind::transfer: start_transfer(engine, *instruction, index); break;
  }
  arrive(engine);
  fetch(engine);
}

void Core::start_data(EngineCore& engine, const Instruction& instruction, std::uint32_t index) {
  Passage passage{.start = now_, .busy_until = now_, .read_done = now_, .complete = now_};
  if (clocked_) {
    passage = engine.timeline.start(instruction, engine.cost, now_);
    engine.busy_until = std::max(engine.busy_until, passage.busy_until);
    engine.next_control = std::max(engine.next_control, now_ + engine.control_issue);
    engine.next_data = now_;
    if (!engine.ports.nothing()) {
      ports_.claim(engine.ports, now_, now_ + engine.cost.stream);
      wake_claimants();
    }
  }
  last_end_ = std::max(last_end_, passage.complete);
  if (!observers_.empty()) observe_start(engine, instruction, index, passage);
  if (state_) execute_data(engine, instruction, index);
  if (instruction.update.present()) {
    const bool at_read = instruction.update.when == UpdateWhen::read;
    push(index, at_read ? passage.read_done : passage.complete, instruction.update);
  }
  engine.sequencer.step();
}

void Core::start_control(EngineCore& engine, const Instruction& instruction, std::uint32_t index) {
  const Cost& cost = engine.cost;
  const Ticks complete = now_ + std::max(cost.interval, cost.latency + cost.stream);
  // A loaded register may be used by the very next instruction.
  Ticks next = instruction.opcode == Opcode::register_load ? complete : now_ + cost.interval;
  const bool taken = engine.sequencer.step();
  if (taken && clocked_) next += branch_miss(index, engine.sequencer.index(), machine_);
  engine.next_control = engine.next_data = next;
  last_end_ = std::max({last_end_, complete, next});
  if (!observers_.empty()) {
    observe_start(engine, instruction, index,
                  {.start = now_, .busy_until = next, .read_done = complete, .complete = complete});
  }
  execute_control(engine, instruction, index, complete);
  if (!instruction.update.present()) return;
  // The acquire form: nobody else may see the semaphore between the wait and the update.
  const Update& update = instruction.update;
  const bool is_event =
      update.operation == UpdateOperation::evt_set || update.operation == UpdateOperation::evt_clr;
  if (instruction.wait.present() && instruction.wait.semaphore == update.semaphore && !is_event) {
    change(update.operation, update.semaphore, update.value, at_work_);
  } else {
    push(index, complete, update);
  }
}

void Core::execute_control(EngineCore& engine, const Instruction& instruction, std::uint32_t index,
                           Ticks complete) {
  if (instruction.opcode == Opcode::core_barrier) {
    throw Fault(FaultKind::program, "", "waits for the other core of the pair, and this run has one core");
  }
  if (const auto* clear = std::get_if<SemaphoreRange>(&instruction.operands)) {
    ensure(clear->first + clear->count <= 256, "a range of semaphores ends at S[255]");
    push_range(index, complete, UpdateOperation::sem_wr_imm, clear->first, clear->count, 0);
  } else if (const auto* words = std::get_if<Write>(&instruction.operands)) {
    write(words->address0, words->data0, index, complete);
    if (words->count > 1) write(words->address1, words->data1, index, complete);
    if (state_) after_effect(engine, instruction, index);
  } else if (const auto* load = std::get_if<RegisterLoad>(&instruction.operands)) {
    if (!state_) {
      lacks_data_ = true;
      throw Fault(FaultKind::program, "",
                  "needs data to load, and this run has none (mode timing-only or check)");
    }
    engine.sequencer.set(load->dst, static_cast<std::int32_t>(load_element(load->src, *state_)));
  } else if (const auto* store = std::get_if<RegisterStore>(&instruction.operands)) {
    engine.stores_done = std::max(engine.stores_done, complete);
    if (state_) {
      store_element(store->dst, static_cast<std::uint32_t>(engine.sequencer.get(store->src)), *state_);
      after_effect(engine, instruction, index);
    }
  }
}

void Core::write(std::uint32_t address, std::uint32_t data, std::uint32_t index, Ticks complete) {
  const auto target = decode_write(address, data, machine_.target);
  if (const auto* semaphore = std::get_if<SemaphoreWrite>(&target)) {
    push_range(index, complete, semaphore->operation, semaphore->semaphore, 1, semaphore->value);
    return;
  }
  if (!state_) return;
  const auto& word = std::get<MemoryWord>(target);
  OnChipMemory& memory = word.space == Space::sbuf ? state_->sbuf : state_->psum;
  std::memcpy(memory.row(word.partition, word.offset, word.offset + sizeof data) + word.offset, &data,
              sizeof data);
  // Written by another hand than the tensor engine's: the word belongs to no accumulation group any more.
  if (word.space == Space::psum)
    state_->groups.stamp({word.partition, static_cast<std::uint32_t>(word.offset / sizeof data), 1}, 0);
}

void Core::start_transfer(EngineCore& engine, const Instruction& instruction, std::uint32_t index) {
  const Route way = route(instruction.operands);
  const Prepared& prepared = engine.next();
  Transfer transfer{{engine.engine, true, at_work_.serial}, index, instruction.update};
  if (instruction.update.present()) increment_per_engine(instruction.update);  // a Fault here, not at its end
  DmaService::TransferId id = unclocked_transfers_++;
  const Ticks next = now_ + engine.cost.interval;
  Ticks busy_until = next;
  if (clocked_) {
    Ticks delay = 0;
    if (options_.perturb_transfer) options_.perturb_transfer(instruction, engine.engine, delay);
    std::shared_ptr<const TransferWork> replaced;
    if (options_.replace_transfer)
      replaced = options_.replace_transfer(instruction, engine.engine, dma_.work(prepared.described));
    const auto triggered = dma_.trigger(way, prepared.described, transfer, now_, engine.issue_cost,
                                        std::max<Ticks>(delay, 0), std::move(replaced));
    id = triggered.id;
    if (occupies_pipeline(prepared)) {
      const Cost program{.interval = dma_.generation(way.mode, prepared.described)};
      engine.busy_until = engine.timeline.start(instruction, program, now_).busy_until;
      busy_until = std::max(next, engine.busy_until);
    }
  }
  engine.next_control = engine.next_data = next;
  last_end_ = std::max(last_end_, busy_until);
  if (!observers_.empty()) {
    observe_start(engine, instruction, index,
                  {.start = now_, .busy_until = busy_until, .read_done = next, .complete = next});
    const TransferStarted event{engine.engine, index, at_work_.serial,
                                &instruction,  id,    &dma_.work(prepared.described),
                                way.queue,     now_};
    for (Observer* observer : observers_) observer->on_transfer(event);
  }
  if (state_) execute_data(engine, instruction, index);
  engine.sequencer.step();
  if (!clocked_) complete_at_once(transfer, id);
}

void Core::complete_at_once(const Transfer& transfer, DmaService::TransferId id) {
  if (transfer.update.present()) {
    const std::uint32_t increment = increment_per_engine(transfer.update);
    for (int e = 0; e < dma_engine_count; ++e) {
      change(UpdateOperation::sem_add_imm, transfer.update.semaphore, increment, transfer.by);
    }
  }
  for (Observer* observer : observers_) observer->on_transfer_done(id, now_);
}

void Core::execute_data(EngineCore& engine, const Instruction& instruction, std::uint32_t index) {
  instruction_at_work_ = &instruction;
  if (inside_) execute(instruction, engine.engine, *state_);
  after_effect(engine, instruction, index);
}

void Core::pass_on_numeric_events() {
  if (!state_ || observers_.empty() || state_->on_event) return;
  if (options_.watch_values) state_->watch.emplace();
  state_->on_event = [this](const DataEvent& e) {
    const NumericEvent event{.engine = at_work_.engine,
                             .index = fault_index_,
                             .serial = at_work_.serial,
                             .instruction = instruction_at_work_,
                             .kind = numeric_kind(e.kind),
                             .what = describe(e.kind),
                             .partition = e.partition,
                             .element = e.element,
                             .value = e.value,
                             .count = e.count};
    for (Observer* observer : observers_) observer->on_numeric(event);
  };
}

void Core::after_effect(EngineCore& engine, const Instruction& instruction, std::uint32_t index) {
  if (options_.on_effect) options_.on_effect(engine.engine, index, instruction, *state_);
}

// A sequencer that has met `halt` stays where it was.
void Core::arrive(const EngineCore& engine) {
  if (!probes_.concerns(engine.engine)) return;
  const std::uint32_t index = engine.sequencer.index();
  if (engine.sequencer.ended() && index < engine.shape_of.size()) return;
  probes_.arrive(engine.engine, index, [&](const Probe& probe) { show(probe, engine); });
}

// An index of the view is what it is for those that count the rounds: their loops have the same counters.
void Core::show(const Probe& probe, const EngineCore& by) {
  Instruction reader;
  reader.opcode = Opcode::register_load;
  reader.operands = RegisterLoad{Register{0}, probe.view};
  if (!needs_resolving(reader)) {
    options_.on_probe(probe, *state_);
    return;
  }
  const EngineCore* counts = &by;
  for (const EngineCore& e : engines_) {
    if (probe.rounds.contains(by.engine)) break;
    if (probe.rounds.contains(e.engine)) counts = &e;
  }
  resolve(reader, counts->sequencer.registers(), *program_);
  Probe resolved = probe;
  resolved.view = std::get<RegisterLoad>(reader.operands).src;
  options_.on_probe(resolved, *state_);
}

void Core::observe_start(EngineCore& engine, const Instruction& instruction, std::uint32_t index,
                         const Passage& passage) {
  const Plan& plan = engine.plan;
  Started started;
  started.engine = engine.engine;
  started.index = index;
  started.serial = at_work_.serial;
  started.instruction = &instruction;
  started.cost = engine.cost;
  started.work = engine.next().work;
  started.stalled_since = std::min(plan.free, now_);
  started.reason = started.stalled_since < now_ ? plan.reason : StallReason::none;
  if (plan.released) {
    started.released = true;
    started.released_by_transfer = plan.by.transfer;
    started.producer = plan.by.engine;
    started.producer_serial = plan.by.serial;
    started.release = plan.release;
  }
  started.passage = passage;
  started.moves = inside_;
  const auto* copy = std::get_if<DmaCopy>(&instruction.operands);
  if (copy != nullptr && state_ && std::holds_alternative<PointerOperand>(copy->index)) {
    rows_ = chosen_rows(*copy, *state_);
    started.rows = &rows_;
  }
  for (Observer* observer : observers_) observer->on_start(started);
}

void Core::push(std::uint32_t index, Ticks at, const Update& update) {
  push_range(index, at, update.operation, update.semaphore, 1, update.value);
}

void Core::push_range(std::uint32_t index, Ticks at, UpdateOperation operation, std::uint8_t first,
                      std::uint16_t count, std::uint32_t value) {
  updates_.push({moment(at, at_work_.engine), operation, first, count, value, index, at_work_.serial});
}

}  // namespace ncemu
