#pragma once

// The order of a run that every legal timing keeps: what has surely happened when an instruction starts.
//
// A wait `S >= v` is ordered after a signal x exactly if the increments of S that could have happened without
// x, and without anything that must follow x or the wait, sum to less than v. Those may come later in this
// run. So where the signals of a semaphore come in no one order (several producers, transfers in flight
// together), the run is walked again and again: at first whatever came later is taken to follow the wait,
// then each walk looks in the order that the last one found, until nothing changes. What then holds keeps
// itself up: were one of its waits over too early in a legal timing, the first such wait would have been
// released by a signal that follows it.
//
// Decrements known to have happened raise what a wait needs; a semaphore that was set forgets what was known
// before. The acquire form and joins need no rule of their own.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/observe/knowledge.h"
#include "emu/observe/run_trace.h"

namespace ncemu {

// What may go wrong with a semaphore in some legal timing.
struct SemaphoreHazard {
  enum class Kind : std::uint8_t {
    underflow,    // `second` may subtract before enough has been added
    lost_signal,  // `second` sets the semaphore, and the signal of `first` may come before or after
  } kind = Kind::underflow;
  std::uint8_t semaphore = 0;
  std::uint32_t first = 0, second = 0;  // sites; equal for an underflow
  std::uint64_t count = 0;
};

class HappensBefore {
 public:
  // The trace is complete and outlives this.
  explicit HappensBefore(const RunTrace& trace);

  // A walk: begin(), then start() and finish() for each instruction in the order of the run, then end(),
  // which is true if the order is final. Several producers of one semaphore can be seen beforehand: then the
  // first walk is not the last.
  void begin();
  void start(const RunSite& site);  // up to its start, its wait over
  void finish();                    // its updates
  bool end();
  bool surely_not_final() const { return unordered_ > 0 && walks_ <= 1; }

  // Of the instruction that has started: whether an event has surely happened, and the ends of its accesses.
  bool known(Event event) const { return knows(now_[at(site_->engine)].clock, event); }
  Event end_of_reading() const { return read_end_; }
  Event completion() const { return completion_; }
  // The number of its start among those of its engine, from 0.
  std::uint32_t position() const { return position_; }

  int walks() const { return walks_; }
  // Of the last walk, in the order of the run, one per pair of sites.
  const std::vector<SemaphoreHazard>& hazards() const { return hazards_; }

 private:
  struct Signal {
    Event event;
    std::uint32_t position = 0;  // of the instruction, in its engine's stream
    Engine engine = Engine::tensor;
    std::uint32_t unit = 0;  // its smallest part: a transfer signals in 16
    Clocks::Id clock = Clocks::none;
    std::uint32_t ordinal = 0;  // among the signals of the semaphore
    std::uint32_t site = 0;
    std::uint64_t sum = 0;  // increments of its list up to here, itself included
  };
  // Signals that come in one order.
  struct Line {
    Chain chain = no_chain;
    std::vector<Signal> signals;
    std::uint64_t total = 0, forgotten = 0;  // increments in all, and of signals no longer listed
  };
  struct Setting {
    Event event;
    std::uint64_t value = 0;
    std::uint32_t site = 0;
    std::vector<std::uint64_t> before;  // per line: increments that surely came before it
  };
  struct Decrements {
    struct One {
      Event event;
      std::uint64_t sum = 0;
    };
    std::array<std::vector<One>, engine_count> of;                            // by whose they are
    std::array<std::array<std::size_t, engine_count>, engine_count> known{};  // [by whom][whose]
  };
  struct Semaphore {
    bool ordered = true;                                // all its signals come in one order
    bool disproved = false;                             // they do not, as this walk has found
    EngineSet listeners;                                // streams that wait for it, set it or take from it
    EngineSet consumers;                                // streams that take from it
    EngineSet producers;                                // streams that count it up
    std::array<std::uint64_t, engine_count> assured{};  // what it holds at least, by a stream's waits
    std::uint32_t signals = 0;
    std::vector<Line> lines;
    std::vector<Line> last_walk;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> in_last_walk;  // ordinal: line, place
    std::vector<Setting> settings;                                      // the last two
    std::unique_ptr<Decrements> decrements;
    Chain chain = no_chain;  // of its latest transfer
    std::size_t prune_at = 256;
  };
  struct Stream {
    Clock clock;
    Clocks::Id stored = Clocks::none;  // the same, if unchanged
    std::uint32_t started = 0;
  };

  static std::size_t at(Engine e) { return static_cast<std::size_t>(e); }
  static bool follows(std::span<const std::uint32_t> clock, const Signal& y, const Signal& x);
  Stream& self() { return now_[at(site_->engine)]; }
  void learn(Stream& stream, Event event);
  void learn_all(Stream& stream, const Signal& signal);
  void wait(std::uint8_t semaphore, std::uint32_t need);
  void wait_ordered(const Semaphore& s, const Setting* setting, std::uint64_t need);
  void wait_unordered(const Semaphore& s, const Setting* setting, std::uint64_t need);
  std::uint64_t without(const Semaphore& s, const Setting* setting, const Signal& x, std::size_t line) const;
  std::uint64_t later_without(const Semaphore& s, const Signal* x) const;
  std::uint64_t without_nothing(const Semaphore& s, const Setting* setting) const;
  bool stands_alone(const Semaphore& s, const Signal& x) const;
  std::uint64_t known_decrements(Semaphore& s);
  Event new_link(std::uint8_t semaphore);
  Event event_of(const Effect& effect) const;
  void signal(const Effect& effect);
  void decrement(const Effect& effect);
  bool may_underflow(const Semaphore& s, const Effect& effect) const;
  void report(SemaphoreHazard::Kind kind, std::uint8_t semaphore, std::uint32_t first, std::uint32_t second);
  std::uint32_t number_of(const RunSite& site) const;
  void set(const Effect& effect);
  Line& line_of(Semaphore& s, Chain chain);
  void prune(Semaphore& s);
  void forget(Line& line, std::size_t count);
  Clocks::Id stored(Stream& stream);

  const RunTrace* trace_;
  std::array<Stream, engine_count> now_;
  std::array<Clock, engine_count> last_end_;  // what each stream knew at the end of the last walk
  std::vector<Semaphore> semaphores_;
  std::vector<std::uint32_t> links_;  // of each transfer chain
  Clocks clocks_, last_clocks_;

  const RunSite* site_ = nullptr;
  std::uint32_t position_ = 0;
  Event read_end_, completion_;

  std::vector<SemaphoreHazard> hazards_;
  int walks_ = 0;
  int unordered_ = 0;                                 // semaphores
  std::uint64_t decisions_ = 0, last_decisions_ = 0;  // hashes: what each wait has proved
};

}  // namespace ncemu
