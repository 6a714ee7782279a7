#include "emu/observe/account.h"

#include "emu/observe/summary.h"
#include "tests/emu/observe/recorded_runs.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE(
    "every moment of every engine is busy, stalled for one reason, or idle, and belongs to one instruction") {
  for_each_program(60, [](Program program, Mode mode) {
    SummaryObserver summary(builtin_machine(program.target.machine));
    const RecordedRun run = record(std::move(program), mode, {&summary});
    const Timeline::Instructions& all = run.timeline.instructions;
    for (const Engine e : all_engines) {
      Ticks until = run.timeline.begin;
      for_each_piece(run.timeline, e, [&](const Piece& piece) {
        CHECK(piece.begin == until);  // no gap, no overlap
        CHECK(piece.end > piece.begin);
        until = piece.end;
        if (piece.kind == PieceKind::idle) return;
        REQUIRE(piece.serial != no_serial);
        CHECK(all.engine[piece.serial] == e);
        if (piece.kind == PieceKind::stalled) {
          CHECK(all.reason[piece.serial] != StallReason::none);
          CHECK(piece.end == all.start[piece.serial]);
        }
      });
      CHECK(until == run.timeline.end);
      // The same as the counters that listened to the run.
      const EngineTime time = engine_time(run.timeline, e);
      const EngineSummary& counted = summary.summary().engine(e);
      CHECK(time.busy + time.stalled_in_all() + time.idle == run.timeline.total());
      CHECK(time.busy == counted.busy);
      CHECK(time.stalled == counted.stalled);
      CHECK(time.idle == counted.idle);
      CHECK(time.gated == counted.gated);
      CHECK(time.active == counted.active);
    }
  });
}

TEST_CASE("whoever is waited for began earlier and could end the wait") {
  for_each_program(40, [](Program program, Mode mode) {
    const RecordedRun run = record(std::move(program), mode);
    const Timeline::Instructions& all = run.timeline.instructions;
    for (Serial s = 0; s < all.size(); ++s) {
      if (all.reason[s] == StallReason::none) continue;
      const Serial other = waited_for(run.timeline, s);
      REQUIRE(other != no_serial);  // every stall has a named cause
      CHECK(other < s);
      switch (all.reason[s]) {
        case StallReason::none: break;
        case StallReason::semaphore: CHECK(all.start[other] < all.start[s]); break;
        case StallReason::dma: {
          const std::uint32_t transfer = run.timeline.transfer_of(other);
          REQUIRE(transfer != no_transfer);
          CHECK(run.timeline.transfers.first_packet[transfer] <= all.start[s]);
          break;
        }
        case StallReason::port:
          CHECK(all.engine[other] != all.engine[s]);
          CHECK(all.read_done[other] == all.start[s]);
          break;
        case StallReason::pipeline:
        case StallReason::dma_queue: CHECK(all.engine[other] == all.engine[s]); break;
      }
    }
  });
}
