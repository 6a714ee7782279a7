#include "emu/observe/metrics.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "emu/observe/account.h"
#include "emu/observe/flops.h"

namespace ncemu {
namespace {

constexpr std::array<MetricInfo, metric_count> table = {{
#define METRIC(name, unit, formula) {#name, unit, formula},
#include "emu/observe/metrics.def"
#undef METRIC
}};

// Set-up and control, which total_exec_time leaves out.
bool is_setup(Opcode opcode) {
  constexpr Opcode setup[] = {Opcode::nop,    Opcode::event_semaphore, Opcode::semaphore_clear,
                              Opcode::notify, Opcode::compare_branch,  Opcode::drain,
                              Opcode::write};
  return std::find(std::begin(setup), std::end(setup), opcode) != std::end(setup);
}

Ticks union_of(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Ticks sum = 0, until = std::numeric_limits<Ticks>::min();
  for (const Interval& i : intervals) {
    sum += std::max<Ticks>(0, i.end - std::max(i.begin, until));
    until = std::max(until, i.end);
  }
  return sum;
}

// What the packets of some transfers add up to.
struct Packets {
  std::vector<Interval> intervals;
  double count = 0, bytes = 0;
  Ticks active() const { return union_of(intervals); }
};

class Computation {
 public:
  Computation(const Timeline& timeline, const Program& program, const MachineConfig& machine,
              const Summary& summary, const Traffic& traffic)
      : timeline_(timeline),
        program_(program),
        machine_(machine),
        summary_(summary),
        traffic_(traffic),
        total_s_(seconds(timeline.total())),
        hbm_bytes_per_s_(machine.hbm.bytes_per_ns * 1e9),
        peak_flops_(128.0 * 128.0 * 2.0 * static_cast<double>(machine.tensor.clock_mhz) * 1e6) {}

  Metrics all() {
    times();
    flops();
    for (const Engine e : all_engines) engine(e);
    activation();
    if (summary_.dma.transfers > 0) dma();
    memories();
    sizes();
    return values_;
  }

 private:
  double seconds(Ticks ticks) const { return ns_from_ticks(machine_, ticks) * 1e-9; }
  void set(Metric metric, double value) { values_[static_cast<std::size_t>(metric)] = value; }
  void set(Metric metric, std::int64_t value) { set(metric, static_cast<double>(value)); }
  void set(Metric metric, std::uint64_t value) { set(metric, static_cast<double>(value)); }
  // Without a denominator there is no value.
  void ratio(Metric metric, double part, double whole, double scale = 100) {
    if (whole > 0) set(metric, scale * part / whole);
  }
  Opcode opcode(Serial serial) const {
    const Timeline::Instructions& all = timeline_.instructions;
    return program_.stream(all.engine[serial])[all.index[serial]].opcode;
  }

  void times() {
    const Timeline::Instructions& all = timeline_.instructions;
    std::vector<Interval> active;
    Ticks first = timeline_.end, last = timeline_.begin;
    for (Serial s = 0; s < all.size(); ++s) {
      active.push_back({all.start[s], all.complete[s]});
      if (is_setup(opcode(s))) continue;
      first = std::min(first, all.start[s]);
      last = std::max(last, all.complete[s]);
    }
    for (std::size_t i = 0; i < timeline_.spans.size(); ++i) {
      active.push_back({timeline_.spans.begin[i], timeline_.spans.end[i]});
      last = std::max(last, timeline_.spans.end[i]);
    }
    set(Metric::total_time, total_s_);
    set(Metric::neuroncore_cycle_count, core_cycles(machine_, timeline_.total()));
    if (last > first) set(Metric::total_exec_time, seconds(last - first));
    const double active_s = seconds(union_of(std::move(active)));
    set(Metric::total_active_time, active_s);
    ratio(Metric::total_active_time_percent, active_s, total_s_);
  }

  void flops() {
    if (summary_.hardware_flops == 0) return;
    double transposes = 0, adjusted_transposes = 0;
    std::uint64_t matmuls = 0;
    bool stationary_fp8 = false;
    for (const Serial s : timeline_.of_engine[static_cast<std::size_t>(Engine::tensor)]) {
      const Instruction& i = program_.stream(Engine::tensor)[timeline_.instructions.index[s]];
      if (const auto* load = std::get_if<LoadStationary>(&i.operands))
        stationary_fp8 = is_fp8(load->src.dtype);
      const auto* matmul = std::get_if<Matmul>(&i.operands);
      if (matmul == nullptr) continue;
      ++matmuls;
      if (!matmul->transpose) continue;
      const auto work = static_cast<double>(timeline_.work_of(s).flops);
      transposes += work;
      adjusted_transposes += work * adjusted_flop_factor(*matmul, stationary_fp8, program_.target.generation);
    }
    const auto hardware = static_cast<double>(summary_.hardware_flops);
    const double hbm = static_cast<double>(summary_.dma.hbm_read + summary_.dma.hbm_written);
    set(Metric::hardware_flops, hardware);
    set(Metric::transpose_flops, transposes);
    set(Metric::adjusted_hardware_flops, summary_.adjusted_hardware_flops);
    set(Metric::adjusted_transpose_flops, adjusted_transposes);
    set(Metric::matmul_instruction_count, matmuls);
    const double ridge = peak_flops_ / hbm_bytes_per_s_;
    set(Metric::peak_flops_bandwidth_ratio, ridge);
    ratio(Metric::mm_arithmetic_intensity, hardware - transposes, hbm, 1);
    if (hbm > 0) {
      const double best = 100 * std::min(1.0, (hardware - transposes) / hbm / ridge);
      set(Metric::mfu_max_achievable_estimated_percent, best);
      set(Metric::mfu_inst_max_achievable_estimated_percent, best);
    }
    if (summary_.mfu_estimated_percent) set(Metric::mfu_estimated_percent, *summary_.mfu_estimated_percent);
    ratio(Metric::mfu_inst_estimated_percent, hardware - transposes, peak_flops_ * total_s_);
    ratio(Metric::hfu_estimated_percent, hardware, peak_flops_ * total_s_);
  }

  void engine(Engine e) {
    struct Names {
      Metric time, active, percent, count;
    };
    // clang-format off
    constexpr std::array<Names, engine_count> names = {{
        {Metric::tensor_engine_instruction_time, Metric::tensor_engine_active_time, Metric::tensor_engine_active_time_percent, Metric::tensor_engine_instruction_count},
        {Metric::vector_engine_instruction_time, Metric::vector_engine_active_time, Metric::vector_engine_active_time_percent, Metric::vector_engine_instruction_count},
        {Metric::scalar_engine_instruction_time, Metric::scalar_engine_active_time, Metric::scalar_engine_active_time_percent, Metric::scalar_engine_instruction_count},
        {Metric::gpsimd_engine_instruction_time, Metric::gpsimd_engine_active_time, Metric::gpsimd_engine_active_time_percent, Metric::gpsimd_engine_instruction_count},
        {Metric::sync_engine_instruction_time,   Metric::sync_engine_active_time,   Metric::sync_engine_active_time_percent,   Metric::sync_engine_instruction_count},
    }};
    // clang-format on
    static_assert(all_engines[3] == Engine::gpsimd && all_engines[4] == Engine::sync);
    const Names& mine = names[static_cast<std::size_t>(e)];
    const Timeline::Instructions& all = timeline_.instructions;
    const auto& serials = timeline_.of_engine[static_cast<std::size_t>(e)];
    set(mine.count, std::uint64_t{serials.size()});
    if (serials.empty()) return;
    Ticks sum = 0;
    for (const Serial s : serials) sum += all.complete[s] - all.start[s];
    const double active = seconds(engine_time(timeline_, e).active);
    set(mine.time, seconds(sum));
    set(mine.active, active);
    ratio(mine.percent, active, total_s_);
  }

  void activation() {
    Ticks sum = 0;
    std::uint64_t count = 0;
    for (Serial s = 0; s < timeline_.instructions.size(); ++s) {
      if (opcode(s) != Opcode::activation) continue;
      ++count;
      sum += timeline_.instructions.complete[s] - timeline_.instructions.start[s];
    }
    if (count == 0) return;
    set(Metric::activate_instruction_time, seconds(sum));
    set(Metric::activate_instruction_count, count);
  }

  Packets packets_of(auto&& belongs) const {
    Packets all;
    const Timeline::Spans& spans = timeline_.spans;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (!belongs(timeline_.shape(spans.transfer[i]).mode)) continue;
      all.intervals.push_back({spans.begin[i], spans.end[i]});
      all.count += spans.packets[i];
      all.bytes += static_cast<double>(spans.bytes[i]);
    }
    return all;
  }

  void dma() {
    const double active = seconds(summary_.dma.active);
    set(Metric::dma_active_time, active);
    set(Metric::dma_active_cycles, core_cycles(machine_, summary_.dma.active));
    ratio(Metric::dma_active_time_percent, active, total_s_);
    set(Metric::dma_packet_time, seconds(summary_.dma.packet_time));
    Ticks transfer_time = 0;
    std::set<std::uint8_t> queues;
    for (std::size_t t = 0; t < timeline_.transfers.size(); ++t) {
      transfer_time += timeline_.transfers.last_packet[t] - timeline_.transfers.first_packet[t];
      queues.insert(timeline_.transfers.queue[t]);
    }
    const auto bytes = static_cast<double>(summary_.dma.bytes);
    set(Metric::dma_transfer_time, seconds(transfer_time));
    set(Metric::dma_transfer_count, summary_.dma.transfers);
    set(Metric::dma_transfer_total_bytes, bytes);
    set(Metric::dma_transfer_average_bytes, bytes / static_cast<double>(summary_.dma.transfers));
    set(Metric::dma_queue_count, std::uint64_t{queues.size()});
    ratio(Metric::average_dma_size, bytes, static_cast<double>(summary_.dma.descriptors), 1);

    const Packets all = packets_of([](DgeMode) { return true; });
    const Packets fixed = packets_of([](DgeMode mode) { return mode == DgeMode::static_; });
    const Packets dynamic = packets_of([](DgeMode mode) { return mode != DgeMode::static_; });
    const Packets software = packets_of([](DgeMode mode) { return mode == DgeMode::software; });
    const Packets hardware = packets_of([](DgeMode mode) { return mode == DgeMode::hardware; });
    const double static_active = seconds(fixed.active());
    set(Metric::static_dma_active_time, static_active);
    ratio(Metric::static_dma_active_time_percent, static_active, total_s_);
    ratio(Metric::dynamic_dma_active_time_percent, seconds(dynamic.active()), total_s_);
    set(Metric::static_dma_packet_count, fixed.count);
    set(Metric::static_dma_size, fixed.bytes);
    ratio(Metric::static_dma_packet_percent, fixed.count, all.count);
    ratio(Metric::static_dma_size_percent, fixed.bytes, all.bytes);
    ratio(Metric::dynamic_dma_packet_percent, dynamic.count, all.count);
    ratio(Metric::dynamic_dma_size_percent, dynamic.bytes, all.bytes);
    const double software_active = seconds(software.active());
    set(Metric::software_dynamic_dma_active_time, software_active);
    ratio(Metric::software_dynamic_dma_active_time_percent, software_active, total_s_);
    set(Metric::software_dynamic_dma_packet_count, software.count);
    set(Metric::software_dynamic_dma_size, software.bytes);
    ratio(Metric::software_dynamic_dma_packet_percent, software.count, all.count);
    ratio(Metric::software_dynamic_dma_size_percent, software.bytes, all.bytes);
    if (machine_.target.generation < 3) return;  // v2 has no hardware generator (datasheet 1.2)
    const double hardware_active = seconds(hardware.active());
    set(Metric::hardware_dynamic_dma_active_time, hardware_active);
    ratio(Metric::hardware_dynamic_dma_active_time_percent, hardware_active, total_s_);
    set(Metric::hardware_dynamic_dma_packet_count, hardware.count);
    set(Metric::hardware_dynamic_dma_size, hardware.bytes);
    ratio(Metric::hardware_dynamic_dma_packet_percent, hardware.count, all.count);
    ratio(Metric::hardware_dynamic_dma_size_percent, hardware.bytes, all.bytes);
  }

  void memories() {
    const DmaSummary& dma = summary_.dma;
    set(Metric::total_bandwidth_available, hbm_bytes_per_s_);
    set(Metric::hbm_read_bytes, dma.hbm_read);
    set(Metric::hbm_write_bytes, dma.hbm_written);
    set(Metric::sbuf_read_bytes, summary_.sbuf_read + dma.sbuf_read);
    set(Metric::sbuf_write_bytes, summary_.sbuf_written + dma.sbuf_written);
    set(Metric::psum_read_bytes, summary_.psum_read + dma.psum_read);
    set(Metric::psum_write_bytes, summary_.psum_written);
    ratio(Metric::mbu_estimated_percent, static_cast<double>(dma.hbm_read + dma.hbm_written),
          total_s_ * hbm_bytes_per_s_);
    std::uint64_t evictions = 0;
    std::int64_t evicted = 0;
    for (Serial s = 0; s < timeline_.instructions.size(); ++s) {
      const Work& work = timeline_.work_of(s);
      if (work.psum_read == 0 || work.sbuf_written == 0) continue;
      ++evictions;
      evicted += work.sbuf_written;
    }
    set(Metric::psum_read_sbuf_write_count, evictions);
    set(Metric::psum_read_sbuf_write_bytes, evicted);
    std::int64_t input = 0, output = 0, weight = 0, save = 0, reload = 0, read = 0, read_once = 0;
    for (const TensorTraffic& t : traffic_.tensors) {
      const TensorKind kind = program_.tensors[t.tensor].kind;
      const std::int64_t reads = t.read + t.unknown_read;
      if (kind == TensorKind::scratch) {
        save += t.written;
        reload += reads;
        continue;
      }
      (kind == TensorKind::constant ? weight : input) += reads;
      output += t.written;
      read += reads;
      read_once += t.read_once + t.unknown_read;
    }
    set(Metric::spill_save_bytes, save);
    set(Metric::spill_reload_bytes, reload);
    set(Metric::input_queue_bytes, input);
    set(Metric::output_queue_bytes, output);
    set(Metric::weight_queue_bytes, weight);
    ratio(Metric::useful_read_percent, static_cast<double>(read_once), static_cast<double>(read));
    ratio(Metric::mbu_min_read_util_percent, static_cast<double>(read_once), total_s_ * hbm_bytes_per_s_);
  }

  void sizes() {
    std::int64_t input = 0, output = 0, weight = 0;
    for (const Tensor& t : program_.tensors) {
      switch (t.kind) {
        case TensorKind::input: input += t.bytes(); break;
        case TensorKind::output: output += t.bytes(); break;
        case TensorKind::inout: input += t.bytes(); break;  // one tensor, moved both ways
        case TensorKind::constant: weight += t.bytes(); break;
        case TensorKind::scratch: break;
      }
    }
    set(Metric::inputs_and_weights_size_bytes, input + weight);
    set(Metric::inputs_outputs_weights_size_bytes, input + output + weight);
    set(Metric::weight_size_bytes, weight);
  }

  const Timeline& timeline_;
  const Program& program_;
  const MachineConfig& machine_;
  const Summary& summary_;
  const Traffic& traffic_;
  double total_s_, hbm_bytes_per_s_, peak_flops_;
  Metrics values_;
};

}  // namespace

std::span<const MetricInfo> all_metrics() { return table; }

Metrics metrics(const Timeline& timeline, const Program& program, const MachineConfig& machine,
                const Summary& summary, const Traffic& traffic) {
  return Computation(timeline, program, machine, summary, traffic).all();
}

}  // namespace ncemu
