#include "emu/observe/happens_before.h"

#include <algorithm>

#include "isa/fault.h"

namespace ncemu {
namespace {

// A run that is still not final after so many walks is full of waits that prove nothing; the order found so
// far holds more than the truth, and the races that it leaves are reported.
constexpr int walk_limit = 50;
// More different hazards than anybody reads.
constexpr std::size_t hazard_limit = 1000;

std::uint64_t mix(std::uint64_t hash, std::uint64_t v) {
  hash = (hash ^ v) * 0x9E37'79B9'7F4A'7C15U;
  return hash ^ hash >> 31U;
}

// The first of [from, size) that fulfils a condition which holds for all behind it.
template <typename Condition>
std::size_t first_that(std::size_t from, std::size_t size, Condition&& holds) {
  while (from < size) {
    const std::size_t middle = from + (size - from) / 2;
    if (holds(middle)) {
      size = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

}  // namespace

HappensBefore::HappensBefore(const RunTrace& trace) : trace_(&trace), semaphores_(256) {
  for (std::size_t i = 0; i < semaphores_.size(); ++i) {
    const RunTrace::Users& users = trace.users(i);
    Semaphore& s = semaphores_[i];
    s.producers = users.producers;
    s.consumers = users.consumers;
    // Waits that the run has not come to count too: their signals tell what goes wrong.
    for (const Engine e : all_engines) {
      if (trace.use().of(e, i).waits) s.listeners = s.listeners | e;
    }
    s.listeners = s.listeners | users.consumers;
    if (!s.listeners.empty()) s.listeners = s.listeners | users.setters;
    const auto several = [&] {
      int n = 0;
      for (const Engine e : all_engines) n += users.producers.contains(e);
      return n > 1;
    };
    if (s.listeners.empty() || !several()) continue;
    s.ordered = false;
    ++unordered_;
  }
}

void HappensBefore::begin() {
  ++walks_;
  for (const Engine e : all_engines) last_end_[at(e)] = std::move(now_[at(e)].clock);
  for (Stream& stream : now_) stream = Stream{Clock(first_transfer_chain, 0), Clocks::none, 0};
  links_.clear();
  for (Semaphore& s : semaphores_) {
    s.last_walk.clear();
    s.in_last_walk.clear();
    if (!s.ordered && s.signals > 0) {
      s.last_walk = std::move(s.lines);
      s.in_last_walk.resize(s.signals);
      for (std::uint32_t l = 0; l < s.last_walk.size(); ++l) {
        const auto& signals = s.last_walk[l].signals;
        for (std::uint32_t k = 0; k < signals.size(); ++k) s.in_last_walk[signals[k].ordinal] = {l, k};
      }
    }
    s.lines.clear();
    s.signals = 0;
    s.settings.clear();
    s.decrements.reset();
    s.chain = no_chain;
    s.assured.fill(0);
  }
  last_clocks_ = std::move(clocks_);
  clocks_.clear();
  last_decisions_ = decisions_;
  decisions_ = 0;
  hazards_.clear();
}

bool HappensBefore::end() {
  site_ = nullptr;
  bool looked_back = true;  // every decision that needs the last walk has had one
  for (Semaphore& s : semaphores_) {
    looked_back = looked_back && (s.ordered || s.signals == 0 || !s.last_walk.empty());
    if (!s.disproved) continue;
    s.disproved = s.ordered = false;
    s.lines.clear();
    s.signals = 0;
    ++unordered_;
    looked_back = false;
  }
  if (walks_ >= walk_limit || unordered_ == 0) return true;
  return looked_back && decisions_ == last_decisions_;
}

void HappensBefore::start(const RunSite& site) {
  site_ = &site;
  Stream& stream = self();
  position_ = stream.started++;
  stream.clock[issue_chain(site.engine)] = position_;
  if (site.need > 0) wait(site.wait_semaphore, site.need);
  switch (site.nature) {
    case Nature::data:
      read_end_ = {read_chain(site.engine), position_ + 1};
      completion_ = {complete_chain(site.engine), position_ + 1};
      break;
    case Nature::sequencer:
    case Nature::store:
    case Nature::drain: read_end_ = completion_ = {issue_chain(site.engine), position_ + 1}; break;
    case Nature::transfer: {
      const auto effects = trace_->effects(site);
      const bool heard = !effects.empty() && !semaphores_[effects.front().semaphore].listeners.empty();
      read_end_ = completion_ = heard ? new_link(effects.front().semaphore) : Event{};
    }
  }
}

// A chain of whose latest transfer the issuer knows that it is complete; the semaphore's own, if it can be.
Event HappensBefore::new_link(std::uint8_t semaphore) {
  const Stream& stream = self();
  Chain& mine = semaphores_[semaphore].chain;
  const auto over = [&](Chain chain) {
    return knows(stream.clock, {chain, links_[chain - first_transfer_chain]});
  };
  if (mine == no_chain || !over(mine)) {
    const auto end = first_transfer_chain + static_cast<Chain>(links_.size());
    for (mine = first_transfer_chain; mine != end && !over(mine);) ++mine;
    if (mine == end) links_.push_back(0);
  }
  return {mine, ++links_[mine - first_transfer_chain]};
}

void HappensBefore::finish() {
  Stream& stream = self();
  if (site_->nature == Nature::drain) {
    learn(stream, {read_chain(site_->engine), position_});
    learn(stream, {complete_chain(site_->engine), position_});
  }
  for (const Effect& effect : trace_->effects(*site_)) {
    if (semaphores_[effect.semaphore].listeners.empty()) continue;
    switch (effect.kind) {
      case Effect::Kind::increment: signal(effect); break;
      case Effect::Kind::decrement: decrement(effect); break;
      case Effect::Kind::set: set(effect); break;
    }
  }
}

void HappensBefore::learn(Stream& stream, Event event) {
  if (event.chain >= stream.clock.size()) stream.clock.resize(event.chain + 1);
  if (stream.clock[event.chain] >= event.value) return;
  stream.clock[event.chain] = event.value;
  if (stream.stored != Clocks::none) clocks_.release(stream.stored);
  stream.stored = Clocks::none;
}

void HappensBefore::learn_all(Stream& stream, const Signal& signal) {
  decisions_ = mix(decisions_, (std::uint64_t{position_} << 40U) ^ (std::uint64_t{signal.ordinal} << 8U) ^
                                   (static_cast<std::uint64_t>(site_->engine) << 4U) ^
                                   static_cast<std::uint64_t>(signal.engine));
  if (knows(stream.clock, signal.event)) return;
  const auto clock = clocks_[signal.clock];
  if (stream.clock.size() < clock.size()) stream.clock.resize(clock.size());
  for (std::size_t i = 0; i < clock.size(); ++i) stream.clock[i] = std::max(stream.clock[i], clock[i]);
  if (signal.engine != site_->engine) learn(stream, {issue_chain(signal.engine), signal.position + 1});
  if (signal.event.chain == complete_chain(signal.engine))
    learn(stream, {read_chain(signal.engine), signal.event.value});
  learn(stream, signal.event);
}

// ---- waits

void HappensBefore::wait(std::uint8_t semaphore, std::uint32_t need) {
  Semaphore& s = semaphores_[semaphore];
  // The latest setting that has surely happened; from a later one the wait may have been released before.
  const Setting* setting = nullptr;
  for (const Setting& one : s.settings) {
    if (known(one.event)) setting = &one;
  }
  const bool latest = s.settings.empty() || setting == &s.settings.back();
  const std::uint64_t decremented = latest ? known_decrements(s) : 0;
  if (s.ordered) {
    wait_ordered(s, setting, need + decremented);
  } else {
    wait_unordered(s, setting, need + decremented);
  }
  std::uint64_t& assured = s.assured[at(site_->engine)];
  assured = std::max<std::uint64_t>(assured, need);
}

void HappensBefore::wait_ordered(const Semaphore& s, const Setting* setting, std::uint64_t need) {
  if (s.lines.empty()) return;
  const auto& signals = s.lines.front().signals;
  const std::uint64_t value = setting != nullptr ? setting->value : 0;
  const std::uint64_t before = setting != nullptr && !setting->before.empty() ? setting->before.front() : 0;
  const std::size_t proved = first_that(0, signals.size(), [&](std::size_t k) {
    return value + signals[k].sum - signals[k].unit >= need + before;
  });
  if (proved > 0) learn_all(self(), signals[proved - 1]);
}

void HappensBefore::wait_unordered(const Semaphore& s, const Setting* setting, std::uint64_t need) {
  Stream& stream = self();
  const std::uint64_t all = without_nothing(s, setting);
  // All decisions first: what one teaches is no premise of another.
  std::vector<const Signal*> proved;
  for (std::size_t l = 0; l < s.lines.size(); ++l) {
    const auto& signals = s.lines[l].signals;
    std::size_t k =
        first_that(0, signals.size(), [&](std::size_t i) { return !knows(stream.clock, signals[i].event); });
    const Signal* last = nullptr;
    const auto proves = [&](const Signal& x) {
      return (stands_alone(s, x) ? all - x.unit : without(s, setting, x, l)) < need;
    };
    for (; k < signals.size() && proves(signals[k]); ++k) last = &signals[k];
    if (last != nullptr) proved.push_back(last);
  }
  for (const Signal* signal : proved) learn_all(stream, *signal);
}

// Whether no signal follows x, seen without looking at each: no stream that signals has ever known of it.
bool HappensBefore::stands_alone(const Semaphore& s, const Signal& x) const {
  if (x.event.chain < first_transfer_chain) return false;
  Event then;
  if (!s.last_walk.empty()) {
    const auto [line, place] = s.in_last_walk[x.ordinal];
    then = s.last_walk[line].signals[place].event;
  }
  return std::none_of(std::begin(all_engines), std::end(all_engines), [&](Engine e) {
    return s.producers.contains(e) &&
           (knows(now_[at(e)].clock, x.event) || (then.chain != no_chain && knows(last_end_[at(e)], then)));
  });
}

// The most that the semaphore can have reached.
std::uint64_t HappensBefore::without_nothing(const Semaphore& s, const Setting* setting) const {
  std::uint64_t sum = setting != nullptr ? setting->value : 0;
  for (std::size_t l = 0; l < s.lines.size(); ++l) {
    const std::uint64_t before = setting != nullptr && l < setting->before.size() ? setting->before[l] : 0;
    sum += s.lines[l].total - std::min(s.lines[l].total, before);
  }
  return sum + later_without(s, nullptr);
}

// Whether the signal y, with what its stream knew, must follow x.
bool HappensBefore::follows(std::span<const std::uint32_t> clock, const Signal& y, const Signal& x) {
  if (y.engine == x.engine) {
    const bool issued = x.event.chain == issue_chain(x.engine);
    if (issued && x.event.value <= y.position) return true;
    const bool both_data = y.event.chain == complete_chain(y.engine) &&
                           (x.event.chain == read_chain(x.engine) || x.event.chain == y.event.chain);
    if ((both_data || x.event.chain == y.event.chain) && x.event.value <= y.event.value) return true;
  }
  return knows(clock, x.event);
}

// The most that the semaphore can have reached without the signal x of a line.
std::uint64_t HappensBefore::without(const Semaphore& s, const Setting* setting, const Signal& x,
                                     std::size_t line) const {
  std::uint64_t sum = setting != nullptr ? setting->value : 0;
  for (std::size_t l = 0; l < s.lines.size(); ++l) {
    const auto& signals = s.lines[l].signals;
    std::uint64_t reached = x.sum - x.unit;
    if (l != line) {
      const std::size_t first = first_that(0, signals.size(), [&](std::size_t k) {
        return follows(clocks_[signals[k].clock], signals[k], x);
      });
      reached = first == 0 ? 0 : signals[first - 1].sum;
    }
    const std::uint64_t before = setting != nullptr && l < setting->before.size() ? setting->before[l] : 0;
    sum += reached - std::min(reached, before);
  }
  return sum + later_without(s, &x);
}

// Signals that came later in this run and need follow neither x nor the wait, by the order of the last walk.
std::uint64_t HappensBefore::later_without(const Semaphore& s, const Signal* x) const {
  if (s.last_walk.empty()) return 0;
  const Signal* then = nullptr;
  std::size_t x_line = s.last_walk.size();
  if (x != nullptr) {
    const auto [line, place] = s.in_last_walk[x->ordinal];
    x_line = line;
    then = &s.last_walk[line].signals[place];
  }
  const Event self_started{issue_chain(site_->engine), position_ + 1};
  std::uint64_t sum = 0;
  for (std::size_t l = 0; l < s.last_walk.size(); ++l) {
    if (l == x_line) continue;
    const auto& signals = s.last_walk[l].signals;
    const std::size_t later =
        first_that(0, signals.size(), [&](std::size_t k) { return signals[k].ordinal >= s.signals; });
    const std::size_t end = first_that(later, signals.size(), [&](std::size_t k) {
      const auto clock = last_clocks_[signals[k].clock];
      return signals[k].engine == site_->engine || knows(clock, self_started) ||
             (then != nullptr && follows(clock, signals[k], *then));
    });
    if (end > later) sum += signals[end - 1].sum - (later == 0 ? 0 : signals[later - 1].sum);
  }
  return sum;
}

std::uint64_t HappensBefore::known_decrements(Semaphore& s) {
  if (!s.decrements) return 0;
  std::uint64_t sum = 0;
  for (std::size_t whose = 0; whose < engine_count; ++whose) {
    const auto& all = s.decrements->of[whose];
    std::size_t& n = s.decrements->known[at(site_->engine)][whose];
    while (n < all.size() && known(all[n].event)) ++n;
    if (n > 0) sum += all[n - 1].sum;
  }
  return sum;
}

// ---- updates

Event HappensBefore::event_of(const Effect& effect) const {
  return effect.at_read && site_->nature == Nature::data ? read_end_ : completion_;
}

Clocks::Id HappensBefore::stored(Stream& stream) {
  if (stream.stored == Clocks::none) stream.stored = clocks_.store(stream.clock);
  clocks_.hold(stream.stored);
  return stream.stored;
}

HappensBefore::Line& HappensBefore::line_of(Semaphore& s, Chain chain) {
  if (s.ordered) chain = no_chain;
  for (Line& line : s.lines) {
    if (line.chain == chain) return line;
  }
  s.lines.push_back({chain, {}, 0, 0});
  return s.lines.back();
}

void HappensBefore::signal(const Effect& effect) {
  Semaphore& s = semaphores_[effect.semaphore];
  Stream& stream = self();
  Signal made;
  // The update of a register store fires in no order with later ones: a chain of its own, like a transfer.
  made.event = site_->nature == Nature::store ? new_link(effect.semaphore) : event_of(effect);
  made.position = position_;
  made.engine = site_->engine;
  made.unit = site_->nature == Nature::transfer ? effect.amount / dma_engine_count : effect.amount;
  made.clock = stored(stream);
  made.ordinal = s.signals++;
  made.site = number_of(*site_);
  if (!s.settings.empty() && !known(s.settings.back().event))
    report(SemaphoreHazard::Kind::lost_signal, effect.semaphore, made.site, s.settings.back().site);
  Line& line = line_of(s, made.event.chain);
  if (s.ordered && !line.signals.empty() && !follows(stream.clock, made, line.signals.back()))
    s.disproved = true;
  line.total += effect.amount;
  made.sum = line.total;
  line.signals.push_back(made);
  if (s.ordered && line.signals.size() >= s.prune_at) prune(s);
}

// What every listener knows, nobody asks for again.
void HappensBefore::prune(Semaphore& s) {
  auto& signals = s.lines.front().signals;
  std::size_t gone = signals.size() - 1;
  for (const Engine e : all_engines) {
    if (!s.listeners.contains(e)) continue;
    const Clock& clock = now_[at(e)].clock;
    gone = std::min(
        gone, first_that(0, signals.size(), [&](std::size_t k) { return !knows(clock, signals[k].event); }));
  }
  forget(s.lines.front(), gone);
  s.prune_at = std::max<std::size_t>(256, 2 * signals.size());
}

void HappensBefore::forget(Line& line, std::size_t count) {
  auto& signals = line.signals;
  for (std::size_t k = 0; k < count; ++k) clocks_.release(signals[k].clock);
  if (count > 0) line.forgotten = signals[count - 1].sum;
  signals.erase(signals.begin(), signals.begin() + static_cast<std::ptrdiff_t>(count));
}

void HappensBefore::decrement(const Effect& effect) {
  Semaphore& s = semaphores_[effect.semaphore];
  if (may_underflow(s, effect)) {
    const std::uint32_t site = number_of(*site_);
    report(SemaphoreHazard::Kind::underflow, effect.semaphore, site, site);
  }
  std::uint64_t& assured = s.assured[at(site_->engine)];
  assured -= std::min<std::uint64_t>(assured, effect.amount);
  // Before a setting that it need not follow it may have been forgotten.
  if (!s.settings.empty() && !known(s.settings.back().event)) return;
  if (!s.decrements) s.decrements = std::make_unique<Decrements>();
  auto& mine = s.decrements->of[at(site_->engine)];
  mine.push_back({event_of(effect), effect.amount + (mine.empty() ? 0 : mine.back().sum)});
}

// Whether another timing may find less in the semaphore than is taken from it. Its own wait assures the
// acquire form; else a single consumer may rely on the waits and signals before.
bool HappensBefore::may_underflow(const Semaphore& s, const Effect& effect) const {
  const bool acquires =
      site_->need > 0 && site_->wait_semaphore == effect.semaphore && site_->nature == Nature::sequencer;
  if (acquires && site_->need >= effect.amount) return false;
  if (!(s.consumers == EngineSet(site_->engine))) return true;
  if (s.assured[at(site_->engine)] >= effect.amount) return false;
  const Setting* setting = s.settings.empty() ? nullptr : &s.settings.back();
  if (setting != nullptr && !known(setting->event)) return true;
  std::uint64_t least = setting != nullptr ? setting->value : 0;
  for (std::size_t l = 0; l < s.lines.size(); ++l) {
    const auto& signals = s.lines[l].signals;
    const std::size_t n =
        first_that(0, signals.size(), [&](std::size_t k) { return !known(signals[k].event); });
    const std::uint64_t sum = n > 0 ? signals[n - 1].sum : s.lines[l].forgotten;
    const std::uint64_t before = setting != nullptr && l < setting->before.size() ? setting->before[l] : 0;
    least += sum - std::min(sum, before);
  }
  const auto* taken = s.decrements ? &s.decrements->of[at(site_->engine)] : nullptr;
  return least < effect.amount + (taken != nullptr && !taken->empty() ? taken->back().sum : 0);
}

void HappensBefore::report(SemaphoreHazard::Kind kind, std::uint8_t semaphore, std::uint32_t first,
                           std::uint32_t second) {
  const auto same = std::find_if(hazards_.begin(), hazards_.end(), [&](const SemaphoreHazard& h) {
    return h.kind == kind && h.semaphore == semaphore && h.first == first && h.second == second;
  });
  if (same != hazards_.end()) {
    ++same->count;
  } else if (hazards_.size() < hazard_limit) {
    hazards_.push_back({kind, semaphore, first, second, 1});
  }
}

std::uint32_t HappensBefore::number_of(const RunSite& site) const {
  return static_cast<std::uint32_t>(&site - trace_->sites().data());
}

void HappensBefore::set(const Effect& effect) {
  Semaphore& s = semaphores_[effect.semaphore];
  Setting setting{event_of(effect), effect.amount, number_of(*site_), {}};
  for (const Line& line : s.lines) {
    const std::size_t n = first_that(
        0, line.signals.size(), [&](std::size_t k) { return !knows(self().clock, line.signals[k].event); });
    if (n < line.signals.size())
      report(SemaphoreHazard::Kind::lost_signal, effect.semaphore, line.signals[n].site, setting.site);
    setting.before.push_back(n > 0 ? line.signals[n - 1].sum : line.forgotten);
  }
  // Of what is older than the setting before this one, no wait is asked any more.
  if (s.ordered && !s.lines.empty() && !s.settings.empty()) {
    Line& line = s.lines.front();
    const std::uint64_t old = s.settings.back().before.empty() ? 0 : s.settings.back().before.front();
    forget(line,
           first_that(0, line.signals.size(), [&](std::size_t k) { return line.signals[k].sum > old; }));
  }
  if (s.settings.size() == 2) s.settings.erase(s.settings.begin());
  s.settings.push_back(std::move(setting));
  s.assured.fill(0);
  s.decrements.reset();
}

}  // namespace ncemu
