#pragma once

// Runs whose time lines the tests of reports look at: every kernel of the library on every machine, and
// random programs.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/machine_config.h"
#include "emu/observe/timeline.h"
#include "isa/sync.h"
#include "tests/support/kernel.h"
#include "tests/support/library.h"
#include "tests/support/random_program.h"

namespace ncemu::test {

struct RecordedRun {
  MachineConfig machine;
  Program program;
  Timeline timeline;
  RunResult result;
};

inline RecordedRun record(Program program, Mode mode, const std::vector<Observer*>& others = {},
                          RunOptions options = {}) {
  options.mode = mode;
  RecordedRun run{.machine = builtin_machine(program.target.machine),
                  .program = std::move(program),
                  .timeline = {},
                  .result = {}};
  run.machine.target = run.program.target;
  TimelineObserver observer;
  Machine machine(run.machine, run.program, std::move(options));
  machine.add(observer);
  for (Observer* other : others) machine.add(*other);
  run.result = machine.run();
  run.timeline = observer.take();
  return run;
}

// A synchronised random program; it may load registers, so it runs with data.
inline Program synchronised_random_program(std::uint64_t seed, const std::string& machine = "trn1") {
  RandomProgramOptions options;
  options.target = small_target(machine);
  Program program = random_program(seed, options);
  synchronise(program);
  return program;
}

// check(program, mode) is called for each: every kernel of the library, some on every machine, and random
// ones.
void for_each_program(int random_programs, auto&& check) {
  for (const LibraryKernel& kernel : small_library()) {
    CAPTURE(kernel.file);
    check(assemble_kernel(kernel.file, kernel.params, kernel.machine), Mode::timing_only);
    const bool everywhere = kernel.file == "fp8_gemm.nca" || kernel.file == "fp32_gemm.nca" ||
                            kernel.file == "softmax.nca" || kernel.file == "transpose_dma.nca";
    if (!everywhere) continue;
    for (const char* machine : {"inf2", "trn2"}) {
      CAPTURE(machine);
      check(assemble_kernel(kernel.file, kernel.params, machine), Mode::timing_only);
    }
  }
  for (int seed = 0; seed < random_programs; ++seed) {
    CAPTURE(seed);
    check(synchronised_random_program(static_cast<std::uint64_t>(seed), seed % 2 == 0 ? "trn1" : "trn2"),
          Mode::timed);
  }
}

}  // namespace ncemu::test
