#include "emu/observe/races.h"

#include <algorithm>
#include <map>
#include <utility>

#include "emu/observe/sync_misuse.h"

namespace ncemu {
namespace {

// More than anybody reads.
constexpr std::size_t race_limit = 1000;

// The races of one walk, one per pair of places in the source.
class Found {
 public:
  explicit Found(const RunTrace& trace) : trace_(&trace) {}

  void add(const Access& first, const Access& second) {
    const std::pair pair(key(first), key(second));
    if (races_.size() == race_limit && !number_.contains(pair)) return;
    const auto [known, fresh] = number_.try_emplace(pair, races_.size());
    if (fresh) races_.push_back({first, second, 0});
    Race& race = races_[known->second];
    // One pair of executions, whatever the number of bytes and operands.
    if (!fresh && last_first_ == first.position && last_second_ == second.position) return;
    last_first_ = first.position;
    last_second_ = second.position;
    ++race.count;
  }
  std::vector<Race> take() { return std::move(races_); }

 private:
  // An unrolled loop has made many instructions of one place.
  std::uint64_t key(const Access& a) const {
    const std::uint32_t index = trace_->sites()[a.site].index;
    const std::uint32_t place = trace_->program().stream(a.engine)[index].site;
    const std::uint64_t what = place != 0 ? std::uint64_t{place} << 1U | 1U : std::uint64_t{index} << 1U;
    return what << 3U | static_cast<std::uint64_t>(a.engine);
  }

  const RunTrace* trace_;
  std::vector<Race> races_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> number_;
  std::uint32_t last_first_ = no_index, last_second_ = no_index;
};

}  // namespace

RunOrder analyse_order(RunTrace& trace) {
  trace.footprints().divide();
  HappensBefore order(trace);
  while (true) {
    Found found(trace);
    order.begin();
    const bool look = !order.surely_not_final();
    RaceShadow shadow(look ? trace.footprints().atom_count() : 0);
    for (const std::uint32_t number : trace.order()) {
      const RunSite& site = trace.sites()[number];
      order.start(site);
      if (look) {
        const auto touches = trace.touches(site);
        for (std::uint32_t k = 0; k < touches.size(); ++k) {
          const Touch& touch = touches[k];
          const Access access{touch.write ? order.completion() : order.end_of_reading(),
                              k,
                              number,
                              order.position(),
                              site.engine,
                              touch.write,
                              site.nature == Nature::data};
          const LaneSet& lanes = trace.footprints()[touch.footprint].lanes;
          for (const Footprints::Atom atom : trace.footprints().atoms(touch.footprint)) {
            shadow.access(atom, lanes, access, order,
                          [&](const Access& earlier) { found.add(earlier, access); });
          }
        }
      }
      order.finish();
    }
    if (order.end() && look) return {found.take(), order.hazards()};
  }
}

std::vector<Finding> RaceObserver::findings() {
  std::vector<Finding> all;
  const RunOrder order = analyse_order(trace_);
  for (const Race& race : order.races) all.push_back(describe_race(race, trace_));
  for (const SemaphoreHazard& hazard : order.hazards) all.push_back(describe_hazard(hazard, trace_));
  // A race says already what the signals of its instructions are good for.
  const auto races = [&](const Involved& signaller) {
    return std::any_of(all.begin(), all.end(), [&](const Finding& f) {
      return std::any_of(f.involved.begin(), f.involved.end(), [&](const Involved& i) {
        return i.engine == signaller.engine && i.index == signaller.index;
      });
    });
  };
  for (Finding& finding : find_unused_signals(trace_)) {
    if (!races(finding.involved.front())) all.push_back(std::move(finding));
  }
  for (Finding& finding : find_impossible_waits(trace_.program(), trace_.use()))
    all.push_back(std::move(finding));
  return all;
}

}  // namespace ncemu
