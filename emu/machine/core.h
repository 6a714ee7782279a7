#pragma once

// The inside of a Machine: five engines, semaphores, ports, transfers, and the loop that moves them from
// event to event. Between two events nothing changes. At an event either an engine looks whether its next
// instruction may start, or a semaphore update fires, or the DMA service has done something.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "emu/data/state.h"
#include "emu/data/workers.h"
#include "emu/machine/dma.h"
#include "emu/machine/engine.h"
#include "emu/machine/machine.h"
#include "emu/machine/probes.h"
#include "isa/fault.h"

namespace ncemu {

class Core {
 public:
  // The program must outlive the core.
  Core(const MachineConfig& config, const Program& program, RunOptions options);
  Core(const Core&) = delete;  // the DMA unit refers to the machine description of its own core
  Core& operator=(const Core&) = delete;

  State& state();
  void add(Observer& observer) { observers_.push_back(&observer); }
  RunResult run();

 private:
  // core.cpp: the loop and how it ends.
  void loop();
  bool out_of_budget();
  void fire(const PendingUpdate& update);
  void take_dma_events(Ticks last);  // up to the first that may wake an engine
  void change(UpdateOperation operation, std::uint8_t semaphore, std::uint32_t value, const Signaller& by);
  void stop(RunStatus status, std::string message);
  std::string describe_fault(const Fault& fault) const;
  std::vector<Standing> standings() const;
  RunResult result();

  // core_plan.cpp: when the next instruction may start.
  const Prepared& prepare(EngineCore& engine);
  void fetch(EngineCore& engine);
  bool look(
      EngineCore& engine);  // plans and schedules the start; false: registered with its semaphore instead
  bool plan(EngineCore& engine);  // false: its wait does not hold
  bool claim_ports(EngineCore& engine);
  void wake_claimants();
  void wake(EngineCore& engine, Ticks at);

  // core_start.cpp: what happens when it does.
  void start(EngineCore& engine);
  void start_data(EngineCore& engine, const Instruction& instruction, std::uint32_t index);
  void start_control(EngineCore& engine, const Instruction& instruction, std::uint32_t index);
  void start_transfer(EngineCore& engine, const Instruction& instruction, std::uint32_t index);
  void execute_control(EngineCore& engine, const Instruction& instruction, std::uint32_t index,
                       Ticks complete);
  void write(std::uint32_t address, std::uint32_t data, std::uint32_t index, Ticks complete);
  void complete_at_once(const Transfer& transfer, DmaService::TransferId id);
  void execute_data(EngineCore& engine, const Instruction& instruction, std::uint32_t index);
  void pass_on_numeric_events();
  void after_effect(EngineCore& engine, const Instruction& instruction, std::uint32_t index);
  void arrive(const EngineCore& engine);
  void show(const Probe& probe, const EngineCore& by);
  void observe_start(EngineCore& engine, const Instruction& instruction, std::uint32_t index,
                     const Passage& passage);
  void push(std::uint32_t index, Ticks at, const Update& update);
  void push_range(std::uint32_t index, Ticks at, UpdateOperation operation, std::uint8_t first,
                  std::uint16_t count, std::uint32_t value);

  static std::uint8_t bit(Engine e) { return EngineSet(e).bits(); }
  // Descriptors of the software mode are made by a program on gpsimd, which its data path runs like any
  // other.
  static bool occupies_pipeline(const Prepared& prepared) {
    return prepared.kind == Prepared::Kind::transfer && prepared.mode == DgeMode::software;
  }
  Ticks wake_up(Engine waiter, Engine producer) const {
    return wake_up_[static_cast<std::size_t>(waiter)][static_cast<std::size_t>(producer)];
  }
  // Without a clock everything happens at tick 0; the count of events then tells older from younger, so that
  // an engine that polls does not keep the others from going on.
  Moment moment(Ticks at, Engine e) {
    return {at, clocked_ ? static_cast<std::uint64_t>(now_) : step_, e, order_++};
  }
  void fault_at(Engine e, std::uint32_t index) {
    fault_engine_ = e;
    fault_index_ = index;
  }

  MachineConfig machine_;
  const Program* program_;
  RunOptions options_;
  bool clocked_;
  std::optional<State> state_;
  std::optional<Workers> workers_;
  std::vector<Observer*> observers_;

  std::vector<EngineCore> engines_;
  Semaphores semaphores_;
  std::array<std::uint8_t, 256> waiters_{};  // engines that wait for a semaphore, one bit each
  Ports ports_;
  DmaUnit dma_;
  EventQueue updates_;
  std::array<std::array<Ticks, engine_count>, engine_count> wake_up_{};
  Ticks transfer_done_ = 0;
  ProbeWatch probes_;

  Ticks now_ = 0;
  std::uint64_t step_ = 0;    // events so far
  std::uint64_t order_ = 0;   // of moments
  std::uint64_t serial_ = 0;  // instructions started so far
  std::uint64_t claims_ = 0;
  DmaService::TransferId unclocked_transfers_ = 0;
  std::optional<Ticks> first_start_;
  Ticks last_end_ = 0;

  Instruction resolved_;            // the instruction at work, if it names registers
  bool inside_ = true;              // false: a transfer at work skips an address outside
  std::vector<std::int64_t> rows_;  // of the transfer by index at work
  Signaller at_work_;
  const Instruction* instruction_at_work_ = nullptr;
  Engine fault_engine_ = Engine::tensor;  // for the words of a fault
  std::uint32_t fault_index_ = no_index;

  bool started_ = false;
  bool lacks_data_ = false;  // the fault in flight is only that this run has no data
  RunStatus stopped_ = RunStatus::finished;
  std::string stop_message_;
};

}  // namespace ncemu
