#include "emu/observe/summary.h"

#include <algorithm>
#include <numeric>

#include "emu/observe/flops.h"

namespace ncemu {

Ticks EngineSummary::stalled_in_all() const {
  return std::accumulate(stalled.begin(), stalled.end(), Ticks{0});
}

std::optional<double> Summary::dma_gb_per_s() const {
  if (total == 0) return std::nullopt;
  return static_cast<double>(dma.bytes) / (total_us * 1000);
}

std::optional<double> Summary::dma_active_gb_per_s() const {
  if (dma.active == 0) return std::nullopt;
  const double active_us = total_us * static_cast<double>(dma.active) / static_cast<double>(total);
  return static_cast<double>(dma.bytes) / (active_us * 1000);
}

SummaryObserver::SummaryObserver(const MachineConfig& machine)
    : generation_(machine.target.generation),
      per_us_(ticks_per_us(machine)),
      per_core_cycle_(ticks_per_core_cycle(machine)),
      // Datasheet 1.3: every cell of the array multiplies and adds once per cycle.
      flops_per_tick_(128.0 * 128.0 * 2.0 / static_cast<double>(ticks_per_cycle(machine, Engine::tensor))) {}

void SummaryObserver::on_start(const Started& started) {
  const Ticks start = started.passage.start;
  if (!first_start_) first_start_ = start;
  const auto number = static_cast<std::size_t>(started.engine);
  Account& account = accounts_[number];
  EngineSummary& engine = summary_.engines[number];
  if (!account.open) account = {.open = true, .until = *first_start_, .last_complete = *first_start_};

  // Intervals may overlap: control instructions issue, and weights load, while a stream passes.
  if (account.until < start) {
    const Ticks stalled_since = std::clamp(started.stalled_since, account.until, start);
    engine.idle += stalled_since - account.until;
    engine.stalled[static_cast<std::size_t>(started.reason)] += start - stalled_since;
    account.until = start;
  }
  if (started.passage.busy_until > account.until) {
    engine.busy += started.passage.busy_until - account.until;
    account.until = started.passage.busy_until;
  }
  engine.gated += started.passage.gated;
  const Ticks complete = started.passage.complete;
  engine.active += std::max<Ticks>(0, complete - std::max(start, account.last_complete));
  account.last_complete = std::max(account.last_complete, complete);

  ++engine.instructions;
  ++summary_.instructions;
  ++opcodes_.at(static_cast<std::size_t>(started.instruction->opcode));
  summary_.sbuf_read += started.work.sbuf_read;
  summary_.sbuf_written += started.work.sbuf_written;
  summary_.psum_read += started.work.psum_read;
  summary_.psum_written += started.work.psum_written;
  count_flops(started);
}

void SummaryObserver::count_flops(const Started& started) {
  if (const auto* load = std::get_if<LoadStationary>(&started.instruction->operands)) {
    stationary_fp8_ = is_fp8(load->src.dtype);
  }
  const auto* matmul = std::get_if<Matmul>(&started.instruction->operands);
  if (matmul == nullptr) return;
  const double factor = adjusted_flop_factor(*matmul, stationary_fp8_, generation_);
  summary_.hardware_flops += started.work.flops;
  summary_.adjusted_hardware_flops += factor * static_cast<double>(started.work.flops);
}

void SummaryObserver::on_transfer(const TransferStarted& transfer) {
  const TransferWork& work = *transfer.work;
  ++summary_.dma.transfers;
  summary_.dma.descriptors += static_cast<std::uint64_t>(work.descriptors);
  summary_.dma.bytes += work.bytes;
  summary_.dma.hbm_read += work.hbm_read;
  summary_.dma.hbm_written += work.hbm_written;
  summary_.dma.sbuf_read += work.sbuf_read;
  summary_.dma.sbuf_written += work.sbuf_written;
  summary_.dma.psum_read += work.psum_read;
}

void SummaryObserver::on_dma(const DmaService::Event& event) {
  if (event.kind != DmaService::Event::Kind::packet) return;
  ++summary_.dma.packets;
  summary_.dma.packet_time += event.end - event.begin;
  // Packets come in the order of their ends, so only the newest intervals can touch this one.
  Interval merged{event.begin, event.end};
  while (!dma_busy_.empty() && dma_busy_.back().end >= merged.begin) {
    merged.begin = std::min(merged.begin, dma_busy_.back().begin);
    dma_busy_.pop_back();
  }
  dma_busy_.push_back(merged);
}

void SummaryObserver::on_end(Ticks at) {
  const Ticks begin = first_start_.value_or(at);
  summary_.total = at - begin;
  summary_.total_us = static_cast<double>(summary_.total) / static_cast<double>(per_us_);
  summary_.core_cycles = static_cast<double>(summary_.total) / static_cast<double>(per_core_cycle_);
  for (std::size_t e = 0; e < accounts_.size(); ++e) {
    EngineSummary& engine = summary_.engines[e];
    const Ticks until = accounts_[e].open ? accounts_[e].until : begin;
    // An interval may end after the last completion; beyond the window nothing counts.
    if (until > at) {
      engine.busy -= until - at;
    } else {
      engine.idle += at - until;
    }
    engine.gated = std::min(engine.gated, engine.busy);
  }
  for (const Interval& i : dma_busy_) summary_.dma.active += i.end - i.begin;
  for (const InstructionInfo& row : all_instructions()) {
    const std::uint64_t count = opcodes_[static_cast<std::size_t>(row.opcode)];
    if (count > 0) summary_.opcodes.push_back({row.opcode, count});
  }
  if (summary_.total > 0 && summary_.hardware_flops > 0) {
    summary_.mfu_estimated_percent =
        100 * summary_.adjusted_hardware_flops / (flops_per_tick_ * static_cast<double>(summary_.total));
  }
}

}  // namespace ncemu
