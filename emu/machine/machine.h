#pragma once

// One core running one program: five sequencers, five engines, the DMA service, semaphores, and (in
// modes with data) a State, joined by an event loop. A value: several can live side by side.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emu/machine/observer.h"
#include "emu/machine_config.h"
#include "isa/program.h"

namespace ncemu {

struct State;

enum class Mode : std::uint8_t { functional, timed, timing_only, check };
constexpr bool has_data(Mode mode) { return mode == Mode::functional || mode == Mode::timed; }
constexpr bool has_clock(Mode mode) { return mode == Mode::timed || mode == Mode::timing_only; }

struct RunOptions {
  Mode mode = Mode::timed;
  std::uint64_t max_instructions = 0;                     // 0: no limit
  Ticks max_ticks = 0;                                    // 0: no limit
  std::optional<std::uint64_t> stochastic_rounding_seed;  // absent: to nearest even
  std::byte initial{0xFF};                                // what memory that nothing wrote reads as
  int threads = 1;                    // that share the work of large instructions; the same results for any
  std::int64_t share_from = 0;        // elements; 0: those of an instruction that is worth it
  bool watch_values = false;          // tells observers of results that are not finite and of saturation too
  std::function<bool()> interrupted;  // asked now and then; true ends the run with a partial result
  // Replaces a cost before it is used: tests try other legal timings with it.
  std::function<void(const Instruction&, Engine, Cost&)> perturb;
  // The same for transfers: adds to the delay (>= 0, starts at 0) between a transfer's trigger and the moment
  // its DMA engines may begin.
  std::function<void(const Instruction&, Engine issuer, Ticks& delay)> perturb_transfer;
  // What a transfer moves, replaced before its DMA engines see it; nullptr: as it is. Called once per
  // transfer, in the order of its issuer. For the question what a run would take if transfers were other
  // ones.
  std::function<std::shared_ptr<const TransferWork>(const Instruction&, Engine issuer, const TransferWork&)>
      replace_transfer;
  bool share_ports = false;  // engines that exclude each other from a memory no longer do
  // Called when the run has come to a probe (isa/program.h); modes with data only. An index
  // of the view is resolved.
  std::function<void(const Probe&, State&)> on_probe;
  // Called after each instruction's effect on data; for --dump and --first-difference.
  std::function<void(Engine, std::uint32_t index, const Instruction& resolved, State&)> on_effect;
};

// no_data: came to an instruction that needs data, and the run has none.
enum class RunStatus : std::uint8_t { finished, deadlock, limit, interrupted, fault, no_data };

// Where an engine stood when the run ended early.
struct Standing {
  Engine engine = Engine::tensor;
  std::uint32_t index = 0;
  bool ended = false;
  Wait wait;  // the wait that is not satisfied, if any
  std::uint32_t semaphore_value = 0;
};

struct RunResult {
  RunStatus status = RunStatus::finished;
  Ticks total = 0;  // the kernel window: first start to last completion
  std::uint64_t instructions = 0;
  std::string message;  // of a fault, deadlock or limit, in words
  std::vector<Standing> standings;
};

class Machine {
 public:
  // The program must be synchronised (or written by hand) and legal for the machine's target.
  Machine(const MachineConfig& config, const Program& program, RunOptions options);
  ~Machine();

  State& state();  // modes with data only
  void add(Observer& observer);
  RunResult run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ncemu
