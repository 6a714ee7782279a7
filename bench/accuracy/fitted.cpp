#include "bench/accuracy/fitted.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

// clang-format off
constexpr Fitted vector_duration[] = {
    {"vector.l0", "146"},           {"vector.pair_l0", "0"},         {"vector.ptr_l0", "0"},
    {"vector.memset_l0", "150"},    {"vector.memset_psum_l0", "150"},{"vector.few_lanes_saving", "0"},
    {"vector.reciprocal_k", "8"},   {"vector.sbuf_other_apart_k", "1"},
    {"vector.write_line_k", "0"},   {"vector.write_part_k", "1"},    {"vector.write_queue", "0"},
};
constexpr Fitted vector_interval[] = {
    {"vector.ii_gap", "68"},        {"vector.pair_gap", "0"},        {"vector.ptr_gap", "52"},
    {"vector.memset_gap", "70"},    {"vector.memset_psum_gap", "70"},{"vector.sbuf_other_apart_k", "1"},
    {"vector.write_line_k", "0"},   {"vector.write_part_k", "1"},    {"vector.write_queue", "0"},
};
constexpr Fitted scalar_duration[] = {
    {"scalar.l0", "360"},           {"scalar.activate_l0", "0"},     {"scalar.sbuf_to_sbuf_l0", "0"},
    {"scalar.table_load_ns", "1290"},{"scalar.few_lanes_saving", "0"},
};
constexpr Fitted scalar_interval[] = {
    {"scalar.ii_gap", "64"},        {"scalar.activate_gap", "0"},    {"scalar.sbuf_source_gap", "0"},
};
constexpr Fitted weight_load[] = {
    {"tensor.load_l0", "190"},      {"tensor.load_fp32_l0", "197"},  {"tensor.load_fp32_k", "2"},
    {"tensor.load_strided_l0", "190"},{"tensor.load_strided_k", "1"},{"tensor.load_fp32_strided_k", "2"},
};
constexpr Fitted matmul_interval[] = {
    {"tensor.ii_gap", "7"},         {"tensor.load_after", "0"},      {"tensor.load_strided_k", "1"},
    {"tensor.few_columns_gap", "0"},{"tensor.load_fp32_k", "2"},
};
constexpr Fitted matmul_latency[] = {
    {"tensor.l0", "397"},           {"tensor.few_columns_l0", "0"},
};
constexpr Fitted control[] = {
    {"tensor.event_ns", "0"},       {"tensor.clear_ns", "0"},        {"tensor.drain_ns", "0"},
    {"vector.event_ns", "0"},       {"vector.clear_ns", "0"},        {"vector.drain_ns", "0"},
    {"scalar.event_ns", "0"},       {"scalar.clear_ns", "0"},        {"scalar.drain_ns", "0"},
    {"gpsimd.event_ns", "0"},       {"gpsimd.clear_ns", "0"},        {"gpsimd.drain_ns", "0"},
    {"sync.event_ns", "0"},         {"sync.clear_ns", "0"},          {"sync.drain_ns", "0"},
    {"vector.notify_ns", "0"},      {"scalar.notify_ns", "0"},       {"gpsimd.notify_ns", "0"},
    {"sync.notify_ns", "0"},        {"control.write_ns", "0"},       {"gpsimd.trigger_ns", "0"},
    {"vector.branch_ns", "0"},      {"scalar.branch_ns", "0"},       {"gpsimd.branch_ns", "0"},
    {"sync.branch_ns", "0"},        {"dma.g_hardware_ns", "600"},
    {"tensor.register_hbm_ns", "1900"},{"vector.register_hbm_ns", "1900"},{"scalar.register_hbm_ns", "1900"},
    {"gpsimd.register_hbm_ns", "1900"},{"sync.register_hbm_ns", "1900"},
};
constexpr Fitted load_window[] = {{"dma.c_core", "376"}, {"dma.tail_load_ns", "0"}};
constexpr Fitted store_window[] = {{"dma.r_peak", "27.2"}, {"dma.tail_store_ns", "0"}, {"dma.write_buffer_bytes", "0"}};
constexpr Fitted to_first_store[] = {{"dma.l_trig_ns", "740"}, {"dma.l_done_ns", "310"}};
constexpr Fitted packets[] = {
    {"dma.o_desc_ns", "6"},         {"dma.desc_min_ns", "7"},        {"dma.l_trig_ns", "740"},
    {"dma.l_trig_software_ns", "740"},{"dma.l_trig_hardware_ns", "740"},
};
constexpr Fitted elements[] = {{"dma.element_ns", "7"}, {"dma.g_index_row_ns", "4"}};
constexpr Fitted rates[] = {{"dma.c_core", "272"}};
constexpr Fitted kernels_of_v2[] = {{"vector.reciprocal_k", "8"}, {"tensor.load_issue", "0"}};

struct Group {
  std::string_view name;  // what a group's name ends with
  std::span<const Fitted> fitted;
};
constexpr Group groups[] = {
    {"vector duration", vector_duration}, {"vector interval", vector_interval},
    {"scalar duration", scalar_duration}, {"scalar interval", scalar_interval},
    {"weight load",     weight_load},     {"matmul interval", matmul_interval},
    {"matmul latency",  matmul_latency},  {"control",         control},
    {"load window",     load_window},     {"store window",    store_window},
    {"first load to first store", to_first_store},
    {"dma packet",      packets},         {"dma elements",    elements},
    {"dma rate",        rates},           {"trn1 whole kernel", kernels_of_v2},
};
// clang-format on

// The value as it is comes first: it stays where another one is no better.
constexpr double factors[] = {1, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.2, 1.5, 2};

// The value times a factor, in the spelling of its type.
std::string scaled(const std::string& value, double factor) {
  double number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = value.find_first_of(".e") == std::string::npos;
  return whole ? fmt::format("{}", std::llround(number * factor)) : fmt::format("{}", number * factor);
}

MachineConfig with(const MachineConfig& machine, std::string_view key, std::string_view value) {
  MachineConfig changed = machine;
  set_parameter(changed, fmt::format("{}={}", key, value));
  return changed;
}

// What the rows say with each value of one parameter.
struct Column {
  std::string_view key, without;
  std::vector<std::string> values;
  std::vector<std::vector<double>> predicted;  // by value, then by row

  bool moves(std::size_t row) const {
    for (const std::vector<double>& p : predicted) {
      if (p[row] != predicted.front()[row]) return true;
    }
    return false;
  }
};

Column column_of(const Fitted& fitted, const std::vector<const Case*>& cases,
                 const std::vector<double>& predicted, const MachineConfig& machine) {
  Column column{fitted.key, fitted.without, {}, {}};
  std::string value;
  for (const ParameterInfo& p : parameters(machine)) {
    if (p.key == fitted.key) value = p.value;
  }
  for (const double factor : factors) {
    column.values.push_back(scaled(value, factor));
    if (factor == 1) {
      column.predicted.push_back(predicted);
      continue;
    }
    std::vector<double>& row = column.predicted.emplace_back();
    try {
      const MachineConfig changed = with(machine, fitted.key, column.values.back());
      for (std::size_t i = 0; i < cases.size(); ++i) {
        const Case& c = *cases[i];
        // A long run is worth it only where the short one says that the parameter counts.
        const bool moves = !c.probe || c.probe(changed) != c.probe(machine);
        row.push_back(moves ? c.predict(changed) : predicted[i]);
      }
    } catch (const Fault&) {  // no machine has that value
      row = predicted;
    }
  }
  return column;
}

}  // namespace

std::span<const Fitted> fitted_to(std::string_view group) {
  for (const Group& g : groups) {
    if (group.ends_with(g.name)) return g.fitted;
  }
  return {};
}

std::vector<double> leave_one_out(const std::vector<const Case*>& cases, const std::vector<double>& predicted,
                                  std::span<const Fitted> fitted, const MachineConfig& machine) {
  std::vector<Column> columns;
  for (const Fitted& f : fitted) columns.push_back(column_of(f, cases, predicted, machine));
  std::vector<double> result = predicted;
  for (std::size_t out = 0; out < cases.size(); ++out) {
    MachineConfig others = machine;
    for (const Column& column : columns) {
      if (!column.moves(out)) continue;
      bool supported = false;
      std::size_t best = 0;
      double least = 0;
      for (std::size_t v = 0; v < column.values.size(); ++v) {
        double error = 0;
        for (std::size_t row = 0; row < cases.size(); ++row) {
          if (row == out) continue;
          supported = supported || column.predicted[v][row] != predicted[row];
          error += std::abs(column.predicted[v][row] / cases[row]->measured - 1);
        }
        if (v == 0 || error < least) {
          best = v;
          least = error;
        }
      }
      others = with(others, column.key, supported ? std::string_view(column.values[best]) : column.without);
    }
    result[out] = cases[out]->predict(others);
  }
  return result;
}

}  // namespace ncemu::accuracy
