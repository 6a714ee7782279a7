// The promise of automatic synchronisation: whatever the timing, the memory is what the text, executed one
// instruction at a time, leaves behind.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <random>

#include "emu/data/state.h"
#include "emu/machine/machine.h"
#include "isa/builder.h"
#include "isa/container.h"
#include "isa/place.h"
#include "isa/sync.h"
#include "tests/support/random_program.h"
#include "tests/support/sequential.h"

using namespace ncemu;

namespace {

// Small values, bf16 by bf16, the same for the same program; an f32 is two of them.
void fill(State& state, const Program& program, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto value = [&] {
    const float f = static_cast<float>(static_cast<int>(random() % 33) - 16) / 4.0F;
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(f) >> 16U);
  };
  const auto fill_bytes = [&](std::span<std::byte> bytes) {
    for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
      const std::uint16_t v = value();
      bytes[i] = static_cast<std::byte>(v & 0xFFU);
      bytes[i + 1] = static_cast<std::byte>(v >> 8U);
    }
  };
  for (OnChipMemory* memory : {&state.sbuf, &state.psum}) {
    for (std::uint32_t p = 0; p < memory->partitions(); ++p) fill_bytes({memory->row(p), 1024});
  }
  for (std::uint16_t t = 0; t < program.tensors.size(); ++t) {
    fill_bytes(state.hbm.edit(t, 0, state.hbm.bytes(t)));
  }
}

// Empty: the same; else where the first difference is.
std::string difference(const State& a, const State& b, const Program& program) {
  const auto differ = [](const OnChipMemory& x, const OnChipMemory& y, const char* name) -> std::string {
    for (std::uint32_t p = 0; p < x.partitions(); ++p) {
      const std::byte* const end = x.row(p) + x.partition_bytes();
      const auto at = std::mismatch(x.row(p), end, y.row(p));
      if (at.first == end) continue;
      return std::string(name) + " partition " + std::to_string(p) + " byte " +
             std::to_string(at.first - x.row(p));
    }
    return {};
  };
  std::string text = differ(a.sbuf, b.sbuf, "sbuf");
  if (text.empty()) text = differ(a.psum, b.psum, "psum");
  for (std::uint16_t t = 0; t < program.tensors.size() && text.empty(); ++t) {
    const auto x = a.hbm.view(t, 0, a.hbm.bytes(t));
    const auto y = b.hbm.view(t, 0, b.hbm.bytes(t));
    if (!std::equal(x.begin(), x.end(), y.begin(), y.end())) text = "tensor " + program.tensors[t].name;
  }
  return text;
}

// Times that differ by powers of two, so that any engine is now and then far behind or ahead.
RunOptions another_timing(std::uint64_t seed) {
  RunOptions options;
  auto random = std::make_shared<std::mt19937_64>(seed);
  const auto ticks = [random](unsigned powers) {
    return static_cast<Ticks>((*random)() % (std::uint64_t{1} << ((*random)() % powers)));
  };
  options.perturb = [ticks](const Instruction&, Engine, Cost& cost) {
    cost.interval = 1 + ticks(12);
    cost.stream = 1 + ticks(12);
    cost.latency = 1 + ticks(14);
  };
  options.perturb_transfer = [ticks](const Instruction&, Engine, Ticks& delay) { delay += ticks(16); };
  return options;
}

MachineConfig machine_for(const Target& target) {
  MachineConfig config = builtin_machine(target.machine);
  config.target = target;
  return config;
}

struct Trial {
  Trial(std::uint64_t s, const test::RandomProgramOptions& options, std::uint32_t counter_limit)
      : seed(s), text(test::random_program(s, options)), program(text), oracle(text) {
    SyncOptions sync;
    sync.counter_limit = counter_limit;
    report = synchronise(program, sync);
    fill(oracle, text, seed);
    test::run_sequentially(text, oracle);
  }

  // Empty: the run ended and left the oracle's memory.
  std::string run(const Program& p, RunOptions options) const {
    Machine machine(machine_for(p.target), p, std::move(options));
    fill(machine.state(), p, seed);
    const RunResult result = machine.run();
    if (result.status != RunStatus::finished) return "the run did not finish: " + result.message;
    return difference(oracle, machine.state(), p);
  }

  std::uint64_t seed;
  Program text, program;
  State oracle;
  SyncReport report;
};

RunOptions mode(Mode m) {
  RunOptions options;
  options.mode = m;
  return options;
}

// NCEMU_TEST_SEEDS asks for more, or for fewer where time is dear.
std::uint64_t seeds(std::uint64_t usual) {
  const char* asked = std::getenv("NCEMU_TEST_SEEDS");
  return asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
}

constexpr std::uint64_t timings = 3;

void check_promise(const test::RandomProgramOptions& options, std::uint64_t first_seed, std::uint64_t count) {
  std::size_t waits = 0, joins = 0, failures = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + count && failures < 3; ++seed) {
    const std::uint32_t limit = seed % 3 == 0 ? 16 : 60000;  // a small one makes straight-line code join
    const Trial trial(seed, options, limit);
    waits += trial.report.waits;
    joins += trial.report.joins;
    std::string wrong = trial.run(trial.program, mode(Mode::functional));
    if (!wrong.empty()) wrong = "functional: " + wrong;
    if (wrong.empty()) {
      wrong = trial.run(trial.program, mode(Mode::timed));
      if (!wrong.empty()) wrong = "timed: " + wrong;
    }
    for (std::uint64_t t = 0; t < timings && wrong.empty(); ++t) {
      wrong = trial.run(trial.program, another_timing(seed * 1000 + t));
      if (!wrong.empty()) wrong = "timing " + std::to_string(t) + ": " + wrong;
    }
    if (wrong.empty()) continue;
    ++failures;
    FAIL_CHECK("seed ", seed, ": ", wrong, "\n", test::listing(trial.text));
  }
  MESSAGE(count, " programs, ", waits, " waits, ", joins, " joins");
  CHECK(waits > count);
  CHECK(joins > 0);
}

}  // namespace

TEST_CASE("random programs leave the text's memory under every timing tried") {
  check_promise({}, 0, seeds(1000));
}

TEST_CASE("random programs for trn2 leave the text's memory under every timing tried") {
  test::RandomProgramOptions options;
  options.target = test::small_target("trn2");
  check_promise(options, 100'000, seeds(1000));
}

TEST_CASE("threads that share instructions leave the same memory") {
  for (const char* machine : {"trn1", "trn2"}) {
    test::RandomProgramOptions options;
    options.target = test::small_target(machine);
    for (std::uint64_t seed = 0; seed < seeds(20); ++seed) {
      const Trial trial(seed, options, 60000);
      RunOptions shared = mode(Mode::functional);
      shared.threads = 2 + static_cast<int>(seed % 2);
      shared.share_from = 1;
      CAPTURE(seed);
      CHECK(trial.run(trial.program, shared) == "");
    }
  }
}

TEST_CASE("without one of its waits a program can leave another memory") {
  std::size_t broken = 0, tried = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Trial trial(seed, {}, 60000);
    std::mt19937_64 random(seed);
    std::vector<std::pair<Engine, std::size_t>> waits;
    for (const Engine e : all_engines) {
      for (std::size_t i = 0; i < trial.program.stream(e).size(); ++i) {
        const Wait& wait = trial.program.stream(e)[i].wait;
        if (wait.present() && wait.semaphore < sync_semaphores::join) waits.push_back({e, i});
      }
    }
    if (waits.empty()) continue;
    const auto [engine, index] = waits[random() % waits.size()];
    Program program = trial.program;
    program.stream(engine)[index].wait = {};
    ++tried;
    bool seen = false;
    for (std::uint64_t t = 0; t < 10 && !seen; ++t) seen = !trial.run(program, another_timing(t)).empty();
    broken += seen;
  }
  MESSAGE(broken, " of ", tried, " removed waits change a result");
  CHECK(broken * 10 >= tried);  // many waits order what a run starts in order anyway
}

TEST_CASE("200,000 dependencies between engines are synchronised, written and run in seconds") {
  Builder b(*find_target("trn1"));
  const View out = b.tensor("out", TensorKind::output, DType::f32, {1, 1});
  const View x = b.sbuf("x", DType::f32, {1, 1});
  const View y = b.sbuf("y", DType::f32, {1, 1});
  b.emit(Opcode::memset, Memset{x.pattern(), 0.0F}, Engine::vector);
  constexpr int steps = 100'000;
  for (int i = 0; i < steps; ++i) {
    TensorScalar add_one;
    add_one.dst = y.pattern();
    add_one.src = x.pattern();
    add_one.op0 = AluOp::add;
    add_one.scalar0 = 1.0F;
    b.emit(Opcode::tensor_scalar, add_one, Engine::vector);
    Activation copy;
    copy.dst = x.pattern();
    copy.src = y.pattern();
    b.emit(Opcode::activation, copy);
  }
  b.dma_copy(out, x);
  const auto begin = std::chrono::steady_clock::now();
  SyncReport report;
  Diagnostics diagnostics;
  const Program program = b.finish(diagnostics, {}, &report);
  REQUIRE_FALSE(diagnostics.has_errors());
  CHECK(report.waits >= 2 * steps);
  CHECK(report.joins >= 1);  // 100,000 completions of one engine pass the counter's limit
  const Program loaded = read_container(write_container(program), "chain");
  Machine machine(builtin_machine("trn1"), loaded, mode(Mode::timed));
  const RunResult result = machine.run();
  CHECK(result.status == RunStatus::finished);
  float value = 0;
  machine.state().hbm.read(0, 0, std::as_writable_bytes(std::span(&value, 1)));
  CHECK(value == static_cast<float>(steps));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  MESSAGE(seconds, " seconds");
  CHECK(seconds < 30);
}
