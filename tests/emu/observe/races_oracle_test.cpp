// The race detector against the definition: over random programs that are synchronised automatically, with
// waits taken away or lowered, its verdict is that of the slow byte-by-byte check (tests/support/
// happens_before.h), in both directions.

#include <doctest/doctest.h>

#include <random>

#include "emu/machine/machine.h"
#include "emu/observe/races.h"
#include "isa/sync.h"
#include "tests/support/happens_before.h"
#include "tests/support/random_program.h"

using namespace ncemu;

namespace {

struct Verdict {
  RunStatus status = RunStatus::finished;
  std::vector<Finding> findings;
};

Verdict run(const Program& program, Mode mode = Mode::check) {
  RaceObserver races(program);
  RunOptions options;
  options.mode = mode;
  MachineConfig config = builtin_machine(program.target.machine);
  config.target = program.target;
  Machine machine(config, program, options);
  machine.add(races);
  const RunResult result = machine.run();
  return {result.status, races.findings()};
}

std::vector<std::pair<Engine, std::size_t>> waits_of(const Program& program) {
  std::vector<std::pair<Engine, std::size_t>> all;
  for (const Engine e : all_engines) {
    for (std::size_t i = 0; i < program.stream(e).size(); ++i) {
      if (program.stream(e)[i].wait.present()) all.emplace_back(e, i);
    }
  }
  return all;
}

}  // namespace

TEST_CASE(
    "on random programs with damaged waits the detector reports a race exactly if the definition has one") {
  test::RandomProgramOptions options;
  options.loops = options.blocks = options.registers = false;
  int damaged = 0, racing = 0, clean = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    options.target = test::small_target(seed % 2 == 0 ? "trn1" : "trn2");
    options.instructions = 8 + static_cast<int>(seed % 25);
    const Program text = test::random_program(seed, options);
    Program program = text;
    synchronise(program);
    const Verdict whole = run(program);
    REQUIRE(whole.status == RunStatus::finished);
    REQUIRE_MESSAGE(whole.findings.empty(), whole.findings.front().message);
    std::mt19937_64 random(seed);
    const auto waits = waits_of(program);
    for (int round = 0; round < 6 && !waits.empty(); ++round) {
      Program broken = program;
      for (std::uint64_t n = 1 + random() % 2; n > 0; --n) {
        const auto [engine, index] = waits[random() % waits.size()];
        Wait& wait = broken.stream(engine)[index].wait;
        if (random() % 3 == 0 && wait.value > 1) {
          wait.value = static_cast<std::uint16_t>(wait.value - 1);
        } else {
          wait = {};
        }
      }
      const Verdict verdict = run(broken, round % 2 == 0 ? Mode::check : Mode::timing_only);
      if (verdict.status != RunStatus::finished) continue;
      const auto truth = test::unordered_accesses(text, broken);
      ++damaged;
      int& kind = truth.empty() ? clean : racing;
      ++kind;
      const std::string source = test::listing(text);
      CAPTURE(source);
      CAPTURE(truth.size());
      CAPTURE(verdict.findings.size());
      CHECK(verdict.findings.empty() == truth.empty());
    }
  }
  MESSAGE(damaged, " damaged programs: ", racing, " with races, ", clean, " without");
  CHECK(racing > 300);
  CHECK(clean > 10);
}
