#pragma once

// A run as the analysis of its order needs it: which instruction started when, in one number each. What an
// instruction does to memory and semaphores is kept once per site: a static instruction, or one of the ways
// in which registers have made it look.

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "emu/machine/observer.h"
#include "emu/observe/footprints.h"
#include "emu/observe/semaphore_use.h"

namespace ncemu {

// How the promises of an engine apply to an instruction (design: function and time).
enum class Nature : std::uint8_t {
  data,       // on the data path: ends reading and completes in order, over time
  sequencer,  // executed by the sequencer itself, over before the next instruction starts
  store,      // the same, but its update fires in no order with those that follow (register_store)
  drain,      // when it is over, so are all earlier instructions of the data path
  transfer,   // over when its completion is known, in no order with anything
};

// One update of a semaphore.
struct Effect {
  enum class Kind : std::uint8_t { increment, decrement, set } kind = Kind::increment;
  bool at_read = false;
  std::uint8_t semaphore = 0;
  std::uint32_t amount = 0;  // of a transfer: all that its 16 DMA engines add
};

// Appends the updates of an instruction.
void add_effects(const Instruction& instruction, const Target& target, std::vector<Effect>& effects);
// How far the semaphore must have been counted up for the wait to hold; 0: the wait proves nothing.
std::uint32_t need_of(const Wait& wait);

struct Touch {
  Footprints::Id footprint = 0;
  bool write = false;
  std::uint8_t ordinal = 0;  // counts the accesses of the instruction (for_each_access)
};

struct RunSite {
  Engine engine = Engine::tensor;
  Nature nature = Nature::sequencer;
  std::uint32_t index = 0;  // in the engine's stream
  // The wait: it holds only if the semaphore has been at least `need`; 0: it proves nothing.
  std::uint8_t wait_semaphore = 0;
  std::uint32_t need = 0;
  std::uint32_t first_effect = 0, effects = 0;
  std::uint32_t first_touch = 0, touches = 0;  // reads before writes
};

class RunTrace {
 public:
  // The program must outlive the trace.
  explicit RunTrace(const Program& program);

  // `moves` false: a transfer that skips what lies outside, all of it. `rows`: of a transfer by index the row
  // of each partition, -1 where it is skipped; without them it may touch every row of its table.
  void record(Engine engine, std::uint32_t index, const Instruction& resolved, bool moves = true,
              const std::vector<std::int64_t>* rows = nullptr);

  const Program& program() const { return *program_; }
  const std::vector<RunSite>& sites() const { return sites_; }
  // The instructions of the run in the order of their starts, as numbers of sites.
  const std::vector<std::uint32_t>& order() const { return order_; }
  std::span<const Effect> effects(const RunSite& site) const {
    return {effects_.data() + site.first_effect, site.effects};
  }
  std::span<const Touch> touches(const RunSite& site) const {
    return {touches_.data() + site.first_touch, site.touches};
  }
  // What the whole program does with the semaphores.
  const SemaphoreUse& use() const { return use_; }
  // Streams whose instructions in the run have counted a semaphore up, taken from it, or set it.
  struct Users {
    EngineSet producers, consumers, setters;
  };
  const Users& users(std::size_t semaphore) const { return users_[semaphore]; }
  Footprints& footprints() { return footprints_; }
  const Footprints& footprints() const { return footprints_; }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  std::uint32_t make(Engine engine, std::uint32_t index, const Instruction& instruction, bool moves,
                     const std::vector<std::int64_t>* rows);
  void add_touches(const Instruction& instruction, const std::vector<std::int64_t>* rows);
  void add_rows(const AccessPattern& tile, const std::vector<std::int64_t>& rows, bool write,
                std::uint8_t ordinal);
  void add_rows(const HbmPattern& table, const std::vector<std::int64_t>& rows, bool write,
                std::uint8_t ordinal);

  void add_users(const RunSite& site);

  const Program* program_;
  SemaphoreUse use_;
  std::array<Users, 256> users_{};
  std::array<std::vector<std::uint32_t>, engine_count> static_site_;  // by index in the stream
  std::vector<RunSite> sites_;
  std::vector<Effect> effects_;
  std::vector<Touch> touches_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> known_;  // resolved sites, by hash
  std::vector<std::uint32_t> order_;
  Footprints footprints_;
};

}  // namespace ncemu
