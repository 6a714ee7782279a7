#pragma once

// Counts the arrivals of engines at probes (isa/program.h) and says when a probe shows.

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "isa/program.h"

namespace ncemu {

class ProbeWatch {
 public:
  using Show = std::function<void(const Probe&)>;

  // Of no probes.
  ProbeWatch() = default;
  // The probes must outlive the watch.
  explicit ProbeWatch(const std::vector<Probe>& probes);

  // All engines are at the begin of their streams: what shows before anything runs does.
  void begin(const Show& show);
  // The engine's sequencer has come to this index, by a step or a branch. Probes show in the order of the
  // text.
  void arrive(Engine engine, std::uint32_t index, const Show& show);
  bool concerns(Engine engine) const { return !arrivals_[static_cast<std::size_t>(engine)].empty(); }

 private:
  struct Standing {
    const Probe* probe = nullptr;
    std::array<std::uint64_t, engine_count> arrived{};
    std::uint64_t shown = 0;
  };
  struct Arrival {
    std::uint32_t index = 0, probe = 0;
  };
  static bool due(const Standing& standing);

  std::vector<Standing> standings_;                          // in the order of the text
  std::array<std::vector<Arrival>, engine_count> arrivals_;  // by index, then in the order of the text
};

}  // namespace ncemu
