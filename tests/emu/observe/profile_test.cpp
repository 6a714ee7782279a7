#include "emu/observe/profile.h"
#include "emu/observe/part_metrics.h"

#include <map>

#include "tests/emu/observe/recorded_runs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Profiled {
  RecordedRun run;
  Summary summary;
};

Profiled profiled(Program program, Mode mode) {
  SummaryObserver summary(builtin_machine(program.target.machine));
  Profiled result{record(std::move(program), mode, {&summary}), {}};
  result.summary = summary.summary();
  return result;
}

Profile model_of(const Profiled& p, std::size_t windows = 1) {
  return Profile(p.run.timeline, p.summary, p.run.program, p.run.machine, {}, windows);
}

}  // namespace

TEST_CASE("stalls by cause, time by opcode, and time by line add up to the engines' times, exactly") {
  for_each_program(40, [](Program program, Mode mode) {
    const Profiled run = profiled(std::move(program), mode);
    const Profile p = model_of(run);
    std::array<Ticks, engine_count> stalled{}, by_opcode{}, busy_by_line{}, stalled_by_line{};
    Ticks caused = 0, all_stalls = 0;
    for (const StallGroup& g : p.stalls) {
      stalled[static_cast<std::size_t>(g.engine)] += g.ticks;
      all_stalls += g.ticks;
      CHECK(g.cause_known);
    }
    for (const OpcodeTime& o : p.opcodes) by_opcode[static_cast<std::size_t>(o.engine)] += o.busy;
    std::uint64_t own = 0;
    for (const RegionTime& region : p.source) {
      if (p.regions.all()[region.region].kind != Region::Kind::line) continue;
      own += region.own;
    }
    CHECK(own == p.timeline.instructions.size());
    for (const Engine e : all_engines) {
      const auto n = static_cast<std::size_t>(e);
      CHECK(stalled[n] == p.engines[n].stalled_in_all());
      CHECK(by_opcode[n] == p.engines[n].busy);
    }
    // Each piece is charged to its own line once; lines of callers hold it too, so they only add.
    for (const RegionTime& region : p.source) {
      for (std::size_t e = 0; e < engine_count; ++e) {
        busy_by_line[e] += region.busy[e];
        stalled_by_line[e] += region.stalled[e];
        CHECK(region.busy[e] <= p.engines[e].busy);
      }
      caused += region.caused;
    }
    for (std::size_t e = 0; e < engine_count; ++e) {
      CHECK(busy_by_line[e] >= p.engines[e].busy);
      CHECK(stalled_by_line[e] >= p.engines[e].stalled_in_all());
    }
    CHECK(caused >= all_stalls);
    Ticks critical = 0;
    for (const CriticalGroup& g : p.critical) critical += g.ticks;
    CHECK(critical == p.timeline.total());
  });
}

TEST_CASE("a source without macros and includes charges every tick to exactly one line") {
  const Profiled run =
      profiled(assemble_kernel("vector_add.nca", {{"R", "300"}, {"C", "700"}, {"W", "512"}}, "trn1"),
               Mode::timing_only);
  const Profile p = model_of(run);
  std::array<Ticks, engine_count> busy{}, stalled{};
  Ticks critical = 0;
  std::int64_t bytes = 0;
  for (const RegionTime& region : p.source) {
    for (std::size_t e = 0; e < engine_count; ++e) {
      busy[e] += region.busy[e];
      stalled[e] += region.stalled[e];
    }
    critical += region.critical;
    bytes += region.dma_bytes;
  }
  for (std::size_t e = 0; e < engine_count; ++e) {
    CHECK(busy[e] == p.engines[e].busy);
    CHECK(stalled[e] == p.engines[e].stalled_in_all());
  }
  CHECK(critical == p.timeline.total());
  CHECK(bytes == p.summary.dma.bytes);
}

TEST_CASE("every copy's packets move its bytes, and no share of time or bytes leaves 0 to 100 percent") {
  for_each_program(40, [](Program program, Mode mode) {
    const Profiled run = profiled(std::move(program), mode);
    const Profile p = model_of(run);
    std::vector<std::int64_t> moved(p.timeline.transfers.size());
    for (std::size_t i = 0; i < p.timeline.spans.size(); ++i)
      moved[p.timeline.spans.transfer[i]] += p.timeline.spans.bytes[i];
    for (std::uint32_t t = 0; t < moved.size(); ++t) {
      // Transposes move whole blocks, however little of them they keep.
      const bool copies = p.instruction(p.timeline.transfers.serial[t]).opcode == Opcode::dma_copy;
      CHECK(moved[t] >= p.timeline.shape(t).bytes);
      if (copies) CHECK(moved[t] == p.timeline.shape(t).bytes);
    }
    for (std::size_t m = 0; m < metric_count; ++m) {
      const MetricInfo& info = all_metrics()[m];
      CAPTURE(info.name);
      if (!info.applies()) CHECK_FALSE(p.metrics[m].has_value());
      if (!p.metrics[m]) continue;
      CHECK(*p.metrics[m] >= 0);
      if (info.unit == "%") CHECK(*p.metrics[m] <= 100.0 + 1e-9);
    }
    for (const DescriptorSizes& s : p.descriptor_sizes) CHECK(s.efficiency <= 1.0 + 1e-3);  // ticks are whole
  });
}

TEST_CASE("the rungs of the ladder descend, and the windows add up to the kernel") {
  for_each_program(40, [](Program program, Mode mode) {
    const Profiled run = profiled(std::move(program), mode);
    const Profile p = model_of(run, 7);
    const Ladder l = ladder(p.kernel, *p.machine);
    // Packets last whole ticks, so each may be half a tick shorter than its bytes need.
    const double rounding = static_cast<double>(p.summary.dma.packets) / 2 / dma_engine_count + 1;
    const auto descends = [&](Rung from, Rung to, double tolerance) {
      if (l[from] && l[to]) CHECK(*l[to] <= *l[from] + tolerance);
    };
    descends(Rung::total, Rung::memory_bound, 0);
    descends(Rung::memory_bound, Rung::memory_bound_ideal, rounding);
    descends(Rung::memory_bound_ideal, Rung::memory_bound_ideal_no_reloads, 1e-6);
    descends(Rung::total, Rung::compute_bound, 0);
    descends(Rung::compute_bound, Rung::compute_bound_ideal_flops, 1e-6);
    descends(Rung::compute_bound_ideal_flops, Rung::compute_bound_ideal_useful_flops, 1e-6);
    descends(Rung::total, Rung::perfect_pipeline, 0);
    BoundsWork sum;
    for (const BoundsWork& w : p.windows) {
      sum.total += w.total;
      sum.dma_active += w.dma_active;
      sum.loaded += w.loaded;
      sum.stored += w.stored;
      sum.flop_ticks += w.flop_ticks;
      for (std::size_t e = 0; e < engine_count; ++e) sum.engine_active[e] += w.engine_active[e];
      CHECK(w.dma_active <= w.total);
    }
    CHECK(sum.total == p.timeline.total());
    CHECK(sum.dma_active == p.kernel.dma_active);
    CHECK(sum.engine_active == p.kernel.engine_active);
    CHECK(sum.loaded == doctest::Approx(p.kernel.loaded));
    CHECK(sum.stored == doctest::Approx(p.kernel.stored));
    CHECK(sum.loaded + sum.stored == doctest::Approx(static_cast<double>(p.summary.dma.bytes)));
    CHECK(sum.flop_ticks == doctest::Approx(p.kernel.flop_ticks));
    CHECK(p.kernel.dma_active == p.summary.dma.active);
  });
}

TEST_CASE("metrics of a part: one window has those of the kernel, and windows add up to them") {
  for_each_program(40, [](Program program, Mode mode) {
    const Profiled run = profiled(std::move(program), mode);
    const Profile p = model_of(run, 5);
    const Metrics whole = part_metrics(p.kernel, *p.machine);
    for (std::size_t m = 0; m < metric_count; ++m) {
      if (!whole[m]) continue;
      INFO(all_metrics()[m].name);
      REQUIRE(p.metrics[m]);
      CHECK(*whole[m] == doctest::Approx(*p.metrics[m]).epsilon(1e-6));
    }
    Metrics sum;
    for (const BoundsWork& w : p.windows) {
      const Metrics part = part_metrics(w, *p.machine);
      for (std::size_t m = 0; m < metric_count; ++m) {
        if (!part[m]) continue;
        sum[m] = sum[m].value_or(0) + *part[m];
        if (all_metrics()[m].name.ends_with("_active_time_percent")) CHECK(*part[m] <= 100 + 1e-9);
      }
    }
    for (const Metric metric :
         {Metric::total_time, Metric::neuroncore_cycle_count, Metric::vector_engine_active_time,
          Metric::dma_active_time, Metric::dma_transfer_total_bytes, Metric::hbm_read_bytes,
          Metric::hbm_write_bytes, Metric::hardware_flops, Metric::adjusted_hardware_flops}) {
      INFO(all_metrics()[static_cast<std::size_t>(metric)].name);
      CHECK(value(sum, metric).value_or(0) ==
            doctest::Approx(value(whole, metric).value_or(0)).epsilon(1e-6));
    }
  });
}

TEST_CASE("metrics of a region are those of its instructions and transfers alone") {
  const double m = 256, k = 512, n = 1024;
  const Profiled run =
      profiled(assemble_kernel("bf16_gemm.nca", {{"M", "256"}, {"K", "512"}, {"N", "1024"}}, "trn1"),
               Mode::timing_only);
  const Profile p = model_of(run);
  double flops = 0, read = 0, written = 0;
  for (const RegionTime& region : p.source) {
    const Region& r = p.regions.all()[region.region];
    if (r.kind != Region::Kind::line || r.first.file == no_index || region.own == 0) continue;
    const Metrics part = part_metrics(region.work, *p.machine);
    flops += value(part, Metric::hardware_flops).value_or(0);
    read += value(part, Metric::hbm_read_bytes).value_or(0);
    written += value(part, Metric::hbm_write_bytes).value_or(0);
    if (region.transfers == 0) CHECK_FALSE(value(part, Metric::dma_active_time));
  }
  CHECK(flops == 2 * m * k * n);
  CHECK(read == value(p.metrics, Metric::hbm_read_bytes));
  CHECK(written == 2 * m * n);  // C, once
}

TEST_CASE("metrics of a GEMM are those of the arithmetic on its sizes") {
  const double m = 256, k = 512, n = 1024;
  const Profiled run =
      profiled(assemble_kernel("bf16_gemm.nca", {{"M", "256"}, {"K", "512"}, {"N", "1024"}}, "trn1"),
               Mode::timing_only);
  const Profile p = model_of(run);
  const auto get = [&](Metric metric) { return value(p.metrics, metric).value_or(-1); };
  const double seconds = p.us(p.timeline.total()) * 1e-6;
  CHECK(get(Metric::total_time) == doctest::Approx(seconds));
  CHECK(get(Metric::neuroncore_cycle_count) == doctest::Approx(seconds * 1.4e9));
  CHECK(get(Metric::hardware_flops) == 2 * m * k * n);
  CHECK(get(Metric::adjusted_hardware_flops) == 2 * m * k * n);
  CHECK(get(Metric::transpose_flops) == 0);
  CHECK(get(Metric::peak_flops_bandwidth_ratio) == doctest::Approx(2.0 * 128 * 128 * 2.8e9 / 410e9));
  CHECK(get(Metric::mfu_estimated_percent) ==
        doctest::Approx(100 * 2 * m * k * n / (2.0 * 128 * 128 * 2.8e9 * seconds)));
  const double out = m * n * 2;  // bf16
  CHECK(get(Metric::hbm_write_bytes) == out);
  CHECK(get(Metric::output_queue_bytes) == out);
  CHECK(get(Metric::inputs_and_weights_size_bytes) == (m * k + k * n) * 2);
  CHECK(get(Metric::inputs_outputs_weights_size_bytes) == (m * k + k * n) * 2 + out);
  CHECK(get(Metric::hbm_read_bytes) >= (m * k + k * n) * 2);
  CHECK(get(Metric::mm_arithmetic_intensity) ==
        doctest::Approx(2 * m * k * n / (get(Metric::hbm_read_bytes) + out)));
  CHECK(get(Metric::spill_save_bytes) == 0);
  CHECK(get(Metric::static_dma_packet_percent) == doctest::Approx(100));
  CHECK_FALSE(value(p.metrics, Metric::hardware_dynamic_dma_size).has_value());  // v2 has none
  CHECK_FALSE(value(p.metrics, Metric::cc_op_time).has_value());
  CHECK_FALSE(value(p.metrics, Metric::mfu_hlo_estimated_percent).has_value());
  // Every operand byte was touched.
  std::map<std::string, TensorTraffic> traffic;
  for (const TensorTraffic& t : p.traffic.tensors) traffic[p.program->tensors[t.tensor].name] = t;
  REQUIRE(traffic.size() == 3);
  for (const auto& [name, t] : traffic) {
    const bool written = t.written > 0;
    CHECK((written ? t.written_once : t.read_once) == p.program->tensors[t.tensor].elements() * 2);
  }
}
