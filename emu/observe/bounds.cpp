#include "emu/observe/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "emu/observe/flops.h"

namespace ncemu {
namespace {

struct RungRow {
  std::string_view name, gap;
  Rung above;
};

// clang-format off
constexpr std::array<RungRow, rung_count> rows = {{
  // rung                               gap                         measured from
  {"total",                            "",                          Rung::total},
  {"memory_bound",                     "dma_idle",                  Rung::total},
  {"memory_bound_ideal",               "dma_inefficiency",          Rung::memory_bound},
  {"memory_bound_ideal_no_reloads",    "excess_traffic",            Rung::memory_bound_ideal},
  {"compute_bound",                    "tensor_engine_idle",        Rung::total},
  {"compute_bound_ideal_flops",        "tensor_engine_underutilised", Rung::compute_bound},
  {"compute_bound_ideal_useful_flops", "transposes",                Rung::compute_bound_ideal_flops},
  {"perfect_pipeline",                 "engines_in_turn",           Rung::total},
}};
// clang-format on

// Grows a union of intervals that come in order of their begins.
struct Union {
  Ticks until = std::numeric_limits<Ticks>::min();
  Ticks add(Ticks begin, Ticks end) {
    const Ticks grown = std::max<Ticks>(0, end - std::max(begin, until));
    until = std::max(until, end);
    return grown;
  }
};

}  // namespace

std::string_view name(Rung rung) { return rows[static_cast<std::size_t>(rung)].name; }
std::string_view gap_name(Rung rung) { return rows[static_cast<std::size_t>(rung)].gap; }
Rung above(Rung rung) { return rows[static_cast<std::size_t>(rung)].above; }

double peak_ticks(double loaded, double stored, Ticks quiet, const MachineConfig& machine) {
  const double ticks_per_ns = static_cast<double>(ticks_per_us(machine)) / 1000;
  const bool buffers = machine.timing.mode == TimingMode::measured && machine.dma.write_buffer_bytes > 0;
  const double emptied = static_cast<double>(quiet) / ticks_per_ns * machine.dma.c_core / dma_engine_count;
  const double posted =
      buffers ? static_cast<double>(dma_engine_count * machine.dma.write_buffer_bytes) + emptied : 0;
  const double shared = loaded + std::max(0.0, stored - posted);
  return ticks_per_ns *
         std::max(shared / machine.dma.c_core, (loaded + stored) / (dma_engine_count * machine.dma.r_peak));
}

Ladder ladder(const BoundsWork& work, const MachineConfig& machine) {
  Ladder result;
  const auto set = [&](Rung rung, double ticks) { result.rungs[static_cast<std::size_t>(rung)] = ticks; };
  const auto tensor = static_cast<std::size_t>(Engine::tensor);
  set(Rung::total, static_cast<double>(work.total));
  if (work.moves) {
    set(Rung::memory_bound, static_cast<double>(work.dma_active));
    set(Rung::memory_bound_ideal, peak_ticks(work.loaded, work.stored, work.dma_quiet, machine));
    set(Rung::memory_bound_ideal_no_reloads,
        peak_ticks(work.loaded_once, work.stored_once, work.dma_quiet, machine));
  }
  if (work.computes) {
    set(Rung::compute_bound, static_cast<double>(work.engine_active[tensor]));
    set(Rung::compute_bound_ideal_flops, work.flop_ticks);
    set(Rung::compute_bound_ideal_useful_flops, work.useful_flop_ticks);
  }
  // The issue of control instructions on sync is no work that could set the pace; neither are triggers.
  Ticks slowest_compute = 0, slowest_but_tensor = 0;
  for (const Engine e : {Engine::tensor, Engine::vector, Engine::scalar, Engine::gpsimd}) {
    const Ticks active = work.engine_active[static_cast<std::size_t>(e)];
    slowest_compute = std::max(slowest_compute, active);
    if (e != Engine::tensor) slowest_but_tensor = std::max(slowest_but_tensor, active);
  }
  set(Rung::perfect_pipeline, static_cast<double>(std::max(slowest_compute, work.dma_active)));

  for (std::size_t r = 1; r < rung_count; ++r) {
    if (!result.rungs[r]) continue;
    Ticks other = 0;
    switch (static_cast<Rung>(r)) {
      case Rung::total:
      case Rung::perfect_pipeline: break;
      case Rung::memory_bound:
      case Rung::memory_bound_ideal:
      case Rung::memory_bound_ideal_no_reloads: other = slowest_compute; break;
      case Rung::compute_bound:
      case Rung::compute_bound_ideal_flops:
      case Rung::compute_bound_ideal_useful_flops:
        other = std::max(slowest_but_tensor, work.dma_active);
        break;
    }
    const double best = std::max(*result.rungs[r], static_cast<double>(other));
    if (best > 0) result.speedup[r] = std::max(1.0, static_cast<double>(work.total) / best);
  }
  return result;
}

BoundsInput::BoundsInput(const Timeline& timeline, const Program& program, const MachineConfig& machine,
                         std::vector<std::int64_t> first_touch)
    : timeline_(&timeline), program_(&program), first_touch_(std::move(first_touch)) {
  spans_by_begin_.resize(timeline.spans.size());
  std::iota(spans_by_begin_.begin(), spans_by_begin_.end(), 0U);
  std::sort(spans_by_begin_.begin(), spans_by_begin_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(timeline.spans.begin[a], a) < std::pair(timeline.spans.begin[b], b);
  });
  // Datasheet 1.3: every cell of the array multiplies and adds once per cycle.
  const double flops_per_tick =
      128.0 * 128.0 * 2.0 / static_cast<double>(ticks_per_cycle(machine, Engine::tensor));
  bool stationary_fp8 = false;
  for (const Serial s : timeline.of_engine[static_cast<std::size_t>(Engine::tensor)]) {
    const Instruction& i = program.stream(Engine::tensor)[timeline.instructions.index[s]];
    if (const auto* load = std::get_if<LoadStationary>(&i.operands)) stationary_fp8 = is_fp8(load->src.dtype);
    const auto* matmul = std::get_if<Matmul>(&i.operands);
    if (matmul == nullptr) continue;
    const double factor = adjusted_flop_factor(*matmul, stationary_fp8, program.target.generation);
    const auto flops = static_cast<double>(timeline.work_of(s).flops);
    matmuls_.push_back({s, flops, factor * flops / flops_per_tick, matmul->transpose});
  }
}

// As the DMA engines tell them: into HBM and not out of it.
bool BoundsInput::is_store(std::uint32_t transfer) const {
  const TransferShape& shape = timeline_->shape(transfer);
  return shape.hbm_written > 0 && shape.hbm_read == 0;
}

std::uint32_t BoundsInput::site_of(Serial serial) const {
  const Timeline::Instructions& all = timeline_->instructions;
  return program_->stream(all.engine[serial])[all.index[serial]].site;
}

void BoundsInput::add_flops(BoundsWork& work, const Matmuls& matmul, double share) const {
  work.computes = true;
  work.flops += share * matmul.flops;
  if (matmul.transpose) work.transpose_flops += share * matmul.flops;
  work.flop_ticks += share * matmul.flop_ticks;
  if (!matmul.transpose) work.useful_flop_ticks += share * matmul.flop_ticks;
}

BoundsWork BoundsInput::kernel() const {
  std::vector<BoundsWork> one = windows(1);
  return one.front();
}

std::vector<BoundsWork> BoundsInput::windows(std::size_t count) const {
  std::vector<BoundsWork> all(count);
  const Ticks total = timeline_->total();
  const auto edge = [&](std::size_t w) {
    return timeline_->begin + static_cast<Ticks>(w) * (total / static_cast<Ticks>(count)) +
           std::min<Ticks>(static_cast<Ticks>(w), total % static_cast<Ticks>(count));
  };
  std::vector<Ticks> edges;
  for (std::size_t w = 0; w <= count; ++w) edges.push_back(edge(w));
  for (std::size_t w = 0; w < count; ++w) {
    all[w].total = edges[w + 1] - edges[w];
    all[w].dma_quiet = dma_engine_count * all[w].total;
  }
  // visit(window, share of [begin, end) in it); an empty interval belongs to the window of its begin.
  const auto share_out = [&](Ticks begin, Ticks end, auto&& visit) {
    auto w = static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), begin) - edges.begin());
    w = std::clamp<std::size_t>(w, 1, count) - 1;
    if (end <= begin) {
      visit(all[w], 1.0, Ticks{0});
      return;
    }
    for (; w < count && edges[w] < end; ++w) {
      // What lies beyond the window's end counts in the last.
      const Ticks to = w + 1 == count ? end : std::min(end, edges[w + 1]);
      const Ticks inside = to - std::max(begin, edges[w]);
      if (inside > 0)
        visit(all[w], static_cast<double>(inside) / static_cast<double>(end - begin),
              std::min(to, timeline_->end) - std::max(begin, edges[w]));
    }
  };
  const Timeline::Spans& spans = timeline_->spans;
  // A transfer with several sources reads more in its packets than it counts for.
  std::vector<std::int64_t> in_packets(timeline_->transfers.size());
  for (std::size_t i = 0; i < spans.size(); ++i) in_packets[spans.transfer[i]] += spans.bytes[i];
  Union dma;
  for (const std::uint32_t i : spans_by_begin_) {
    const std::uint32_t t = spans.transfer[i];
    const double part =
        in_packets[t] == 0 ? 0 : static_cast<double>(spans.bytes[i]) / static_cast<double>(in_packets[t]);
    share_out(spans.begin[i], spans.end[i], [&](BoundsWork& work, double share, Ticks ticks) {
      work.moves = true;
      work.dma_quiet -= ticks;
      const double bytes = share * part * static_cast<double>(timeline_->shape(t).bytes);
      const double once = share * part * static_cast<double>(first_touch_[t]);
      (is_store(t) ? work.stored : work.loaded) += bytes;
      (is_store(t) ? work.stored_once : work.loaded_once) += once;
      work.hbm_read += share * part * static_cast<double>(timeline_->shape(t).hbm_read);
      work.hbm_written += share * part * static_cast<double>(timeline_->shape(t).hbm_written);
    });
    const Ticks from = std::max(spans.begin[i], dma.until);
    if (dma.add(spans.begin[i], spans.end[i]) > 0)
      share_out(from, spans.end[i], [](BoundsWork& work, double, Ticks ticks) { work.dma_active += ticks; });
  }
  for (const Engine e : all_engines) {
    Union active;
    for (const Serial s : timeline_->of_engine[static_cast<std::size_t>(e)]) {
      const Ticks start = timeline_->instructions.start[s], complete = timeline_->instructions.complete[s];
      const Ticks from = std::max(start, active.until);
      if (active.add(start, complete) > 0)
        share_out(from, complete, [&](BoundsWork& work, double, Ticks ticks) {
          work.engine_active[static_cast<std::size_t>(e)] += ticks;
        });
    }
  }
  for (const Matmuls& m : matmuls_) {
    share_out(timeline_->instructions.start[m.serial], timeline_->instructions.busy_until[m.serial],
              [&](BoundsWork& work, double share, Ticks) { add_flops(work, m, share); });
  }
  return all;
}

std::vector<BoundsWork> BoundsInput::regions(const Regions& regions) const {
  struct State {
    Ticks first = std::numeric_limits<Ticks>::max(), last = std::numeric_limits<Ticks>::min();
    Union dma;
    std::array<Union, engine_count> active;
  };
  std::vector<BoundsWork> all(regions.all().size());
  std::vector<State> states(all.size());
  const Timeline::Instructions& instructions = timeline_->instructions;
  for (Serial s = 0; s < instructions.size(); ++s) {
    const auto e = static_cast<std::size_t>(instructions.engine[s]);
    for (const RegionNumber r : regions.of_site(site_of(s))) {
      State& state = states[r];
      state.first = std::min(state.first, instructions.start[s]);
      state.last = std::max(state.last, instructions.complete[s]);
      all[r].engine_active[e] += state.active[e].add(instructions.start[s], instructions.complete[s]);
    }
  }
  for (std::uint32_t t = 0; t < timeline_->transfers.size(); ++t) {
    for (const RegionNumber r : regions.of_site(site_of(timeline_->transfers.serial[t]))) {
      all[r].moves = true;
      (is_store(t) ? all[r].stored : all[r].loaded) += static_cast<double>(timeline_->shape(t).bytes);
      (is_store(t) ? all[r].stored_once : all[r].loaded_once) += static_cast<double>(first_touch_[t]);
      all[r].hbm_read += static_cast<double>(timeline_->shape(t).hbm_read);
      all[r].hbm_written += static_cast<double>(timeline_->shape(t).hbm_written);
      states[r].last = std::max(states[r].last, timeline_->transfers.done[t]);
    }
  }
  const Timeline::Spans& spans = timeline_->spans;
  for (const std::uint32_t i : spans_by_begin_) {
    const Serial by = timeline_->transfers.serial[spans.transfer[i]];
    for (const RegionNumber r : regions.of_site(site_of(by))) {
      all[r].dma_active += states[r].dma.add(spans.begin[i], spans.end[i]);
      all[r].dma_quiet -= spans.end[i] - spans.begin[i];
    }
  }
  for (const Matmuls& m : matmuls_) {
    for (const RegionNumber r : regions.of_site(site_of(m.serial))) add_flops(all[r], m, 1);
  }
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (states[r].last >= states[r].first) all[r].total = states[r].last - states[r].first;
    all[r].dma_quiet += dma_engine_count * all[r].total;
  }
  return all;
}

}  // namespace ncemu
