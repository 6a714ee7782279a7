#pragma once

// Automatic synchronisation: adds the semaphore waits and signals that make every legal timing of
// the streams give the meaning of the text order (design: text order, what a wait proves, the
// same-engine table). Works on a placed Program.

#include <string>
#include <vector>

#include "isa/program.h"

namespace ncemu {

// The fixed use of the semaphores by automatic synchronisation.
//
// A join is a barrier of the participating streams. Every stream but the leader drains and increments
// `arrive`, then acquires its own `join + engine` (wait >= 1 with -= 1 on one event_semaphore). The
// leader drains, acquires `arrive` (wait >= n with -= n), waits for the transfers that nobody has waited
// for yet, clears the counters in use and increments `join + engine` of every other stream. Each of
// these six semaphores has one consumer, so a join needs no proof beyond the acquire form's. Streams that
// are not in a `.loop` acquire `join + engine` behind it, which one of the loop's streams increments.
namespace sync_semaphores {
inline constexpr int complete = 0;  // + engine: completions of the engine
inline constexpr int read = 5;      // + engine: read_done of the engine
inline constexpr int join = 10;     // + engine: the engine may leave the join
inline constexpr int arrive = 15;   // the other streams have reached the join
inline constexpr int dma = 16;      // + 16 * issuer + k: transfers of the issuer, in rotation
inline constexpr int dma_per_issuer = 16;
inline constexpr int first_user = 96;  // `.semaphore` hands out 96 .. 255
}  // namespace sync_semaphores

// Why a wait was inserted, for --explain-sync.
struct SyncRecord {
  Engine waiter = Engine::tensor, producer = Engine::tensor;
  std::uint32_t waiter_index = 0, producer_index = 0;  // in the synchronised streams
  enum class Reason : std::uint8_t {
    read_after_write,
    write_after_read,
    write_after_write,
    semaphore_reuse,
    join
  } reason;
  std::uint8_t semaphore = 0;
  std::uint16_t value = 0;
  MemoryOperand conflict;  // the waiter's operand; empty pattern for semaphore_reuse and join
};

struct SyncOptions {
  bool explain = false;                 // fill the records
  std::uint32_t counter_limit = 60000;  // join before a semaphore would pass it
};

struct SyncReport {
  std::vector<SyncRecord> records;
  std::size_t waits = 0, updates = 0, inserted = 0, joins = 0;
};

// `program.order` must describe the streams. Lowers loops and manual blocks to registers and branches,
// adds waits, updates and joins; gives probes their positions; clears order, loops and manual_blocks.
SyncReport synchronise(Program& program, const SyncOptions& options = {});

std::string format(const SyncRecord& record, const Program& program);

}  // namespace ncemu
