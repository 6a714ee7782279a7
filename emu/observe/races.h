#pragma once

// Finds races: two accesses to the same bytes, one of them a write, that no synchronisation orders, however
// harmless the timing of this run was. It records the run and looks at its order afterwards.

#include <vector>

#include "emu/observe/finding.h"
#include "emu/observe/race_shadow.h"
#include "emu/observe/run_trace.h"

namespace ncemu {

// Two instructions that race: places of the source, or static instructions where there is none.
struct Race {
  Access first, second;     // the first time
  std::uint64_t count = 0;  // pairs of executions
};

class RaceObserver : public Observer {
 public:
  // The program must outlive the observer.
  explicit RaceObserver(const Program& program) : trace_(program) {}
  void on_start(const Started& started) override {
    trace_.record(started.engine, started.index, *started.instruction, started.moves, started.rows);
  }

  // After the run: the races, one finding for each pair of places in the source, then the misuse of
  // semaphores (sync_misuse.h), both in the order of the run.
  std::vector<Finding> findings();

 private:
  RunTrace trace_;
};

struct RunOrder {
  std::vector<Race> races;  // in the order in which the run met them
  std::vector<SemaphoreHazard> hazards;
};
// Divides the footprints of the trace.
RunOrder analyse_order(RunTrace& trace);

// The race in the user's words.
Finding describe_race(const Race& race, const RunTrace& trace);

}  // namespace ncemu
