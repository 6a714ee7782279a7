#include "emu/observe/dma_time.h"

#include <algorithm>
#include <map>

namespace ncemu {
namespace {

constexpr std::array<std::string_view, dma_cause_count> cause_names = {
    "start", "completion", "few_engines", "hbm_twice", "unit", "descriptors", "bytes"};

// How many DMA engines move at each moment.
class Moving {
 public:
  explicit Moving(const Timeline::Spans& spans) : begins_(spans.begin), ends_(spans.end) {
    std::sort(begins_.begin(), begins_.end());
    std::sort(ends_.begin(), ends_.end());
  }

  // visit(engines, ticks) for each part of [begin, end). Intervals come in order and do not overlap.
  void over(Ticks begin, Ticks end, auto&& visit) {
    for (Ticks now = begin; now < end;) {
      while (begun_ < begins_.size() && begins_[begun_] <= now) ++begun_;
      while (ended_ < ends_.size() && ends_[ended_] <= now) ++ended_;
      Ticks until = end;
      if (begun_ < begins_.size()) until = std::min(until, begins_[begun_]);
      if (ended_ < ends_.size()) until = std::min(until, ends_[ended_]);
      visit(static_cast<double>(begun_ - ended_), static_cast<double>(until - now));
      now = until;
    }
  }

 private:
  std::vector<Ticks> begins_, ends_;
  std::size_t begun_ = 0, ended_ = 0;
};

class Account {
 public:
  Account(const Timeline& timeline, const Regions& regions, const Program& program,
          const MachineConfig& machine)
      : timeline_(timeline),
        regions_(regions),
        program_(program),
        dma_(machine.dma),
        hbm_(machine.hbm.bytes_per_ns),
        ticks_per_ns_(static_cast<double>(ticks_per_us(machine)) / 1000),
        moving_(timeline.spans) {}

  DmaTime of(std::span<const Step> path) {
    for (const Step& step : path) {
      switch (step.kind) {
        case StepKind::runs:
        case StepKind::signal:
        case StepKind::before_start: break;
        case StepKind::dma_start: start(step); break;
        case StepKind::dma_queue_waits:
        case StepKind::dma_done: add(DmaCause::completion, step, length(step)); break;
        case StepKind::dma_moves: moves(step); break;
      }
    }
    if (few_ticks_ > 0) result_.engines /= few_ticks_;
    if (result_[DmaCause::descriptors].ticks > 0)
      result_.descriptor_bytes /= result_[DmaCause::descriptors].ticks;
    for (std::size_t c = 0; c < dma_cause_count; ++c) {
      const auto most = std::max_element(lines_[c].begin(), lines_[c].end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most != lines_[c].end()) result_.parts[c].place = most->first;
    }
    return result_;
  }

 private:
  static double length(const Step& step) { return static_cast<double>(step.end - step.begin); }

  void add(DmaCause cause, const Step& step, double ticks) {
    if (ticks <= 0) return;
    const Timeline::Instructions& all = timeline_.instructions;
    const auto c = static_cast<std::size_t>(cause);
    result_.parts[c].ticks += ticks;
    const Instruction& by = program_.stream(all.engine[step.serial])[all.index[step.serial]];
    lines_[c][regions_.place_of(by.site)] += ticks;
  }

  void start(const Step& step) {
    add(DmaCause::start, step, length(step));
    moving_.over(step.begin, step.end, [&](double engines, double ticks) {
      if (engines == 0) result_.quiet += ticks;
    });
  }

  // The packets of one DMA engine. What it could have moved meanwhile tells what its bytes did not need.
  void moves(const Step& step) {
    const Timeline::Spans& spans = timeline_.spans;
    const TransferShape& shape = timeline_.shape(spans.transfer[step.span]);
    const bool twice = shape.hbm_read > 0 && shape.hbm_written > 0;
    double few = 0, could = 0, could_in_hbm = 0;  // ticks; bytes
    moving_.over(step.begin, step.end, [&](double engines, double ticks) {
      const double missing = 1 - engines * dma_.r_peak / dma_.c_core;
      if (missing > 0) {
        few += missing * ticks;
        few_ticks_ += ticks;
        result_.engines += engines * ticks;
      }
      const double rate = std::min(dma_.r_peak, dma_.c_core / engines) / ticks_per_ns_;
      could += ticks * rate;
      could_in_hbm += ticks * std::min(rate, twice ? hbm_ / (2 * engines) / ticks_per_ns_ : rate);
    });
    const double part = length(step) / static_cast<double>(spans.end[step.span] - spans.begin[step.span]);
    const double bytes = part * static_cast<double>(spans.bytes[step.span]);
    const double unit = rate_share(shape.kind, dma_);

    double left = length(step);
    const auto take = [&](DmaCause cause, double ticks) {
      ticks = std::clamp(ticks, 0.0, left);
      add(cause, step, ticks);
      left -= ticks;
      return ticks;
    };
    take(DmaCause::few_engines, few);
    take(DmaCause::hbm_twice, left * (1 - could_in_hbm / could));
    take(DmaCause::unit, left * (1 - unit));
    const double beside = take(DmaCause::descriptors, left * (1 - bytes / (could_in_hbm * unit)));
    take(DmaCause::bytes, left);
    if (shape.descriptors == 0) return;
    const double size = static_cast<double>(shape.bytes) / static_cast<double>(shape.descriptors);
    result_.descriptors += bytes / size;
    result_.descriptor_bytes += size * beside;
  }

  const Timeline& timeline_;
  const Regions& regions_;
  const Program& program_;
  const MachineConfig::DmaParameters& dma_;
  double hbm_, ticks_per_ns_;
  Moving moving_;
  DmaTime result_;
  double few_ticks_ = 0;
  std::array<std::map<PlaceNumber, double>, dma_cause_count> lines_;
};

}  // namespace

std::string_view name(DmaCause cause) { return cause_names[static_cast<std::size_t>(cause)]; }

double DmaTime::in_all() const {
  double sum = 0;
  for (const Part& part : parts) sum += part.ticks;
  return sum;
}

DmaTime dma_time(std::span<const Step> path, const Timeline& timeline, const Regions& regions,
                 const Program& program, const MachineConfig& machine) {
  return Account(timeline, regions, program, machine).of(path);
}

}  // namespace ncemu
