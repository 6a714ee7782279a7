#include "emu/observe/account.h"

#include <numeric>

namespace ncemu {
namespace {

// The instruction before `serial` in its engine's order.
Serial previous(const Timeline& timeline, Serial serial) {
  const auto& mine = timeline.of_engine[static_cast<std::size_t>(timeline.instructions.engine[serial])];
  const auto at = std::lower_bound(mine.begin(), mine.end(), serial);
  return at == mine.begin() ? no_serial : *(at - 1);
}

// Ports are held for [start, start + stream], and whoever waits starts the moment they are free: the holder
// is the newest instruction of another engine that has read to its end just then.
Serial port_holder(const Timeline& timeline, Serial stalled) {
  const Timeline::Instructions& all = timeline.instructions;
  Serial holder = no_serial;
  for (const Engine e : all_engines) {
    if (e == all.engine[stalled]) continue;
    const auto& theirs = timeline.of_engine[static_cast<std::size_t>(e)];
    auto at = std::lower_bound(theirs.begin(), theirs.end(), stalled);
    // Control instructions and triggers claim nothing and read at once, also while an earlier instruction
    // streams.
    for (int steps = 0; at != theirs.begin() && steps < 64; ++steps) {
      const Serial s = *--at;
      if (all.read_done[s] != all.start[stalled] || all.start[s] == all.start[stalled]) continue;
      if (holder == no_serial || s > holder) holder = s;
      break;
    }
  }
  return holder;
}

// Of the same issuer, the transfer before: its descriptors were still being made.
Serial previous_trigger(const Timeline& timeline, Serial stalled) {
  const Timeline::Instructions& all = timeline.instructions;
  const auto& triggers = timeline.transfers.serial;
  auto at = std::lower_bound(triggers.begin(), triggers.end(), stalled);
  while (at != triggers.begin()) {
    --at;
    if (all.engine[*at] == all.engine[stalled]) return *at;
  }
  return no_serial;
}

}  // namespace

Ticks EngineTime::stalled_in_all() const { return std::accumulate(stalled.begin(), stalled.end(), Ticks{0}); }

EngineTime engine_time(const Timeline& timeline, Engine engine) {
  EngineTime time;
  const Timeline::Instructions& all = timeline.instructions;
  for_each_piece(timeline, engine, [&](const Piece& piece) {
    switch (piece.kind) {
      case PieceKind::busy: time.busy += piece.ticks(); break;
      case PieceKind::stalled:
        time.stalled[static_cast<std::size_t>(all.reason[piece.serial])] += piece.ticks();
        break;
      case PieceKind::idle: time.idle += piece.ticks(); break;
    }
  });
  Ticks until = timeline.begin;
  for (const Serial s : timeline.of_engine[static_cast<std::size_t>(engine)]) {
    time.gated += all.gated[s];
    time.active += std::max<Ticks>(0, all.complete[s] - std::max(all.start[s], until));
    until = std::max(until, all.complete[s]);
  }
  time.gated = std::min(time.gated, time.busy);
  return time;
}

Serial waited_for(const Timeline& timeline, Serial stalled) {
  switch (timeline.instructions.reason[stalled]) {
    case StallReason::none: return no_serial;
    case StallReason::semaphore:
    case StallReason::dma: return timeline.instructions.producer[stalled];
    case StallReason::port: return port_holder(timeline, stalled);
    case StallReason::pipeline: return previous(timeline, stalled);
    case StallReason::dma_queue: return previous_trigger(timeline, stalled);
  }
  return no_serial;
}

}  // namespace ncemu
