#pragma once

// The vendor's summary metrics by name (metrics.def).

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "emu/machine_config.h"
#include "emu/observe/reloads.h"
#include "emu/observe/summary.h"
#include "emu/observe/timeline.h"

namespace ncemu {

enum class Metric : std::uint8_t {
#define METRIC(name, unit, formula) name,
#include "emu/observe/metrics.def"
#undef METRIC
};

struct MetricInfo {
  std::string_view name, unit, formula;
  bool applies() const { return !formula.starts_with("- "); }  // else its formula says why it does not
};
std::span<const MetricInfo> all_metrics();

inline constexpr std::size_t metric_count = 0
#define METRIC(name, unit, formula) +1
#include "emu/observe/metrics.def"
#undef METRIC
    ;

// By Metric; absent where a metric does not apply to this machine or this run.
using Metrics = std::array<std::optional<double>, metric_count>;
Metrics metrics(const Timeline& timeline, const Program& program, const MachineConfig& machine,
                const Summary& summary, const Traffic& traffic);

inline std::optional<double> value(const Metrics& metrics, Metric metric) {
  return metrics[static_cast<std::size_t>(metric)];
}

}  // namespace ncemu
