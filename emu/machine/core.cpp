#include "emu/machine/core.h"

#include <algorithm>

#include "emu/machine/deadlock.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// How long a semaphore change may matter to a wait.
Ticks longest_latency(const MachineConfig& machine) {
  Ticks longest = transfer_done_latency(machine);
  for (const Engine waiter : all_engines) {
    for (const Engine producer : all_engines) {
      longest = std::max(longest, wake_up(waiter, producer, machine));
    }
  }
  return longest;
}

}  // namespace

Core::Core(const MachineConfig& config, const Program& program, RunOptions options)
    : machine_(config),
      program_(&program),
      options_(std::move(options)),
      clocked_(has_clock(options_.mode)),
      semaphores_(program, config.target.semaphore_max, clocked_ ? longest_latency(config) : 0),
      dma_(machine_) {
  if (program.target.generation != config.target.generation) {
    throw Fault(FaultKind::input, program.name, "is made for NeuronCore-v{}, machine {} is a NeuronCore-v{}",
                program.target.generation, config.target.machine, config.target.generation);
  }
  if (has_data(options_.mode)) {
    state_.emplace(program, options_.initial);
    if (options_.stochastic_rounding_seed)
      state_->stochastic_rounding.emplace(*options_.stochastic_rounding_seed);
    if (options_.threads > 1) {
      state_->share_work(workers_.emplace(
          options_.threads, options_.share_from > 0 ? options_.share_from : Workers::worth_sharing));
    }
  }
  engines_.reserve(engine_count);
  for (const Engine e : all_engines) {
    engines_.emplace_back(e, program.stream(e), machine_);
    if (clocked_) engines_.back().control_issue = cost(Instruction{}, e, machine_).interval;
    for (const Engine producer : all_engines) {
      wake_up_[static_cast<std::size_t>(e)][static_cast<std::size_t>(producer)] =
          ncemu::wake_up(e, producer, machine_);
    }
  }
  transfer_done_ = transfer_done_latency(machine_);
  if (state_ && options_.on_probe) probes_ = ProbeWatch(program.probes);
}

State& Core::state() {
  ensure(state_.has_value(), "only a run with data has a state");
  return *state_;
}

RunResult Core::run() {
  ensure(!started_, "a machine runs once");
  started_ = true;
  pass_on_numeric_events();
  try {
    probes_.begin([this](const Probe& probe) { show(probe, engines_.front()); });
    for (EngineCore& e : engines_) fetch(e);
    loop();
  } catch (const Fault& fault) {
    if (fault.kind() != FaultKind::program) throw;
    stop(lacks_data_ ? RunStatus::no_data : RunStatus::fault, describe_fault(fault));
  }
  return result();
}

void Core::loop() {
  while (stopped_ == RunStatus::finished) {
    EngineCore* engine = nullptr;
    Moment next;
    for (EngineCore& e : engines_) {
      if (e.wake.at == never || !(e.wake < next)) continue;
      next = e.wake;
      engine = &e;
    }
    const bool update = !updates_.empty() && updates_.next() < next;
    if (update) next = updates_.next();
    // What the DMA engines do was decided when their transfers were triggered, so it is the oldest at its
    // tick.
    const Ticks dma = dma_.next_time();
    if (dma == never && next.at == never) break;

    if (dma <= next.at) {
      take_dma_events(next.at);
      continue;
    }
    now_ = next.at;
    if (out_of_budget()) return;
    if (update) {
      fire(updates_.pop());
    } else {
      // The wait must hold at the start itself, not only when it was first seen.
      if (!look(*engine) || engine->plan.ready > now_ || !claim_ports(*engine)) continue;
      if (options_.max_instructions != 0 && serial_ == options_.max_instructions) {
        stop(RunStatus::limit, fmt::format("stopped after {} instructions, the limit", serial_));
        return;
      }
      start(*engine);
    }
  }
  const bool all_ended =
      std::all_of(engines_.begin(), engines_.end(), [](const EngineCore& e) { return e.sequencer.ended(); });
  if (!all_ended) stop(RunStatus::deadlock, describe_deadlock(*program_, standings()));
}

bool Core::out_of_budget() {
  if (options_.max_ticks != 0 && now_ > options_.max_ticks) {
    now_ = options_.max_ticks;
    stop(RunStatus::limit, fmt::format("stopped at tick {}, the limit", options_.max_ticks));
    return true;
  }
  constexpr std::uint64_t events_between_questions = 4096;
  if (++step_ % events_between_questions == 0 && options_.interrupted && options_.interrupted()) {
    stop(RunStatus::interrupted, fmt::format("interrupted after {} instructions", serial_));
    return true;
  }
  return false;
}

void Core::fire(const PendingUpdate& update) {
  fault_at(update.moment.engine, update.index);
  for (unsigned k = 0; k < update.count; ++k) {
    change(update.operation, static_cast<std::uint8_t>(update.first + k), update.value,
           {update.moment.engine, false, update.serial});
  }
}

void Core::take_dma_events(Ticks last) {
  for (Ticks at = dma_.next_time(); at <= last && at != never; at = dma_.next_time()) {
    now_ = at;
    if (out_of_budget()) return;
    const std::optional<DmaService::Event> event = dma_.pop();
    if (!event) continue;
    last_end_ = std::max(last_end_, event->end);
    for (Observer* observer : observers_) observer->on_dma(*event);
    if (event->kind != DmaService::Event::Kind::engine_done) continue;
    const Transfer transfer = dma_.transfer(event->transfer);
    fault_at(transfer.by.engine, transfer.index);
    if (transfer.update.present()) {
      change(UpdateOperation::sem_add_imm, transfer.update.semaphore, increment_per_engine(transfer.update),
             transfer.by);
    }
    if (dma_.engine_done(event->transfer)) {
      for (Observer* observer : observers_) observer->on_transfer_done(event->transfer, now_);
    }
    return;  // an engine may have been woken
  }
}

void Core::change(UpdateOperation operation, std::uint8_t semaphore, std::uint32_t value,
                  const Signaller& by) {
  const Semaphores::Change change = semaphores_.apply(operation, semaphore, value, by, now_);
  if (change.before == change.after) return;
  for (Observer* observer : observers_) {
    observer->on_semaphore({semaphore, change.before, change.after, now_, by.engine, by.serial, by.transfer});
  }
  const std::uint8_t waiting = waiters_[semaphore];
  if (waiting == 0) return;
  waiters_[semaphore] = 0;
  for (EngineCore& e : engines_) {
    if ((waiting & bit(e.engine)) != 0) look(e);  // registers again if its wait still does not hold
  }
}

void Core::stop(RunStatus status, std::string message) {
  stopped_ = status;
  stop_message_ = std::move(message);
}

std::string Core::describe_fault(const Fault& fault) const {
  if (fault_index_ == no_index) return fault.what();
  const Instruction& instruction = program_->stream(fault_engine_)[fault_index_];
  return fmt::format("{}: {} (instruction {} of {}): {}", describe_site(*program_, instruction.site),
                     info(instruction.opcode).mnemonic, fault_index_, name(fault_engine_), fault.what());
}

std::vector<Standing> Core::standings() const {
  std::vector<Standing> all;
  for (const EngineCore& e : engines_) {
    Standing s;
    s.engine = e.engine;
    s.index = e.sequencer.index();
    s.ended = e.sequencer.ended();
    if (!s.ended) {
      const Wait& wait = e.sequencer.current().wait;
      const std::uint32_t value = semaphores_.value(wait.semaphore);
      if (wait.present() && !holds(wait.condition, value, e.wait_value)) {
        s.wait = wait;
        s.wait.value = e.wait_value;
        s.wait.value_is_register = false;
        s.semaphore_value = value;
      }
    }
    all.push_back(s);
  }
  return all;
}

RunResult Core::result() {
  RunResult result;
  result.status = stopped_;
  result.message = stop_message_;
  result.instructions = serial_;
  result.total = last_end_ - first_start_.value_or(last_end_);
  result.standings = standings();
  for (Observer* observer : observers_) observer->on_end(last_end_);
  return result;
}

}  // namespace ncemu
