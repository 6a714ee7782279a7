// The race detector against the definition: over random programs that are synchronised automatically, with
// waits taken away or lowered, its verdict is that of the slow byte-by-byte check (tests/support/
// happens_before.h), in both directions.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>

#include "emu/data/state.h"
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

// A digest of all memory after a run; timing 0 is without a clock.
std::uint64_t memory_after(const Program& program, std::uint64_t timing) {
  RunOptions options;
  options.mode = timing == 0 ? Mode::functional : Mode::timed;
  const auto random = std::make_shared<std::mt19937_64>(timing);
  const auto ticks = [random](unsigned powers) {
    return static_cast<Ticks>((*random)() % (std::uint64_t{1} << ((*random)() % powers)));
  };
  options.perturb = [ticks](const Instruction&, Engine, Cost& cost) {
    cost = {.interval = 1 + ticks(12), .stream = 1 + ticks(12), .latency = 1 + ticks(14)};
  };
  options.perturb_transfer = [ticks](const Instruction&, Engine, Ticks& delay) { delay += ticks(16); };
  MachineConfig config = builtin_machine(program.target.machine);
  config.target = program.target;
  Machine machine(config, program, options);
  State& state = machine.state();
  std::mt19937_64 content(7);
  const auto fill = [&](std::span<std::byte> bytes) {  // finite numbers of every float type
    for (std::byte& b : bytes) b = static_cast<std::byte>(content() % 64);
  };
  std::uint64_t digest = 0;
  const auto add = [&](std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) digest = (digest ^ static_cast<std::uint64_t>(b)) * 0x100'0000'01B3U;
  };
  const auto tensors = static_cast<std::uint16_t>(program.tensors.size());
  for (OnChipMemory* memory : {&state.sbuf, &state.psum}) {
    for (std::uint32_t p = 0; p < memory->partitions(); ++p)
      fill({memory->row(p), memory->partition_bytes()});
  }
  for (std::uint16_t t = 0; t < tensors; ++t) fill(state.hbm.edit(t, 0, state.hbm.bytes(t)));
  const RunResult result = machine.run();
  REQUIRE_MESSAGE(result.status == RunStatus::finished, result.message);
  for (OnChipMemory* memory : {&state.sbuf, &state.psum}) {
    for (std::uint32_t p = 0; p < memory->partitions(); ++p) add({memory->row(p), memory->partition_bytes()});
  }
  for (std::uint16_t t = 0; t < tensors; ++t) add(state.hbm.view(t, 0, state.hbm.bytes(t)));
  return digest;
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

TEST_CASE("semaphores that several producers share are judged as the definition does") {
  test::RandomProgramOptions options;
  options.loops = options.blocks = options.registers = false;
  int racing = 0, clean = 0;
  for (std::uint64_t seed = 0; seed < 250; ++seed) {
    CAPTURE(seed);
    options.instructions = 6 + static_cast<int>(seed % 12);
    const Program text = test::random_program(seed, options);
    Program program = text;
    synchronise(program);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 4; ++round) {
      // Two semaphores become one; a wait asks for what both have counted, or nearly.
      Program shared = program;
      std::vector<std::uint8_t> used;
      std::array<int, 256> total{};
      for (const auto& stream : shared.streams) {
        for (const Instruction& i : stream) {
          if (!i.update.present()) continue;
          if (total[i.update.semaphore] == 0) used.push_back(i.update.semaphore);
          total[i.update.semaphore] += info(i.opcode).is_dma() ? 16 : 1;
        }
      }
      if (used.size() < 2) break;
      const std::uint8_t a = used[random() % used.size()], b = used[random() % used.size()];
      if (a == b) continue;
      for (auto& stream : shared.streams) {
        for (Instruction& i : stream) {
          if (i.update.present() && i.update.semaphore == b) i.update.semaphore = a;
          if (!i.wait.present() || (i.wait.semaphore != a && i.wait.semaphore != b)) continue;
          const int other = total[i.wait.semaphore == a ? b : a];
          i.wait.semaphore = a;
          if (random() % 3 != 0) i.wait.value = static_cast<std::uint16_t>(i.wait.value + other);
          if (random() % 4 == 0 && i.wait.value > 1) --i.wait.value;
        }
      }
      const Verdict verdict = run(shared, round % 2 == 0 ? Mode::check : Mode::timing_only);
      if (verdict.status != RunStatus::finished) continue;
      const auto truth = test::unordered_accesses(text, shared, test::Compare::bytes, true);
      int& kind = truth.empty() ? clean : racing;
      ++kind;
      CAPTURE(truth.size());
      const bool races = std::any_of(verdict.findings.begin(), verdict.findings.end(),
                                     [](const Finding& f) { return f.kind == CheckKind::races; });
      CHECK(races == !truth.empty());
    }
  }
  MESSAGE(racing, " programs with races, ", clean, " without");
  CHECK(racing > 100);
  CHECK(clean > 100);
}

TEST_CASE(
    "random programs with loops, blocks and registers have no race in any mode once they are synchronised") {
  test::RandomProgramOptions options;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    options.target = test::small_target(seed % 2 == 0 ? "trn1" : "trn2");
    options.instructions = 20 + static_cast<int>(seed % 40);
    options.registers = seed % 4 < 2;
    Program program = test::random_program(seed, options);
    const std::string source = test::listing(program);
    CAPTURE(source);
    synchronise(program);
    for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
      if (options.registers && !has_data(mode)) continue;
      const Verdict verdict = run(program, mode);
      for (const Finding& f : verdict.findings) FAIL_CHECK(f.message, " ", f.fix);
    }
  }
}

TEST_CASE("where joins restart the counters, what the detector lets pass keeps its memory in other timings") {
  test::RandomProgramOptions options;
  options.blocks = options.registers = false;
  options.instructions = 60;
  int reported = 0, passed = 0;
  std::size_t joins = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    CAPTURE(seed);
    Program program = test::random_program(seed, options);
    SyncOptions often;
    often.counter_limit = 16;
    joins += synchronise(program, often).joins;
    for (const Finding& f : run(program).findings) FAIL(f.message);
    const std::uint64_t expected = memory_after(program, 0);
    for (const auto& [engine, index] : waits_of(program)) {
      Program broken = program;
      broken.stream(engine)[index].wait = {};
      const Verdict verdict = run(broken);
      if (verdict.status != RunStatus::finished || !verdict.findings.empty()) {
        ++reported;
        continue;
      }
      ++passed;
      CAPTURE(name(engine));
      CAPTURE(index);
      for (const std::uint64_t timing : {1, 2, 3}) CHECK(memory_after(broken, timing) == expected);
    }
  }
  MESSAGE(reported, " removed waits are reported, ", passed, " pass");
  CHECK(reported > 500);
  CHECK(joins > 20);
}
