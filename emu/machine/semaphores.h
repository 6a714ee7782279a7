#pragma once

// The 256 counting semaphores and 256 events of a core (datasheet 2.4). Remembers the recent changes of
// each semaphore, so that a wait knows since when its condition has held and who made it true.

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/timing/ticks.h"
#include "isa/comparison.h"
#include "isa/program.h"

namespace ncemu {

// Whose instruction changes a semaphore. A transfer stands for the instruction that triggered it.
struct Signaller {
  Engine engine = Engine::tensor;
  bool transfer = false;
  std::uint64_t serial = 0;  // dynamic number of the instruction
};

// "S[5] (ready)" where the program names it, else "S[5]".
std::string describe_semaphore(const Program& program, std::uint8_t semaphore);

class Semaphores {
 public:
  // `max`: the largest value (datasheet 2.4). `memory`: how long a change may matter to a wait, the longest
  // signal latency; older ones are forgotten. The program must outlive this; only its names are used.
  Semaphores(const Program& program, std::uint32_t max, Ticks memory);

  struct Change {
    std::uint32_t before = 0, after = 0;
  };
  // One update; `value` is used by the _imm operations only. Throws Fault(program) without a place when a
  // counter leaves 0..semaphore_max or an event is set or cleared twice (datasheet 2.4). Changes come in
  // order of time.
  Change apply(UpdateOperation operation, std::uint8_t semaphore, std::uint32_t value, const Signaller& by,
               Ticks at);

  std::uint32_t value(std::uint8_t semaphore) const { return counters_[semaphore].value; }
  bool event(std::uint8_t number) const { return events_[number]; }

  // Whether the condition holds now; if so since when without interruption, and by whose change. `remembered`
  // is false when that was too long ago to matter.
  struct Satisfaction {
    bool holds = false;
    bool remembered = false;
    Ticks since = 0;
    Signaller by;
  };
  Satisfaction satisfaction(std::uint8_t semaphore, Comparison condition, std::uint32_t value) const;

 private:
  struct Entry {
    Ticks at = 0;
    std::uint32_t before = 0;
    Signaller by;
  };
  struct Counter {
    std::uint32_t value = 0;
    std::size_t first = 0;  // of the entries still remembered
    std::vector<Entry> entries;
  };
  void remember(Counter& counter, const Entry& entry) const;
  [[noreturn]] void refuse(std::uint8_t semaphore, std::uint32_t before, std::int64_t delta) const;

  const Program* program_;
  Ticks memory_;
  std::uint32_t max_;
  std::vector<Counter> counters_;
  std::bitset<256> events_;
};

}  // namespace ncemu
