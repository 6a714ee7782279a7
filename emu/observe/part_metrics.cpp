#include "emu/observe/part_metrics.h"

#include <algorithm>
#include <array>

namespace ncemu {
namespace {

struct EngineMetrics {
  Metric active, percent;
};
// clang-format off
constexpr std::array<EngineMetrics, engine_count> of_engine = {{
    {Metric::tensor_engine_active_time, Metric::tensor_engine_active_time_percent},
    {Metric::vector_engine_active_time, Metric::vector_engine_active_time_percent},
    {Metric::scalar_engine_active_time, Metric::scalar_engine_active_time_percent},
    {Metric::gpsimd_engine_active_time, Metric::gpsimd_engine_active_time_percent},
    {Metric::sync_engine_active_time,   Metric::sync_engine_active_time_percent},
}};
// clang-format on

}  // namespace

Metrics part_metrics(const BoundsWork& work, const MachineConfig& machine) {
  Metrics all;
  const auto set = [&](Metric metric, double value) { all[static_cast<std::size_t>(metric)] = value; };
  const auto seconds = [&](Ticks ticks) { return ns_from_ticks(machine, ticks) * 1e-9; };
  const double total = seconds(work.total);
  // Without a denominator there is no value.
  const auto percent = [&](Metric metric, double part, double whole) {
    if (whole > 0) set(metric, 100 * part / whole);
  };
  set(Metric::total_time, total);
  set(Metric::neuroncore_cycle_count, core_cycles(machine, work.total));
  for (const Engine e : all_engines) {
    const auto number = static_cast<std::size_t>(e);
    if (work.engine_active[number] == 0) continue;
    set(of_engine[number].active, seconds(work.engine_active[number]));
    percent(of_engine[number].percent, seconds(work.engine_active[number]), total);
  }
  const double hbm_rate = machine.hbm.bytes_per_ns * 1e9;
  const double hbm = work.hbm_read + work.hbm_written;
  if (work.moves) {
    set(Metric::dma_active_time, seconds(work.dma_active));
    set(Metric::dma_active_cycles, core_cycles(machine, work.dma_active));
    percent(Metric::dma_active_time_percent, seconds(work.dma_active), total);
    set(Metric::dma_transfer_total_bytes, work.loaded + work.stored);
    set(Metric::hbm_read_bytes, work.hbm_read);
    set(Metric::hbm_write_bytes, work.hbm_written);
    percent(Metric::mbu_estimated_percent, hbm, total * hbm_rate);
  }
  if (work.computes) {
    const double peak = 128.0 * 128.0 * 2.0 * static_cast<double>(machine.tensor.clock_mhz) * 1e6;
    const double useful = work.flops - work.transpose_flops;
    const double flops_per_tick = peak / (1e6 * static_cast<double>(ticks_per_us(machine)));
    set(Metric::hardware_flops, work.flops);
    set(Metric::transpose_flops, work.transpose_flops);
    set(Metric::adjusted_hardware_flops, work.flop_ticks * flops_per_tick);
    set(Metric::adjusted_transpose_flops, (work.flop_ticks - work.useful_flop_ticks) * flops_per_tick);
    percent(Metric::mfu_estimated_percent, work.flop_ticks, static_cast<double>(work.total));
    percent(Metric::mfu_inst_estimated_percent, useful, peak * total);
    percent(Metric::hfu_estimated_percent, work.flops, peak * total);
    if (hbm > 0) {
      const double intensity = useful / hbm;
      set(Metric::mm_arithmetic_intensity, intensity);
      for (const Metric metric :
           {Metric::mfu_max_achievable_estimated_percent, Metric::mfu_inst_max_achievable_estimated_percent})
        set(metric, 100 * std::min(1.0, intensity * hbm_rate / peak));
    }
  }
  return all;
}

}  // namespace ncemu
