#include "isa/sync_emit.h"

#include <algorithm>
#include <utility>

#include "isa/fault.h"
#include "isa/probes.h"
#include "isa/sync_checks.h"

namespace ncemu::autosync {
namespace {

using On = PlannedWait::On;
constexpr std::uint32_t increments_per_transfer = 16;  // one of each DMA engine (datasheet 2.5)

std::size_t number(Engine e) { return static_cast<std::size_t>(e); }

// Some semaphore counts, and the value its signals have reached.
struct Target {
  std::uint8_t semaphore = 0;
  std::uint32_t value = 0;
};

Wait at_least(Target target) {
  Wait wait;
  wait.semaphore = target.semaphore;
  wait.condition = Comparison::ge;
  wait.value = static_cast<std::uint16_t>(target.value);
  return wait;
}

Update increment(std::uint8_t semaphore, UpdateWhen when = UpdateWhen::complete) {
  Update update;
  update.semaphore = semaphore;
  update.operation = UpdateOperation::sem_inc;
  update.when = when;
  return update;
}

class Emitter {
 public:
  Emitter(Program& program, const Plan& plan, const SyncOptions& options)
      : program_(program),
        plan_(plan),
        explain_(options.explain),
        marks_(mark_probes(program)),
        value_(program.order.size()) {
    for (const Engine e : all_engines) {
      streams_[number(e)].reserve(program.stream(e).size() + program.stream(e).size() / 4);
      moved_[number(e)].resize(program.stream(e).size());
    }
    bodies_.resize(program.loops.size());
  }

  SyncReport run() {
    const auto n = static_cast<std::uint32_t>(program_.order.size());
    std::size_t next = 0;
    for (std::uint32_t k = 0; k <= n; ++k) {
      for (; next < plan_.boundaries.size() && plan_.boundaries[next].position == k; ++next) {
        cross(plan_.boundaries[next]);
      }
      if (k < n) instruction(k);
    }
    set_probes(program_, marks_, [&](const ProbeMark& mark, Engine e) { return now_at(mark, e); });
    program_.streams = std::move(streams_);
    program_.order.clear();
    program_.loops.clear();
    program_.manual_blocks.clear();
    program_.synchronised = true;
    return std::move(report_);
  }

 private:
  std::vector<Instruction>& stream(Engine e) { return streams_[number(e)]; }
  std::uint32_t size(Engine e) const { return static_cast<std::uint32_t>(streams_[number(e)].size()); }

  // Appends an instruction of our own.
  Instruction& add(Engine engine, Opcode opcode, std::uint32_t site, Operands operands = {}) {
    Instruction& added = stream(engine).emplace_back();
    added.opcode = opcode;
    added.site = site;
    added.operands = std::move(operands);
    ++report_.inserted;
    return added;
  }

  void cross(const Boundary& boundary) {
    switch (boundary.what) {
      case Boundary::What::join: join(plan_.joins[boundary.id]); break;
      case Boundary::What::release: release(plan_.releases[boundary.id]); break;
      case Boundary::What::open_loop: open_loop(boundary.id); break;
      case Boundary::What::close_loop: close_loop(boundary.id); break;
      case Boundary::What::open_block: {
        const ManualBlock& block = program_.manual_blocks[boundary.id];
        block_end_ = block.end;
        block_begin_ = size(block.engine);
        break;
      }
    }
  }

  // ---- instructions

  void instruction(std::uint32_t k) {
    const Engine engine = program_.order[k];
    Instruction& original = program_.stream(engine)[plan_.index[k]];
    if (k < block_end_) {
      auto* branch = std::get_if<CompareBranch>(&original.operands);
      if (branch != nullptr) branch->target.index += block_begin_;
    } else {
      put_waits(k, original);
      put_signal(k, original);
    }
    moved_[number(engine)][plan_.index[k]] = size(engine);
    const bool drains = kind(original.opcode) == Kind::memory && original.update.present() && k >= block_end_;
    stream(engine).push_back(std::move(original));
    if (drains) {
      // A register instruction completes in no order with the data path; the drain behind it does.
      Instruction& drain = add(engine, Opcode::drain, stream(engine).back().site);
      std::swap(drain.update, stream(engine)[stream(engine).size() - 2].update);
    }
  }

  // The semaphore that the wait is on, now that it is known how the producer signals.
  Target target(const PlannedWait& wait) const {
    const Engine producer = program_.order[wait.producer];
    std::uint8_t semaphore = plan_.semaphore[wait.producer];
    if (wait.on != On::transfer) {
      const bool complete = (plan_.signals[wait.producer] & signals_complete) != 0;
      semaphore = static_cast<std::uint8_t>((complete ? sync_semaphores::complete : sync_semaphores::read) +
                                            static_cast<int>(producer));
    }
    return {semaphore, value_[wait.producer]};
  }

  void put_waits(std::uint32_t k, Instruction& original) {
    const auto* first = plan_.waits.data() + plan_.first_wait[k];
    const auto* end = plan_.waits.data() + plan_.first_wait[k + 1];
    pending_.clear();
    for (const auto* wait = first; wait != end; ++wait) {
      const Target needed = target(*wait);
      // An end of reading that became a completion may share its semaphore with another wait: the later
      // holds.
      const auto same = std::find_if(pending_.begin(), pending_.end(),
                                     [&](const auto& p) { return p.first.semaphore == needed.semaphore; });
      if (same != pending_.end()) {
        if (same->first.value >= needed.value) continue;
        pending_.erase(same);
      }
      pending_.push_back({needed, wait});
    }
    if (pending_.empty()) return;
    const Engine engine = program_.order[k];
    for (std::size_t i = 0; i + 1 < pending_.size(); ++i) {
      add(engine, Opcode::event_semaphore, original.site).wait = at_least(pending_[i].first);
    }
    original.wait = at_least(pending_.back().first);
    report_.waits += pending_.size();
    if (!explain_) return;
    for (const auto& [needed, wait] : pending_) record(engine, original, needed, *wait);
  }

  void record(Engine engine, const Instruction& waiter, const Target& needed, const PlannedWait& wait) {
    SyncRecord r{};
    r.waiter = engine;
    r.waiter_index = size(engine);
    r.producer = program_.order[wait.producer];
    r.producer_index = moved_[number(r.producer)][plan_.index[wait.producer]];
    r.reason = wait.reason;
    r.semaphore = needed.semaphore;
    r.value = static_cast<std::uint16_t>(needed.value);
    if (wait.reason != SyncRecord::Reason::semaphore_reuse) {
      int ordinal = 0;
      for_each_access(waiter, [&](const auto& pattern, Role) {
        if (ordinal++ == wait.ordinal) r.conflict = pattern;
      });
    }
    report_.records.push_back(std::move(r));
  }

  void put_signal(std::uint32_t k, Instruction& original) {
    if (plan_.semaphore[k] != 0) {
      value_[k] = counts_[plan_.semaphore[k]] += increments_per_transfer;
      original.update = increment(plan_.semaphore[k]);
    } else if (plan_.signals[k] != 0) {
      const bool complete = (plan_.signals[k] & signals_complete) != 0;
      const auto semaphore =
          static_cast<std::uint8_t>((complete ? sync_semaphores::complete : sync_semaphores::read) +
                                    static_cast<int>(program_.order[k]));
      value_[k] = ++counts_[semaphore];
      original.update = increment(semaphore, complete ? UpdateWhen::complete : UpdateWhen::read);
    } else {
      return;
    }
    ++report_.updates;
  }

  // ---- joins

  void join(const PlannedJoin& join) {
    const Engine first = leader(join.streams);
    std::uint16_t others = 0;
    for (const Engine e : all_engines) {
      if (e == first || !join.streams.contains(e)) continue;
      ++others;
      add(e, Opcode::drain, join.site).update = increment(sync_semaphores::arrive);
      acquire(e, join_semaphore(e), 1, join.site, first);
    }
    add(first, Opcode::drain, join.site);
    if (others > 0) acquire(first, sync_semaphores::arrive, others, join.site, first);
    for (const std::uint8_t semaphore : join.transfers) {
      add(first, Opcode::event_semaphore, join.site).wait = at_least({semaphore, counts_[semaphore]});
      ++report_.waits;
    }
    clear_counters(first, join.site);
    for (const Engine e : all_engines) {
      if (e == first || !join.streams.contains(e)) continue;
      add(first, Opcode::event_semaphore, join.site).update = increment(join_semaphore(e));
    }
    ++report_.joins;
  }

  void release(const PlannedRelease& release) {
    for (const Engine e : all_engines) {
      if (!release.streams.contains(e)) continue;
      add(release.by, Opcode::event_semaphore, release.site).update = increment(join_semaphore(e));
      acquire(e, join_semaphore(e), 1, release.site, release.by);
    }
  }

  static std::uint8_t join_semaphore(Engine e) {
    return static_cast<std::uint8_t>(sync_semaphores::join + static_cast<int>(e));
  }

  void acquire(Engine engine, std::uint8_t semaphore, std::uint16_t n, std::uint32_t site, Engine by) {
    Instruction& added = add(engine, Opcode::event_semaphore, site);
    added.wait = at_least({semaphore, n});
    added.update.semaphore = semaphore;
    added.update.operation = UpdateOperation::sem_sub_imm;
    added.update.value = n;
    ++report_.waits;
    if (!explain_) return;
    SyncRecord r{};
    r.waiter = engine;
    r.waiter_index = size(engine) - 1;
    r.producer = by;
    r.producer_index = size(by) == 0 ? 0 : size(by) - 1;
    r.reason = SyncRecord::Reason::join;
    r.semaphore = semaphore;
    r.value = n;
    report_.records.push_back(std::move(r));
  }

  // Only what has counted, in as few ranges as there are kinds of counters.
  void clear_counters(Engine by, std::uint32_t site) {
    const auto clear = [&](int from, int to) {
      int first = from;
      while (first < to && counts_[static_cast<std::size_t>(first)] == 0) ++first;
      if (first == to) return;
      int last = to - 1;
      while (counts_[static_cast<std::size_t>(last)] == 0) --last;
      SemaphoreRange range;
      range.first = static_cast<std::uint8_t>(first);
      range.count = static_cast<std::uint8_t>(last - first + 1);
      add(by, Opcode::semaphore_clear, site, range);
    };
    clear(sync_semaphores::complete, sync_semaphores::join);
    for (int issuer = 0; issuer < engine_count; ++issuer) {
      const int pool = sync_semaphores::dma + issuer * sync_semaphores::dma_per_issuer;
      clear(pool, pool + sync_semaphores::dma_per_issuer);
    }
    counts_.fill(0);
  }

  // ---- probes

  std::uint32_t now_at(const ProbeMark& mark, Engine e) const {
    using What = ProbeMark::What;
    switch (mark.what) {
      case What::none: return no_index;
      case What::at: return moved_[number(e)][mark.index];
      case What::behind: return moved_[number(e)][mark.index] + 1;
      case What::loop_begin: return bodies_[mark.index].begin[number(e)];
      case What::loop_end: return bodies_[mark.index].end[number(e)];
    }
    return no_index;
  }

  // ---- loops

  // Per stream: where the body begins, where the loop ends, and the test before it, if any.
  struct Body {
    std::array<std::uint32_t, engine_count> begin{}, end{};
    std::array<std::uint32_t, engine_count> test{};
  };

  void open_loop(std::uint32_t id) {
    const Loop& loop = program_.loops[id];
    check_loop(program_, loop);
    const auto* start = std::get_if<std::int32_t>(&loop.start);
    const auto* stop = std::get_if<std::int32_t>(&loop.stop);
    const bool surely_runs = start != nullptr && stop != nullptr && *start < *stop;
    for (const Engine e : all_engines) {
      if (!plan_.loop_streams[id].contains(e)) continue;
      add(e, Opcode::register_move, loop.site, RegisterMove{loop.counter, loop.start});
      bodies_[id].test[number(e)] = no_index;
      if (!surely_runs) {
        bodies_[id].test[number(e)] = size(e);
        add(e, Opcode::compare_branch, loop.site, CompareBranch{loop.counter, loop.stop, Comparison::ge, {}});
      }
      bodies_[id].begin[number(e)] = size(e);
    }
  }

  void close_loop(std::uint32_t id) {
    const Loop& loop = program_.loops[id];
    for (const Engine e : all_engines) {
      if (!plan_.loop_streams[id].contains(e)) continue;
      add(e, Opcode::register_alu, loop.site, RegisterAlu{loop.counter, loop.counter, loop.step, AluOp::add});
      add(e, Opcode::compare_branch, loop.site,
          CompareBranch{loop.counter, loop.stop, Comparison::lt, {bodies_[id].begin[number(e)]}});
      bodies_[id].end[number(e)] = size(e);
      if (bodies_[id].test[number(e)] == no_index) continue;
      std::get<CompareBranch>(stream(e)[bodies_[id].test[number(e)]].operands).target.index = size(e);
    }
  }

  Program& program_;
  const Plan& plan_;
  bool explain_;
  std::vector<ProbeMarks> marks_;
  SyncReport report_;
  std::array<std::vector<Instruction>, engine_count> streams_;
  std::array<std::vector<std::uint32_t>, engine_count> moved_;  // new index of each instruction
  std::vector<std::uint32_t> value_;         // per position: what its semaphore has reached
  std::array<std::uint32_t, 256> counts_{};  // of each semaphore since the last join
  std::vector<Body> bodies_;
  std::uint32_t block_begin_ = 0, block_end_ = 0;  // stream index of its begin; text position of its end
  std::vector<std::pair<Target, const PlannedWait*>> pending_;
};

}  // namespace

SyncReport emit(Program& program, const Plan& plan, const SyncOptions& options) {
  return Emitter(program, plan, options).run();
}

}  // namespace ncemu::autosync
