#pragma once

// What happened, as the machine tells it. Listeners see events, never state. What an event points to lives
// as long as the call.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "emu/timing/cost.h"
#include "emu/timing/dma_service.h"
#include "emu/timing/engine_timeline.h"
#include "isa/program.h"

namespace ncemu {

// Why an engine's next instruction did not start earlier: the constraint satisfied last.
enum class StallReason : std::uint8_t {
  none,
  semaphore,  // waits for another engine, or for itself
  dma,        // waits for a semaphore that a transfer signalled
  port,       // an exclusive port was taken (design: exclusions)
  pipeline,   // its own pipeline could not take it (drain, weight load)
  dma_queue,  // the descriptor generator was busy
};

struct Started {
  Engine engine = Engine::tensor;
  std::uint32_t index = 0;                   // in the engine's stream
  std::uint64_t serial = 0;                  // counts dynamic instructions of the run, from 0
  const Instruction* instruction = nullptr;  // resolved: no registers
  Cost cost;
  Work work;
  Ticks stalled_since = 0;  // == start when it did not stall
  StallReason reason = StallReason::none;
  // Who signalled what its wait needed (a transfer: its issuer), and from when on the wait allowed the start.
  // Known for the reasons semaphore and dma, and for waits that held recently without being the last
  // constraint.
  bool released = false;
  bool released_by_transfer = false;
  Engine producer = Engine::tensor;
  std::uint64_t producer_serial = 0;  // of the instruction that signalled
  Ticks release = 0;
  Passage passage;
  // False: a transfer with bounds = skip whose register left its tensor or tile, so that nothing moves.
  bool moves = true;
  // Of a transfer by index, when there are data: the row that each partition moves, -1 where it is skipped.
  const std::vector<std::int64_t>* rows = nullptr;
};

struct TransferStarted {
  Engine issuer = Engine::sync;
  std::uint32_t index = 0;
  std::uint64_t serial = 0;
  const Instruction* instruction = nullptr;
  DmaService::TransferId transfer = 0;
  const TransferWork* work = nullptr;
  std::uint8_t queue = 0;
  Ticks trigger = 0;
};

struct SemaphoreChanged {
  std::uint8_t semaphore = 0;
  std::uint32_t before = 0, after = 0;
  Ticks at = 0;
  Engine by = Engine::tensor;  // whose instruction changed it (a transfer: its issuer)
  std::uint64_t serial = 0;    // of that instruction
  bool by_transfer = false;
};

// Something about an instruction's values that is legal and worth a warning; modes with data only.
struct NumericEvent {
  Engine engine = Engine::tensor;
  std::uint32_t index = 0;
  std::uint64_t serial = 0;
  const Instruction* instruction = nullptr;  // resolved
  enum class Kind : std::uint8_t { group, outside_domain, not_finite, saturated } kind = Kind::group;
  std::string_view what;     // "an input outside the function's range"
  int partition = 0;         // the first element concerned
  std::int64_t element = 0;  // in stream order within the partition
  std::optional<float>
      value{};             // the input, the result, or the value before conversion, where it says something
  std::int64_t count = 1;  // elements concerned, for saturated
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_start(const Started&) {}
  virtual void on_transfer(const TransferStarted&) {}
  virtual void on_dma(const DmaService::Event&) {}
  virtual void on_transfer_done(DmaService::TransferId, Ticks) {}
  virtual void on_semaphore(const SemaphoreChanged&) {}
  virtual void on_numeric(const NumericEvent&) {}
  virtual void on_stream_end(Engine, Ticks) {}
  virtual void on_end(Ticks) {}
};

}  // namespace ncemu
