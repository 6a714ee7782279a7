#include "emu/observe/critical_path.h"

#include <algorithm>

#include "emu/observe/account.h"

namespace ncemu {
namespace {

constexpr std::array<std::string_view, step_kind_count> step_names = {
    "runs", "signal", "dma_start", "dma_moves", "dma_done", "dma_queue_waits", "before_start"};

class Walk {
 public:
  Walk(const Timeline& timeline, const Program& program, const MachineConfig& machine)
      : timeline_(timeline),
        all_(timeline.instructions),
        program_(program),
        semaphore_write_(ticks_from_ns(machine, machine.dma.t_sem_ns)),
        last_span_(timeline.transfers.size(), no_index),
        span_before_(timeline.spans.size(), no_index) {
    const Timeline::Spans& spans = timeline.spans;
    std::array<std::uint32_t, dma_engine_count> newest;
    newest.fill(no_index);
    for (std::uint32_t i = 0; i < spans.size(); ++i) {
      span_before_[i] = newest[spans.dma_engine[i]];
      newest[spans.dma_engine[i]] = i;
      std::uint32_t& last = last_span_[spans.transfer[i]];
      if (last == no_index || spans.end[i] >= spans.end[last]) last = i;
    }
  }

  std::vector<Step> path() {
    now_ = timeline_.end;
    follow_end();
    while (now_ > timeline_.begin && next_ != no_serial) follow_instruction(std::exchange(next_, no_serial));
    add(StepKind::before_start, timeline_.begin, no_serial);
    std::reverse(steps_.begin(), steps_.end());
    return std::move(steps_);
  }

 private:
  // A step that ends where the path stands.
  void add(StepKind kind, Ticks begin, Serial serial, std::uint32_t span = no_index) {
    begin = std::clamp(begin, timeline_.begin, now_);
    if (begin == now_) return;
    if (!steps_.empty() && steps_.back().kind == kind && steps_.back().serial == serial &&
        steps_.back().span == span) {
      steps_.back().begin = begin;
    } else {
      steps_.push_back({kind, begin, now_, serial, span});
    }
    now_ = begin;
  }

  // Whoever ended last; transfers end after what they wait for, so they go first.
  void follow_end() {
    const auto& done = timeline_.transfers.done;
    for (std::uint32_t t = static_cast<std::uint32_t>(done.size()); t-- > 0;) {
      if (done[t] == timeline_.end) return follow_transfer(t);
    }
    for (Serial s = static_cast<Serial>(all_.size()); s-- > 0;) {
      if (all_.complete[s] == timeline_.end || all_.busy_until[s] == timeline_.end) {
        next_ = s;
        return;
      }
    }
    if (all_.size() > 0) next_ = static_cast<Serial>(all_.size()) - 1;
  }

  // The path stands where `serial` has run far enough; goes on to what its start waited for.
  void follow_instruction(Serial serial) {
    // Weights load behind a stream: until that has passed the time is the stream's.
    const Serial stream = behind(serial);
    if (stream != no_serial) {
      add(StepKind::runs, all_.busy_until[stream], serial);
      add(StepKind::runs, all_.start[serial], stream);
    }
    add(StepKind::runs, all_.start[serial], serial);
    if (now_ <= timeline_.begin) return;
    const Serial other = waited_for(timeline_, serial);
    if (all_.reason[serial] == StallReason::dma && other != no_serial) {
      const std::uint32_t transfer = timeline_.transfer_of(other);
      if (transfer != no_transfer) return follow_transfer(transfer, serial);
    }
    if (all_.reason[serial] == StallReason::semaphore && other != no_serial) {
      const Instruction& signaller = program_.stream(all_.engine[other])[all_.index[other]];
      const bool at_read = signaller.update.when == UpdateWhen::read;
      add(StepKind::signal,
          std::max(all_.start[other], at_read ? all_.read_done[other] : all_.complete[other]), serial);
    }
    next_ = other != no_serial && other < serial ? other : before(serial);
  }

  // The earlier instruction of the engine that is still busy when `serial` starts, if there is one.
  Serial behind(Serial serial) const { return earlier(serial, all_.start[serial] + 1); }

  // Of the same engine: whose end let `serial` start, else the one before it.
  Serial before(Serial serial) const {
    const Serial ended = earlier(serial, all_.start[serial]);
    return ended != no_serial ? ended : previous(serial);
  }

  // The newest earlier instruction of the engine that is busy at least until `until`.
  Serial earlier(Serial serial, Ticks until) const {
    const auto& mine = timeline_.of_engine[static_cast<std::size_t>(all_.engine[serial])];
    auto at = std::lower_bound(mine.begin(), mine.end(), serial);
    constexpr int far_enough = 64;  // loads and control instructions in front of the stream's end
    for (int steps = 0; at != mine.begin() && steps < far_enough; ++steps) {
      --at;
      if (all_.busy_until[*at] >= until) return *at;
    }
    return no_serial;
  }

  Serial previous(Serial serial) const {
    const auto& mine = timeline_.of_engine[static_cast<std::size_t>(all_.engine[serial])];
    const auto at = std::lower_bound(mine.begin(), mine.end(), serial);
    return at == mine.begin() ? no_serial : *(at - 1);
  }

  // The path stands at the start of an instruction that a transfer released, or at the end.
  void follow_transfer(std::uint32_t transfer, Serial released = no_serial) {
    const Timeline::Transfers& transfers = timeline_.transfers;
    if (released != no_serial) add(StepKind::signal, transfers.done[transfer], released);
    const Serial by = transfers.serial[transfer];
    next_ = by;
    const std::uint32_t last = last_span_[transfer];
    if (last == no_index) {  // moved nothing
      add(StepKind::dma_start, transfers.trigger[transfer], by);
      return;
    }
    follow_spans(last, by);
  }

  // Back along one DMA engine while it had no pause; then to the trigger of the transfer that it began with.
  void follow_spans(std::uint32_t span, Serial by) {
    const Timeline::Spans& spans = timeline_.spans;
    add(StepKind::dma_done, spans.end[span], by);
    for (;;) {
      const std::uint32_t transfer = spans.transfer[span];
      const Serial mine = timeline_.transfers.serial[transfer];
      const Ticks end = spans.end[span];
      // The write of the semaphore that ends a transfer on the engine, and other queues' turns.
      if (now_ > end) add(StepKind::dma_queue_waits, end, by);
      add(StepKind::dma_moves, spans.begin[span], mine, span);
      by = mine;
      next_ = mine;
      const std::uint32_t before = span_before_[span];
      const Ticks trigger = timeline_.transfers.trigger[transfer];
      if (before == no_index || spans.end[before] + semaphore_write_ < now_ || spans.end[before] <= trigger) {
        add(StepKind::dma_start, trigger, mine);
        return;
      }
      span = before;
    }
  }

  const Timeline& timeline_;
  const Timeline::Instructions& all_;
  const Program& program_;
  Ticks semaphore_write_;
  std::vector<std::uint32_t> last_span_;    // of a transfer, the one that ends last
  std::vector<std::uint32_t> span_before_;  // of the same DMA engine
  std::vector<Step> steps_;
  Ticks now_ = 0;
  Serial next_ = no_serial;
};

}  // namespace

std::string_view name(StepKind kind) { return step_names[static_cast<std::size_t>(kind)]; }

std::vector<Step> critical_path(const Timeline& timeline, const Program& program,
                                const MachineConfig& machine) {
  return Walk(timeline, program, machine).path();
}

std::vector<Ticks> slack(const Timeline& timeline) {
  const Timeline::Instructions& all = timeline.instructions;
  std::vector<Ticks> left(all.size());
  for (Serial s = 0; s < all.size(); ++s)
    left[s] = timeline.end - std::max(all.complete[s], all.busy_until[s]);
  const Timeline::Transfers& transfers = timeline.transfers;
  for (std::uint32_t t = 0; t < transfers.size(); ++t) {
    const Serial by = transfers.serial[t];
    left[by] = std::min(left[by], timeline.end - transfers.done[t]);
  }
  // Transfers share DMA engines: what comes behind one without a pause moves with it.
  const Timeline::Spans& spans = timeline.spans;
  std::array<std::uint32_t, dma_engine_count> newest;
  newest.fill(no_index);
  std::vector<std::pair<Serial, Serial>> behind;  // (second, first), of transfers that follow one another
  for (std::uint32_t i = 0; i < spans.size(); ++i) {
    std::uint32_t& before = newest[spans.dma_engine[i]];
    if (before != no_index && spans.transfer[before] != spans.transfer[i])
      behind.emplace_back(transfers.serial[spans.transfer[i]], transfers.serial[spans.transfer[before]]);
    before = i;
  }
  std::sort(behind.begin(), behind.end());
  behind.erase(std::unique(behind.begin(), behind.end()), behind.end());
  std::array<Serial, engine_count> next;
  next.fill(no_serial);
  // Everything an instruction can delay starts later, so it is settled first.
  for (Serial s = static_cast<Serial>(all.size()); s-- > 0;) {
    Serial& following = next[static_cast<std::size_t>(all.engine[s])];
    if (following != no_serial) {
      const Ticks room = all.start[following] - std::min(all.stalled_since[following], all.start[following]);
      // A pipeline stall is this engine's own doing: its earlier instructions set it.
      const Ticks own = all.reason[following] == StallReason::pipeline ? 0 : room;
      left[s] = std::min(left[s], left[following] + own);
    }
    following = s;
    // Whoever released or held up s.
    const Serial by = all.producer[s];
    if (by != no_serial && by < s)
      left[by] = std::min(left[by], left[s] + std::max<Ticks>(0, all.start[s] - all.release[s]));
    if (all.reason[s] == StallReason::port || all.reason[s] == StallReason::dma_queue) {
      const Serial holder = waited_for(timeline, s);
      if (holder != no_serial && holder < s) left[holder] = std::min(left[holder], left[s]);
    }
    const auto first = std::lower_bound(behind.begin(), behind.end(), std::pair{s, Serial{0}});
    for (auto b = first; b != behind.end() && b->first == s; ++b) {
      if (b->second < s) left[b->second] = std::min(left[b->second], left[s]);
    }
  }
  for (Ticks& t : left) t = std::max<Ticks>(0, t);
  return left;
}

}  // namespace ncemu
