#include "emu/observe/timeline.h"

#include <algorithm>

#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr std::array<std::string_view, stall_reason_kinds> reason_names = {"none", "semaphore", "dma",
                                                                           "port", "pipeline",  "dma_queue"};

std::uint64_t hash(const HbmPattern& pattern) {
  std::uint64_t value = 0xCBF2'9CE4'8422'2325U;
  const auto add = [&](std::uint64_t v) { value = (value ^ v) * 0x9E37'79B9'7F4A'7C15U; };
  add(pattern.tensor);
  add(static_cast<std::uint64_t>(pattern.dtype));
  add(static_cast<std::uint64_t>(pattern.offset));
  for (const HbmDim& d : pattern.dims) {
    add((std::uint64_t{d.count} << 32U) ^ static_cast<std::uint32_t>(d.step));
  }
  return value ^ (value >> 29U);
}

// Grows to hold `index`.
template <typename T>
T& at(std::vector<T>& values, std::uint32_t index, const T& otherwise) {
  if (values.size() <= index) values.resize(std::size_t{index} + 1, otherwise);
  return values[index];
}

}  // namespace

std::string_view name(StallReason reason) { return reason_names[static_cast<std::size_t>(reason)]; }

std::uint32_t Timeline::transfer_of(Serial serial) const {
  const auto found = std::lower_bound(transfers.serial.begin(), transfers.serial.end(), serial);
  if (found == transfers.serial.end() || *found != serial) return no_transfer;
  return static_cast<std::uint32_t>(found - transfers.serial.begin());
}

std::span<const HbmAccess> Timeline::accesses(std::uint32_t transfer) const {
  const std::size_t first = transfers.first_access[transfer];
  const std::size_t last = std::size_t{transfer} + 1 < transfers.size() ? transfers.first_access[transfer + 1]
                                                                        : hbm_accesses.size();
  return std::span(hbm_accesses).subspan(first, last - first);
}

void TimelineObserver::on_start(const Started& started) {
  Timeline::Instructions& all = timeline_.instructions;
  ensure(started.serial == all.size(), "instructions are recorded in the order of their serials");
  ensure(started.serial < no_serial, "a recorded run has fewer than 2^32 instructions");
  if (all.size() == 0) timeline_.begin = started.passage.start;
  all.engine.push_back(started.engine);
  all.index.push_back(started.index);
  all.start.push_back(started.passage.start);
  all.stalled_since.push_back(started.stalled_since);
  all.busy_until.push_back(started.passage.busy_until);
  all.read_done.push_back(started.passage.read_done);
  all.complete.push_back(started.passage.complete);
  all.reason.push_back(started.reason);
  all.producer.push_back(started.released ? static_cast<Serial>(started.producer_serial) : no_serial);
  all.release.push_back(started.release);
  all.gated.push_back(started.passage.gated);
  const auto engine = static_cast<std::size_t>(started.engine);
  timeline_.of_engine[engine].push_back(static_cast<Serial>(started.serial));
  at(timeline_.work[engine], started.index, Work{}) = started.work;
}

std::uint32_t TimelineObserver::shape_of(const TransferStarted& transfer) {
  std::uint32_t& number =
      at(shape_numbers_[static_cast<std::size_t>(transfer.issuer)], transfer.index, no_index);
  if (number != no_index) return number;
  number = static_cast<std::uint32_t>(timeline_.shapes.size());
  const TransferWork& work = *transfer.work;
  timeline_.shapes.push_back({.bytes = work.bytes,
                              .hbm_read = work.hbm_read,
                              .hbm_written = work.hbm_written,
                              .sbuf_read = work.sbuf_read,
                              .sbuf_written = work.sbuf_written,
                              .psum_read = work.psum_read,
                              .descriptors = work.descriptors,
                              .shortest_run = work.shortest_run,
                              .mode = route(transfer.instruction->operands).mode,
                              .kind = work.kind});
  return number;
}

std::uint32_t TimelineObserver::number_of(const HbmPattern& pattern) {
  std::vector<std::uint32_t>& candidates = pattern_numbers_[hash(pattern)];
  for (const std::uint32_t known : candidates) {
    if (timeline_.hbm_patterns[known] == pattern) return known;
  }
  candidates.push_back(static_cast<std::uint32_t>(timeline_.hbm_patterns.size()));
  timeline_.hbm_patterns.push_back(pattern);
  return candidates.back();
}

void TimelineObserver::record_accesses(const TransferStarted& transfer) {
  const auto* copy = std::get_if<DmaCopy>(&transfer.instruction->operands);
  const bool indexed = copy != nullptr && !std::holds_alternative<std::monostate>(copy->index);
  for_each_access(*transfer.instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, HbmPattern>) {
      timeline_.hbm_accesses.push_back(
          {.pattern = number_of(pattern), .write = role == Role::write, .indexed = indexed});
    }
  });
}

void TimelineObserver::on_transfer(const TransferStarted& transfer) {
  Timeline::Transfers& all = timeline_.transfers;
  ensure(transfer.transfer == all.size(), "transfers are recorded in the order of their numbers");
  all.serial.push_back(static_cast<Serial>(transfer.serial));
  all.queue.push_back(transfer.queue);
  all.trigger.push_back(transfer.trigger);
  all.first_packet.push_back(transfer.trigger);
  all.last_packet.push_back(transfer.trigger);
  all.done.push_back(transfer.trigger);
  all.shape.push_back(shape_of(transfer));
  all.first_access.push_back(static_cast<std::uint32_t>(timeline_.hbm_accesses.size()));
  record_accesses(transfer);
}

void TimelineObserver::on_dma(const DmaService::Event& event) {
  Timeline::Transfers& transfers = timeline_.transfers;
  if (event.kind == DmaService::Event::Kind::engine_done) return;
  Timeline::Spans& spans = timeline_.spans;
  std::uint32_t& last = last_span_[event.engine];
  if (last != no_index && spans.transfer[last] == event.transfer && spans.end[last] == event.begin) {
    spans.end[last] = event.end;
    spans.bytes[last] += event.bytes;
    ++spans.packets[last];
  } else {
    last = static_cast<std::uint32_t>(spans.size());
    spans.dma_engine.push_back(event.engine);
    spans.transfer.push_back(event.transfer);
    spans.begin.push_back(event.begin);
    spans.end.push_back(event.end);
    spans.bytes.push_back(event.bytes);
    spans.packets.push_back(1);
  }
  const bool first = transfers.last_packet[event.transfer] == transfers.trigger[event.transfer];
  if (first || event.begin < transfers.first_packet[event.transfer])
    transfers.first_packet[event.transfer] = event.begin;
  transfers.last_packet[event.transfer] = std::max(transfers.last_packet[event.transfer], event.end);
}

void TimelineObserver::on_transfer_done(DmaService::TransferId transfer, Ticks at) {
  timeline_.transfers.done[transfer] = at;
}

void TimelineObserver::on_semaphore(const SemaphoreChanged& change) {
  if (!record_semaphores_) return;
  timeline_.semaphores.at.push_back(change.at);
  timeline_.semaphores.semaphore.push_back(change.semaphore);
  timeline_.semaphores.value.push_back(change.after);
  timeline_.semaphores.by.push_back(static_cast<Serial>(change.serial));
}

void TimelineObserver::on_end(Ticks at) {
  timeline_.end = at;
  if (timeline_.instructions.size() == 0) timeline_.begin = at;
}

std::vector<Interval> gated_intervals(const Timeline& timeline) {
  std::vector<Interval> intervals;
  const Timeline::Instructions& all = timeline.instructions;
  for (const Serial s : timeline.of_engine[static_cast<std::size_t>(Engine::tensor)]) {
    if (all.gated[s] == 0) continue;
    const Ticks end = std::min(all.busy_until[s], timeline.end);
    if (!intervals.empty() && all.start[s] <= intervals.back().end) {
      intervals.back().end = std::max(intervals.back().end, end);
    } else {
      intervals.push_back({all.start[s], end});
    }
  }
  return intervals;
}

std::vector<Interval> dma_intervals(const Timeline& timeline) {
  std::vector<Interval> intervals;
  intervals.reserve(timeline.spans.size());
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    intervals.push_back({timeline.spans.begin[i], timeline.spans.end[i]});
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < intervals.size(); ++i) {
    if (intervals[i].begin <= intervals[kept].end) {
      intervals[kept].end = std::max(intervals[kept].end, intervals[i].end);
    } else {
      intervals[++kept] = intervals[i];
    }
  }
  if (!intervals.empty()) intervals.resize(kept + 1);
  return intervals;
}

}  // namespace ncemu
