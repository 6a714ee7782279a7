#pragma once

// Where in the streams a `.print` is. A probe is a point of the text; an engine that has written some of the
// view before it arrives behind its last such write, so that the value shows before anybody goes on to change
// it, if the streams allow that at all. Works on a placed Program that still has its text order: which
// instructions write the view is a question of addresses.

#include <array>
#include <cstdint>
#include <vector>

#include "isa/program.h"

namespace ncemu {

// What an engine arrives at, in terms that survive the lowering of loops and the insertion of waits.
struct ProbeMark {
  enum class What : std::uint8_t { none, at, behind, loop_begin, loop_end } what = What::none;
  std::uint32_t index = 0;  // of the instruction in the engine's stream, or in Program::loops
};
using ProbeMarks = std::array<ProbeMark, engine_count>;

// The marks of each probe; sets Probe::rounds.
//
// In a loop, the engines that write the view in its body count the rounds: behind the last write before the
// point or, if it only writes behind the point, at the begin of the body. If nobody writes it there, the
// engine of the loop next to the point does. In a hand-written block the block's engine counts, by branches
// that only it knows. A write in a loop or block that is over at the point is passed where that is over.
// Rounds of outer loops need no more: all streams of a loop join at its ends.
std::vector<ProbeMarks> mark_probes(Program& program);

// Positions instead of marks, `now_at(mark, engine)` by `now_at`; what only the text order needed goes.
template <typename NowAt>
void set_probes(Program& program, const std::vector<ProbeMarks>& marks, NowAt&& now_at) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    Probe& probe = program.probes[i];
    for (const Engine e : all_engines) {
      const ProbeMark& mark = marks[i][static_cast<std::size_t>(e)];
      if (mark.what != ProbeMark::What::none) {
        probe.position[static_cast<std::size_t>(e)] = now_at(mark, e);
      }
    }
    probe.at = 0;
    probe.loops.clear();
    probe.block = no_index;
  }
}

}  // namespace ncemu
