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

struct NamedKernel {
  std::string file;
  Params params;
};

// Small, ragged sizes: every kernel has a short last tile.
inline const std::vector<NamedKernel>& library_kernels() {
  static const std::vector<NamedKernel> kernels = {
      {"fp8_gemm.nca", {{"M", "200"}, {"K", "650"}, {"N", "1030"}}},
      {"bf16_gemm.nca", {{"M", "130"}, {"K", "256"}, {"N", "520"}}},
      {"fp32_gemm.nca", {{"M", "130"}, {"K", "200"}, {"N", "513"}}},
      {"vector_add.nca", {{"R", "300"}, {"C", "700"}, {"W", "512"}}},
      {"softmax.nca", {{"R", "700"}, {"C", "130"}}},
  };
  return kernels;
}

// A synchronised random program; it may load registers, so it runs with data.
inline Program synchronised_random_program(std::uint64_t seed, const std::string& machine = "trn1") {
  RandomProgramOptions options;
  options.target = small_target(machine);
  Program program = random_program(seed, options);
  synchronise(program);
  return program;
}

// check(program, mode) is called for each.
void for_each_program(int random_programs, auto&& check) {
  for (const NamedKernel& kernel : library_kernels()) {
    for (const char* machine : {"inf2", "trn1", "trn2"}) {
      CAPTURE(kernel.file);
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
