#include "isa/sync_plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "isa/fault.h"
#include "isa/sync_blocks.h"
#include "isa/sync_checks.h"
#include "isa/sync_footprint.h"
#include "isa/sync_hazards.h"
#include "isa/sync_knowledge.h"

namespace ncemu::autosync {
namespace {

using On = PlannedWait::On;
using Reason = SyncRecord::Reason;
constexpr std::uint32_t increments_per_transfer = 16;  // one of each DMA engine (datasheet 2.5)

std::size_t number(Engine e) { return static_cast<std::size_t>(e); }

// Actors of Hazards: engines 0..4; a pool semaphore stands for itself (16..95).
constexpr Actor actor(Engine e) { return static_cast<Actor>(e); }
constexpr bool is_engine(Actor a) { return a < engine_count; }

EngineSet issuers(const Program& program) {
  EngineSet set;
  for (const Engine e : all_engines) {
    for (const Instruction& i : program.stream(e)) {
      if (info(i.opcode).is_dma()) {
        set = set | e;
        break;
      }
    }
  }
  return set;
}

class Planner {
 public:
  Planner(const Program& program, const SyncOptions& options)
      : program_(program),
        limit_(options.counter_limit),
        footprints_(program),
        hazards_(footprints_.regions()),
        knowledge_(issuers(program)) {
    ensure(limit_ >= increments_per_transfer, "a semaphore can count at least one transfer");
    const std::size_t n = program.order.size();
    plan_.index.resize(n);
    plan_.signals.resize(n);
    plan_.semaphore.resize(n);
    plan_.first_wait.resize(n + 1);
    snapshot_.resize(n);
    use_.resize(n);
    std::array<std::uint32_t, engine_count> next{};
    for (std::size_t k = 0; k < n; ++k) plan_.index[k] = next[number(program.order[k])]++;
    for (const Engine e : all_engines) {
      ensure(next[number(e)] == program.stream(e).size(), "the text order describes the streams");
    }
  }

  Plan run() {
    Blocks blocks(program_);
    plan_.loop_streams = blocks.loop_streams();
    const auto n = static_cast<std::uint32_t>(program_.order.size());
    for (std::uint32_t k = 0; k <= n; ++k) {
      for (const Blocks::Step& step : blocks.at(k)) take(step, k);
      plan_.first_wait[k] = static_cast<std::uint32_t>(plan_.waits.size());
      if (k == n) break;
      if (const ManualBlock* block = blocks.block()) {
        check_by_hand(program_, at(k), *block);
        dirty_ = true;
        ++accesses_seen_;
      } else {
        check_automatic(program_, at(k));
        if (kind(at(k).opcode) != Kind::control) instruction(k, blocks.streams());
      }
    }
    return std::move(plan_);
  }

 private:
  const Instruction& at(std::uint32_t k) const { return program_.stream(program_.order[k])[plan_.index[k]]; }

  void take(const Blocks::Step& step, std::uint32_t k) {
    using What = Blocks::Step::What;
    switch (step.what) {
      case What::join:
        // Without an access since the last join there is nothing to order.
        if (dirty_) join(step.streams, k, step.site);
        break;
      case What::open_loop:
        plan_.boundaries.push_back({Boundary::What::open_loop, k, step.id});
        accesses_before_loop_.push_back(accesses_seen_);
        break;
      case What::close_loop:
        plan_.boundaries.push_back({Boundary::What::close_loop, k, step.id});
        if (accesses_before_loop_.back() != accesses_seen_) release(step, k);
        accesses_before_loop_.pop_back();
        break;
      case What::open_block: plan_.boundaries.push_back({Boundary::What::open_block, k, step.id}); break;
    }
  }

  // The others of the text around a loop were quiet since the join before it; they have not taken part in the
  // joins inside, and must not run ahead into the next one.
  void release(const Blocks::Step& step, std::uint32_t k) {
    const EngineSet inside = plan_.loop_streams[step.id];
    PlannedRelease release;
    for (const Engine e : all_engines) {
      if (step.streams.contains(e) && !inside.contains(e)) release.streams = release.streams | e;
    }
    if (release.streams.empty()) return;
    release.by = leader(inside);
    release.site = step.site;
    plan_.boundaries.push_back(
        {Boundary::What::release, k, static_cast<std::uint32_t>(plan_.releases.size())});
    plan_.releases.push_back(release);
  }

  void join(EngineSet streams, std::uint32_t k, std::uint32_t site) {
    PlannedJoin join;
    join.streams = streams;
    join.site = site;
    // The leader knows what any participant knew on arrival; the rest it waits for itself.
    for (std::size_t n = sync_semaphores::dma; n < uses_.size(); ++n) {
      const auto semaphore = static_cast<std::uint8_t>(n);
      const bool known =
          uses_[n] == 0 || std::any_of(std::begin(all_engines), std::end(all_engines), [&](Engine e) {
            return knowledge_.knows(e, knowledge_.transfer(semaphore), uses_[n]);
          });
      if (!known) join.transfers.push_back(semaphore);
    }
    plan_.boundaries.push_back({Boundary::What::join, k, static_cast<std::uint32_t>(plan_.joins.size())});
    plan_.joins.push_back(std::move(join));
    hazards_.clear();
    knowledge_.clear();
    completions_.fill(0);
    reads_.fill(0);
    uses_.fill(0);
    issued_.fill(0);
    dirty_ = false;
  }

  static std::uint8_t pool_semaphore(Engine issuer, std::uint32_t n) {
    const auto per_issuer = static_cast<std::uint32_t>(sync_semaphores::dma_per_issuer);
    return static_cast<std::uint8_t>(sync_semaphores::dma + number(issuer) * per_issuer + n % per_issuer);
  }

  void instruction(std::uint32_t k, EngineSet streams) {
    accesses_.clear();
    footprints_.collect(at(k), accesses_);
    if (!find_needs(k)) {
      // Some counter is full: start over behind a join.
      join(streams, k, at(k).site);
      ensure(find_needs(k), "behind a join every counter has room");
    }
    dirty_ = true;
    ++accesses_seen_;
    make_waits(program_.order[k]);
    snapshot_[k] = knowledge_.snapshot(program_.order[k]);
  }

  // Collects what instruction k must follow and records its accesses. False when a counter has no room; what
  // was recorded then goes with the join that must come.
  bool find_needs(std::uint32_t k) {
    needs_.clear();
    const Engine engine = program_.order[k];
    Actor self = actor(engine);
    if (kind(at(k).opcode) == Kind::transfer) {
      self = pool_semaphore(engine, issued_[number(engine)]);
      const std::uint32_t uses = uses_[self];
      if ((uses + 1) * increments_per_transfer > limit_) return false;
      if (uses > 0) need(engine, {last_transfer_[self], On::transfer, Reason::semaphore_reuse, 0});
      ++issued_[number(engine)];
      use_[k] = ++uses_[self];
      last_transfer_[self] = k;
      plan_.semaphore[k] = self;
    }
    for (const bool writes : {false, true}) {
      for (const Footprint& footprint : accesses_) {
        if (footprint.write != writes) continue;
        hazards_.record(footprint, self, k, [&](const Access& earlier) { conflict(k, footprint, earlier); });
      }
    }
    keep_latest_needs();
    return room_for_signals();
  }

  // The table of hazards within one engine (design: function and time) and, for everything else, a wait.
  void conflict(std::uint32_t k, const Footprint& footprint, const Access& earlier) {
    const Reason reason = !footprint.write ? Reason::read_after_write
                          : earlier.write  ? Reason::write_after_write
                                           : Reason::write_after_read;
    const Engine engine = program_.order[k];
    if (!is_engine(earlier.actor)) {
      need(engine, {earlier.position, On::transfer, reason, footprint.ordinal});
      return;
    }
    if (program_.order[earlier.position] == engine && kind(at(k).opcode) == Kind::data &&
        reason != Reason::read_after_write) {
      return;
    }
    // A register instruction has no place in the order of the data path; it signals by a drain behind it.
    const bool by_read =
        reason == Reason::write_after_read && kind(at(earlier.position).opcode) == Kind::data;
    need(engine, {earlier.position, by_read ? On::read : On::complete, reason, footprint.ordinal});
  }

  void need(Engine waiter, const PlannedWait& wait) {
    if (!known(waiter, wait)) needs_.push_back(wait);
  }

  // Where Knowledge keeps that the wait is over, and the value that says so.
  std::pair<std::size_t, std::uint32_t> fact(const PlannedWait& wait) const {
    const Engine producer = program_.order[wait.producer];
    switch (wait.on) {
      case On::read: return {Knowledge::read(producer), plan_.index[wait.producer] + 1};
      case On::complete: return {Knowledge::complete(producer), plan_.index[wait.producer] + 1};
      case On::transfer: return {knowledge_.transfer(plan_.semaphore[wait.producer]), use_[wait.producer]};
    }
    return {};
  }

  bool known(Engine waiter, const PlannedWait& wait) const {
    const auto [what, value] = fact(wait);
    return knowledge_.knows(waiter, what, value);
  }

  // Of waits on one counter only the latest counts. Latest producers come first: what they knew when they
  // started may answer the others.
  void keep_latest_needs() {
    std::sort(needs_.begin(), needs_.end(), [](const PlannedWait& a, const PlannedWait& b) {
      return std::tie(b.producer, b.on, a.reason, a.ordinal) <
             std::tie(a.producer, a.on, b.reason, b.ordinal);
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < needs_.size(); ++i) {
      const std::size_t counter = fact(needs_[i]).first;
      const bool later = std::any_of(needs_.begin(), needs_.begin() + static_cast<std::ptrdiff_t>(kept),
                                     [&](const PlannedWait& n) { return fact(n).first == counter; });
      if (!later) needs_[kept++] = needs_[i];
    }
    needs_.resize(kept);
  }

  bool room_for_signals() const {
    return std::all_of(needs_.begin(), needs_.end(), [&](const PlannedWait& need) {
      const std::size_t producer = number(program_.order[need.producer]);
      const std::uint8_t signals = plan_.signals[need.producer];
      switch (need.on) {
        case On::read: return signals != 0 || reads_[producer] < limit_;
        case On::complete: return (signals & signals_complete) != 0 || completions_[producer] < limit_;
        case On::transfer: return true;
      }
      return true;
    });
  }

  void make_waits(Engine engine) {
    const auto first = static_cast<std::ptrdiff_t>(plan_.waits.size());
    for (const PlannedWait& need : needs_) {
      if (known(engine, need)) continue;
      plan_.waits.push_back(need);
      signal(need);
      // The producer had started, so whatever it waited for had happened.
      knowledge_.learn(engine, snapshot_[need.producer]);
      const auto [what, value] = fact(need);
      knowledge_.learn(engine, what, value);
      if (need.on == On::complete) {
        knowledge_.learn(engine, Knowledge::read(program_.order[need.producer]), value);
      }
    }
    std::reverse(plan_.waits.begin() + first, plan_.waits.end());
  }

  // An instruction has one update: the end of reading, unless somebody needs the completion.
  void signal(const PlannedWait& need) {
    std::uint8_t& signals = plan_.signals[need.producer];
    const std::size_t producer = number(program_.order[need.producer]);
    if (need.on == On::transfer || (signals & signals_complete) != 0) return;
    if (need.on == On::complete) {
      if (signals == signals_read) --reads_[producer];
      signals = signals_complete;
      ++completions_[producer];
    } else if (signals == 0) {
      signals = signals_read;
      ++reads_[producer];
    }
  }

  const Program& program_;
  std::uint32_t limit_;
  Footprints footprints_;
  Hazards hazards_;
  Knowledge knowledge_;
  Plan plan_;
  bool dirty_ = false;  // something was accessed since the last join
  std::size_t accesses_seen_ = 0;
  std::vector<std::size_t> accesses_before_loop_;  // of the open loops
  std::vector<std::uint32_t> snapshot_,
      use_;  // per position: knowledge at its start; which use of its semaphore
  // Since the last join: signals per engine, transfers per issuer, uses of each pool semaphore and the last
  // one.
  std::array<std::uint32_t, engine_count> completions_{}, reads_{}, issued_{};
  std::array<std::uint32_t, sync_semaphores::first_user> uses_{}, last_transfer_{};
  std::vector<Footprint> accesses_;
  std::vector<PlannedWait> needs_;
};

}  // namespace

Engine leader(EngineSet streams) {
  constexpr Engine preferred[] = {Engine::sync, Engine::gpsimd, Engine::scalar, Engine::vector,
                                  Engine::tensor};
  return *std::find_if(std::begin(preferred), std::end(preferred),
                       [&](Engine e) { return streams.contains(e); });
}

Kind kind(Opcode opcode) {
  const InstructionInfo& row = info(opcode);
  if (row.is_dma()) return Kind::transfer;
  if (!row.is_control()) return Kind::data;
  const bool memory = opcode == Opcode::register_load || opcode == Opcode::register_store;
  return memory ? Kind::memory : Kind::control;
}

Plan plan(const Program& program, const SyncOptions& options) { return Planner(program, options).run(); }

}  // namespace ncemu::autosync
