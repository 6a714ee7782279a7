#pragma once

// Where an engine's time went, to the tick (design: busy, stalled, idle). The window is cut into pieces that
// neither overlap nor leave anything out; each busy or stalled piece belongs to one dynamic instruction.

#include <algorithm>
#include <array>

#include "emu/observe/timeline.h"

namespace ncemu {

enum class PieceKind : std::uint8_t { busy, stalled, idle };

struct Piece {
  PieceKind kind = PieceKind::idle;
  Ticks begin = 0, end = 0;
  // Of the instruction that ran or waited; an idle piece belongs to the instruction that follows it, and to
  // none at the end, when the engine has nothing left to do.
  Serial serial = no_serial;
  Ticks ticks() const { return end - begin; }
};

// In order of time. Pieces are never empty.
template <typename Visit>
void for_each_piece(const Timeline& timeline, Engine engine, Visit&& visit) {
  const Timeline::Instructions& all = timeline.instructions;
  Ticks until = timeline.begin;
  // An interval may end after the last completion; beyond the window nothing counts.
  const auto piece = [&](PieceKind kind, Ticks to, Serial serial) {
    to = std::min(to, timeline.end);
    if (to <= until) return;
    visit(Piece{kind, until, to, serial});
    until = to;
  };
  for (const Serial s : timeline.of_engine[static_cast<std::size_t>(engine)]) {
    piece(PieceKind::idle, std::min(all.stalled_since[s], all.start[s]), s);
    piece(PieceKind::stalled, all.start[s], s);
    piece(PieceKind::busy, all.busy_until[s], s);
  }
  piece(PieceKind::idle, timeline.end, no_serial);
}

struct EngineTime {
  Ticks busy = 0, idle = 0;
  std::array<Ticks, stall_reason_kinds> stalled{};
  Ticks gated = 0;   // of busy: what the clock gate added
  Ticks active = 0;  // union of [start, complete)

  Ticks stalled_in_all() const;
};
EngineTime engine_time(const Timeline& timeline, Engine engine);

// Whose instruction or transfer a stalled one waited for: the signaller (semaphore, dma), the one that held
// the port, the one before it in the pipeline or in the descriptor generator. no_serial: unknown.
Serial waited_for(const Timeline& timeline, Serial stalled);

}  // namespace ncemu
