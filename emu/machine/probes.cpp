#include "emu/machine/probes.h"

#include <algorithm>

namespace ncemu {

ProbeWatch::ProbeWatch(const std::vector<Probe>& probes) {
  standings_.reserve(probes.size());
  for (const Probe& probe : probes) {
    for (std::size_t e = 0; e < engine_count; ++e) {
      if (probe.position[e] == no_index) continue;
      arrivals_[e].push_back({probe.position[e], static_cast<std::uint32_t>(standings_.size())});
    }
    standings_.push_back({&probe, {}, 0});
  }
  for (auto& arrivals : arrivals_) {
    std::stable_sort(arrivals.begin(), arrivals.end(),
                     [](const Arrival& a, const Arrival& b) { return a.index < b.index; });
  }
}

// Each round counts once, however many engines pass it; without rounds the first arrivals are all.
bool ProbeWatch::due(const Standing& standing) {
  const Probe& probe = *standing.probe;
  if (probe.rounds.empty() && standing.shown > 0) return false;
  return std::all_of(std::begin(all_engines), std::end(all_engines), [&](Engine engine) {
    const auto e = static_cast<std::size_t>(engine);
    const std::uint64_t needed = probe.rounds.contains(engine) ? standing.shown + 1 : 1;
    return probe.position[e] == no_index || standing.arrived[e] >= needed;
  });
}

void ProbeWatch::begin(const Show& show) {
  for (Standing& standing : standings_) {
    for (std::size_t e = 0; e < engine_count; ++e) {
      if (standing.probe->position[e] == 0) ++standing.arrived[e];
    }
    if (!due(standing)) continue;
    ++standing.shown;
    show(*standing.probe);
  }
}

void ProbeWatch::arrive(Engine engine, std::uint32_t index, const Show& show) {
  const auto e = static_cast<std::size_t>(engine);
  const auto& arrivals = arrivals_[e];
  auto at = std::lower_bound(arrivals.begin(), arrivals.end(), index,
                             [](const Arrival& a, std::uint32_t i) { return a.index < i; });
  for (; at != arrivals.end() && at->index == index; ++at) {
    Standing& standing = standings_[at->probe];
    ++standing.arrived[e];
    while (due(standing)) {
      ++standing.shown;
      show(*standing.probe);
    }
  }
}

}  // namespace ncemu
