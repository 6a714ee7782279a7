#pragma once

// What must wait for what. Walks the text order once, finds the hazards, and keeps per engine what its
// stream already knows, so that a wait which follows from earlier ones is not made. Semaphore values come
// later (sync_emit.h), when it is known which instructions signal.

#include <array>
#include <cstdint>
#include <vector>

#include "isa/program.h"
#include "isa/sync.h"

namespace ncemu::autosync {

// Who leads a join of these streams: rather one that issues transfers, which knows most about them.
Engine leader(EngineSet streams);

// How the sequencer treats an instruction.
enum class Kind : std::uint8_t {
  data,     // on the engine's data path: in order, over time
  memory,   // register_load, register_store: touches memory at issue
  control,  // no memory
  transfer  // a DMA: out of order with everything
};
Kind kind(Opcode opcode);

struct PlannedWait {
  enum class On : std::uint8_t { read, complete, transfer };
  std::uint32_t producer = 0;  // position in the text order
  On on = On::complete;
  SyncRecord::Reason reason = SyncRecord::Reason::read_after_write;
  std::uint8_t ordinal = 0;  // of the waiter's access in conflict
};

// A stretch of text with a barrier of `streams` at its end.
struct PlannedJoin {
  EngineSet streams;
  std::vector<std::uint8_t> transfers;  // semaphores of transfers that may be in flight
  std::uint32_t site = 0;
};

// Streams that were not in a loop wait until it is over.
struct PlannedRelease {
  EngineSet streams;
  Engine by = Engine::sync;  // one of the loop's streams
  std::uint32_t site = 0;
};

// What happens before the instruction at a position.
struct Boundary {
  enum class What : std::uint8_t { join, release, open_loop, close_loop, open_block } what = What::join;
  std::uint32_t position = 0;
  std::uint32_t id = 0;  // in Plan::joins, Plan::releases, Program::loops or Program::manual_blocks
};

struct Plan {
  // Per position of the text order.
  std::vector<std::uint32_t> index;       // in the engine's stream
  std::vector<std::uint8_t> signals;      // signals_read, signals_complete
  std::vector<std::uint8_t> semaphore;    // of transfers: the pool's, else 0
  std::vector<std::uint32_t> first_wait;  // and one more at the end
  std::vector<PlannedWait> waits;         // the latest producer last

  std::vector<Boundary> boundaries;  // in order of position
  std::vector<PlannedJoin> joins;
  std::vector<PlannedRelease> releases;
  std::vector<EngineSet> loop_streams;  // of each loop
};
inline constexpr std::uint8_t signals_read = 1, signals_complete = 2;

// Throws Fault(input) for what automatic synchronisation cannot order: waits, signals and branches outside of
// engine blocks, and its own semaphores inside of them.
Plan plan(const Program& program, const SyncOptions& options);

}  // namespace ncemu::autosync
