#include "emu/observe/profile.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

namespace ncemu {
namespace {

// Adds up by key in a stated order: a sort instead of a hash table's.
template <typename Group, typename Key>
std::vector<Group> merged(std::vector<Group> all, Key&& key, auto&& add) {
  std::stable_sort(all.begin(), all.end(), [&](const Group& a, const Group& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (key(all[i]) == key(all[kept])) {
      add(all[kept], all[i]);
    } else {
      all[++kept] = all[i];
    }
  }
  if (!all.empty()) all.resize(kept + 1);
  return all;
}

template <typename Group>
void largest_first(std::vector<Group>& all) {
  std::stable_sort(all.begin(), all.end(), [](const Group& a, const Group& b) { return a.ticks > b.ticks; });
}

std::vector<StallGroup> stall_groups(const Profile& p) {
  std::vector<StallGroup> all;
  for (const Engine e : all_engines) {
    for_each_piece(p.timeline, e, [&](const Piece& piece) {
      if (piece.kind != PieceKind::stalled) return;
      StallGroup group{.engine = e,
                       .place = p.place(piece.serial),
                       .reason = p.timeline.instructions.reason[piece.serial],
                       .ticks = piece.ticks(),
                       .count = 1};
      const Serial cause = waited_for(p.timeline, piece.serial);
      if (cause != no_serial) {
        group.cause_known = true;
        group.cause_engine = p.timeline.instructions.engine[cause];
        group.cause_place = p.place(cause);
        group.cause_opcode = p.instruction(cause).opcode;
      }
      all.push_back(group);
    });
  }
  all = merged(
      std::move(all),
      [](const StallGroup& g) {
        return std::tuple(g.engine, g.place, g.reason, g.cause_known, g.cause_engine, g.cause_place,
                          g.cause_opcode);
      },
      [](StallGroup& into, const StallGroup& g) {
        into.ticks += g.ticks;
        into.count += g.count;
      });
  largest_first(all);
  return all;
}

std::vector<OpcodeTime> opcode_times(const Profile& p) {
  std::vector<OpcodeTime> all;
  for (const Engine e : all_engines) {
    std::map<Opcode, OpcodeTime> mine;
    for (const Serial s : p.timeline.of_engine[static_cast<std::size_t>(e)]) {
      const Opcode opcode = p.instruction(s).opcode;
      OpcodeTime& time = mine.try_emplace(opcode, OpcodeTime{e, opcode, 0, 0}).first->second;
      ++time.count;
    }
    for_each_piece(p.timeline, e, [&](const Piece& piece) {
      if (piece.kind == PieceKind::busy) mine.at(p.instruction(piece.serial).opcode).busy += piece.ticks();
    });
    const std::size_t first = all.size();
    for (const auto& [opcode, time] : mine) all.push_back(time);
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.end(),
                     [](const OpcodeTime& a, const OpcodeTime& b) { return a.busy > b.busy; });
  }
  return all;
}

std::vector<RegionTime> region_times(const Profile& p, const std::vector<BoundsWork>& works) {
  std::vector<RegionTime> all(p.regions.all().size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].region = static_cast<RegionNumber>(r);
    all[r].least_slack = p.timeline.total();
    all[r].work = works[r];
  }
  const auto of = [&](Serial serial, auto&& visit) {
    for (const RegionNumber r : p.regions.of_site(p.instruction(serial).site)) visit(all[r]);
  };
  for (Serial s = 0; s < p.timeline.instructions.size(); ++s) {
    ++all[p.place(s)].own;  // lines are the first regions, by place
    of(s, [&](RegionTime& region) {
      ++region.instructions;
      region.flops += p.timeline.work_of(s).flops;
      region.least_slack = std::min(region.least_slack, p.slack[s]);
    });
  }
  for (std::uint32_t t = 0; t < p.timeline.transfers.size(); ++t) {
    of(p.timeline.transfers.serial[t], [&](RegionTime& region) {
      ++region.transfers;
      region.dma_bytes += p.timeline.shape(t).bytes;
    });
  }
  for (const Engine e : all_engines) {
    const auto number = static_cast<std::size_t>(e);
    for_each_piece(p.timeline, e, [&](const Piece& piece) {
      if (piece.kind == PieceKind::idle) return;
      of(piece.serial, [&](RegionTime& region) {
        if (piece.kind == PieceKind::busy) {
          region.busy[number] += piece.ticks();
          return;
        }
        region.stalled[number] += piece.ticks();
        const StallReason reason = p.timeline.instructions.reason[piece.serial];
        region.stalled_for[static_cast<std::size_t>(reason)] += piece.ticks();
      });
      if (piece.kind != PieceKind::stalled) return;
      const Serial cause = waited_for(p.timeline, piece.serial);
      if (cause != no_serial) of(cause, [&](RegionTime& region) { region.caused += piece.ticks(); });
    });
  }
  for (const Step& step : p.path) {
    if (step.serial == no_serial) continue;
    of(step.serial, [&](RegionTime& region) { region.critical += step.end - step.begin; });
  }
  std::erase_if(all, [](const RegionTime& region) { return region.instructions == 0; });
  return all;
}

std::vector<CriticalGroup> critical_groups(const Profile& p) {
  std::vector<CriticalGroup> all;
  for (const Step& step : p.path) {
    CriticalGroup group{.kind = step.kind, .ticks = step.end - step.begin, .steps = 1};
    if (step.serial != no_serial) {
      group.engine = p.timeline.instructions.engine[step.serial];
      group.place = p.place(step.serial);
      group.opcode = p.instruction(step.serial).opcode;
    }
    all.push_back(group);
  }
  all = merged(
      std::move(all), [](const CriticalGroup& g) { return std::tuple(g.kind, g.engine, g.place, g.opcode); },
      [](CriticalGroup& into, const CriticalGroup& g) {
        into.ticks += g.ticks;
        into.steps += g.steps;
      });
  largest_first(all);
  return all;
}

void count_dma(Profile& p) {
  const Timeline& timeline = p.timeline;
  std::map<std::uint8_t, QueueUse> queues;
  std::map<int, DescriptorSizes> sizes;  // by power of two
  const auto bucket = [&](std::uint32_t t) {
    const TransferShape& shape = timeline.shape(t);
    const auto average =
        static_cast<std::uint64_t>(shape.descriptors == 0 ? 0 : shape.bytes / shape.descriptors);
    return static_cast<int>(std::bit_width(average));
  };
  std::vector<QueueUse*> queue_of(timeline.transfers.size());
  std::vector<DescriptorSizes*> size_of(timeline.transfers.size());
  for (std::uint32_t t = 0; t < timeline.transfers.size(); ++t) {
    QueueUse& queue = queues[timeline.transfers.queue[t]];
    queue_of[t] = &queue;
    ++queue.transfers;
    queue.bytes += timeline.shape(t).bytes;
    const int power = bucket(t);
    DescriptorSizes& size = sizes[power];
    size_of[t] = &size;
    size.low = power == 0 ? 0 : std::int64_t{1} << (power - 1);
    size.high = power == 0 ? 0 : (std::int64_t{1} << power) - 1;
    ++size.transfers;
    size.descriptors += timeline.shape(t).descriptors;
    size.bytes += timeline.shape(t).bytes;
  }
  std::vector<std::uint32_t> by_begin(timeline.spans.size());
  std::iota(by_begin.begin(), by_begin.end(), 0U);
  std::sort(by_begin.begin(), by_begin.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(timeline.spans.begin[a], a) < std::pair(timeline.spans.begin[b], b);
  });
  std::map<const QueueUse*, Ticks> until;
  for (const std::uint32_t i : by_begin) {
    const Ticks begin = timeline.spans.begin[i], end = timeline.spans.end[i];
    const std::uint32_t t = timeline.spans.transfer[i];
    const auto engine = timeline.spans.dma_engine[i];
    p.dma_engines[engine].bytes += timeline.spans.bytes[i];
    p.dma_engines[engine].active += end - begin;
    size_of[t]->packet_time += end - begin;
    Ticks& covered = until.try_emplace(queue_of[t], begin).first->second;
    queue_of[t]->active += std::max<Ticks>(0, end - std::max(begin, covered));
    covered = std::max(covered, end);
  }
  for (const auto& [number, queue] : queues) {
    p.queues.push_back(queue);
    p.queues.back().queue = number;
  }
  const double peak = p.machine->dma.r_peak * 1000 / static_cast<double>(ticks_per_us(*p.machine));
  for (auto& [power, size] : sizes) {
    if (size.packet_time > 0)
      size.efficiency = static_cast<double>(size.bytes) / (static_cast<double>(size.packet_time) * peak);
    p.descriptor_sizes.push_back(size);
  }
}

Roofline roofline(const Profile& p) {
  Roofline r;
  const MachineConfig& machine = *p.machine;
  const double lanes = 128;
  r.peak_flops = lanes * lanes * 2 * static_cast<double>(machine.tensor.clock_mhz) * 1e6;
  r.hbm_bytes_per_s = machine.hbm.bytes_per_ns * 1e9;
  r.dma_bytes_per_s = machine.dma.c_core * 1e9;
  const double base_hz =
      1e6 * static_cast<double>(ticks_per_us(machine)) / static_cast<double>(ticks_per_core_cycle(machine));
  r.sbuf_bytes_per_s = lanes * 4 * base_hz;
  r.intensity = value(p.metrics, Metric::mm_arithmetic_intensity);
  const double seconds = p.us(p.timeline.total()) * 1e-6;
  if (seconds > 0 && p.summary.hardware_flops > 0) r.flops = p.summary.adjusted_hardware_flops / seconds;
  for (const Engine e : {Engine::tensor, Engine::vector, Engine::scalar, Engine::gpsimd}) {
    const auto number = static_cast<std::size_t>(e);
    r.elements_per_s[number] = lanes * static_cast<double>(clock_mhz(machine, e)) * 1e6;
    double elements = 0;
    for (const Serial s : p.timeline.of_engine[number])
      elements += lanes * static_cast<double>(p.timeline.work_of(s).elements);
    if (seconds > 0) r.kernel_elements_per_s[number] = elements / seconds;
  }
  return r;
}

}  // namespace

Ticks RegionTime::busy_in_all() const { return std::accumulate(busy.begin(), busy.end(), Ticks{0}); }
Ticks RegionTime::stalled_in_all() const { return std::accumulate(stalled.begin(), stalled.end(), Ticks{0}); }

Profile::Profile(Timeline recorded, Summary counted, const Program& program_, const MachineConfig& machine_,
                 std::span<const SourceBlock> blocks, std::size_t window_count)
    : program(&program_),
      machine(&machine_),
      timeline(std::move(recorded)),
      summary(std::move(counted)),
      regions(program_, blocks),
      traffic(ncemu::traffic(timeline, program_)),
      metrics(ncemu::metrics(timeline, program_, machine_, summary, traffic)) {
  for (const Engine e : all_engines) engines[static_cast<std::size_t>(e)] = engine_time(timeline, e);
  path = critical_path(timeline, program_, machine_);
  slack = ncemu::slack(timeline);
  const BoundsInput input(timeline, program_, machine_, traffic.first_touch);
  kernel = input.kernel();
  windows = input.windows(window_count);
  opcodes = opcode_times(*this);
  stalls = stall_groups(*this);
  source = region_times(*this, input.regions(regions));
  critical = critical_groups(*this);
  dma_time = ncemu::dma_time(path, timeline, regions, program_, machine_);
  count_dma(*this);
  for (Serial s = 0; s < timeline.instructions.size(); ++s) {
    const Instruction& i = instruction(s);
    if (i.wait.present()) ++waits;
    if (i.opcode == Opcode::act_table_load) ++table_loads;
  }
  lives = place_lives(timeline, program_);
  memory = memory_use(lives, program_);
  roofline = ncemu::roofline(*this);
}

}  // namespace ncemu
