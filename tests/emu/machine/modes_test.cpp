// The four modes agree: functional and timed on memory, timed and timing-only on ticks, and every run on
// itself.

#include <doctest/doctest.h>

#include <cstring>

#include "emu/data/state.h"
#include "tests/emu/machine/programs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr int tiles = 12;
constexpr std::uint16_t width = 64;

// out[i] = relu(in[i] * 2) per tile of [128, 64]: sync loads, vector doubles, scalar takes relu, gpsimd
// stores; two buffers each way, every hazard covered by hand: a load waits until the vector engine has read
// the buffer's former tile, and so on down the line.
Program pipeline(const Target& target) {
  std::vector<Instruction> loads, doubles, relus, stores;
  for (std::uint16_t i = 0; i < tiles; ++i) {
    const auto slot = static_cast<std::uint32_t>(i % 2);
    const AccessPattern in = sbuf(slot * 256, width, 128), mid = sbuf(1024 + slot * 256, width, 128),
                        out = sbuf(2048 + slot * 256, width, 128);
    HbmPattern source = hbm(0, width, 128), target_rows = hbm(1, width, 128);
    source.offset = target_rows.offset = std::int64_t{i} * width * 128;

    const auto previous = static_cast<std::uint16_t>(i < 2 ? 0 : i - 1);
    // Two semaphores per transfer direction, so that each has one transfer in flight.
    const auto load_semaphore = static_cast<std::uint8_t>(20 + slot);
    const auto store_semaphore = static_cast<std::uint8_t>(22 + slot);
    const auto round = static_cast<std::uint16_t>(i / 2);
    loads.push_back(on(then(load(in, source), load_semaphore), 2, previous));  // vector has read tile i - 2

    TensorScalar twice;
    twice.dst = mid;
    twice.src = in;
    twice.op0 = AluOp::mult;
    twice.scalar0 = 2.0F;
    doubles.push_back(on(semaphore_only(), 4, previous));  // scalar has read tile i - 2
    doubles.push_back(on(then(op(Opcode::tensor_scalar, twice), 2), load_semaphore,
                         static_cast<std::uint16_t>(16 * (round + 1))));

    Activation relu;
    relu.dst = out;
    relu.src = mid;
    relu.func = ActivationFunction::relu;
    relus.push_back(on(semaphore_only(), store_semaphore, static_cast<std::uint16_t>(16 * round)));
    relus.push_back(on(then(op(Opcode::activation, relu), 4), 2, static_cast<std::uint16_t>(i + 1)));

    stores.push_back(
        on(then(store(target_rows, out), store_semaphore), 4, static_cast<std::uint16_t>(i + 1)));
  }
  ProgramOf program(target);
  program.tensor("in", {tiles, 128, width}).tensor("out", {tiles, 128, width});
  program.stream(Engine::sync, loads)
      .stream(Engine::vector, doubles)
      .stream(Engine::scalar, relus)
      .stream(Engine::gpsimd, stores);
  return program.get();
}

void fill_input(State& state) {
  std::vector<float> values(tiles * 128 * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 2654435761U % 2001U) - 1000) / 8;
  }
  state.hbm.write(0, 0, std::as_bytes(std::span(values)));
}

std::vector<float> output(const State& state) {
  std::vector<float> values(tiles * 128 * width);
  state.hbm.read(1, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

bool same_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

TEST_CASE("functional and timed runs of a pipeline leave the same memory, and it is the right one") {
  const MachineConfig machine = v2();
  const Program program = pipeline(machine.target);
  RunOptions options;
  options.mode = Mode::functional;
  Machine functional(machine, program, options);
  options.mode = Mode::timed;
  Machine timed(machine, program, options);
  fill_input(functional.state());
  fill_input(timed.state());
  CHECK(functional.run().status == RunStatus::finished);
  CHECK(timed.run().status == RunStatus::finished);
  CHECK(same_bytes(functional.state().sbuf.contents(), timed.state().sbuf.contents()));
  const auto a = output(functional.state()), b = output(timed.state());
  bool right = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float x = static_cast<float>(static_cast<int>(i * 2654435761U % 2001U) - 1000) / 8 * 2;
    right = right && a[i] == (x > 0 ? x : 0.0F) && b[i] == a[i];
  }
  CHECK(right);
}

TEST_CASE("other legal timings leave the same memory") {
  const MachineConfig machine = v2();
  const Program program = pipeline(machine.target);
  Machine plain(machine, program, {});
  fill_input(plain.state());
  plain.run();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::uint64_t random = seed * 0x9E37'79B9'7F4A'7C15U;
    const auto next = [&] {
      random ^= random << 13U;
      random ^= random >> 7U;
      random ^= random << 17U;
      return static_cast<Ticks>(random % 20000);
    };
    RunOptions options;
    options.perturb = [&](const Instruction&, Engine, Cost& cost) {
      cost.interval += next();
      cost.latency += next();
      cost.stream += next();
    };
    options.perturb_transfer = [&](const Instruction&, Engine, Ticks& delay) { delay += next(); };
    Machine other(machine, program, options);
    fill_input(other.state());
    CHECK(other.run().status == RunStatus::finished);
    CHECK(output(other.state()) == output(plain.state()));
    CHECK(same_bytes(other.state().sbuf.contents(), plain.state().sbuf.contents()));
  }
}

TEST_CASE("timed and timing-only runs tell the same story, twice") {
  const MachineConfig machine = v2();
  const Program program = pipeline(machine.target);
  Record timed, timing_only, again;
  const RunResult a = run(machine, program, Mode::timed, &timed);
  const RunResult b = run(machine, program, Mode::timing_only, &timing_only);
  run(machine, program, Mode::timed, &again);
  CHECK(a.total == b.total);
  CHECK(a.total > 0);
  CHECK(a.instructions == b.instructions);
  CHECK(run(machine, program, Mode::timed).total == a.total);  // without listeners too
  for (const Record* other : {&timing_only, &again}) {
    REQUIRE(timed.started.size() == other->started.size());
    for (std::size_t i = 0; i < timed.started.size(); ++i) {
      const Started &x = timed.started[i], &y = other->started[i];
      CHECK(x.engine == y.engine);
      CHECK(x.index == y.index);
      CHECK(x.passage.start == y.passage.start);
      CHECK(x.passage.complete == y.passage.complete);
      CHECK(x.stalled_since == y.stalled_since);
      CHECK(x.reason == y.reason);
    }
    REQUIRE(timed.semaphores.size() == other->semaphores.size());
    for (std::size_t i = 0; i < timed.semaphores.size(); ++i) {
      CHECK(timed.semaphores[i].at == other->semaphores[i].at);
      CHECK(timed.semaphores[i].after == other->semaphores[i].after);
    }
  }
}

TEST_CASE("check mode reaches the end of what the other modes run") {
  const MachineConfig machine = v2();
  const Program program = pipeline(machine.target);
  const RunResult result = run(machine, program, Mode::check);
  CHECK(result.status == RunStatus::finished);
  CHECK(result.instructions == run(machine, program, Mode::functional).instructions);
  CHECK(result.total == 0);
}

TEST_CASE("an instruction without the wait it needs gives another result under some legal timing") {
  // The test above can fail: without its wait the vector engine doubles what was there before.
  const MachineConfig machine = v2();
  Program program = pipeline(machine.target);
  for (Instruction& i : program.stream(Engine::vector)) i.wait = {};
  Machine racing(machine, program, {});
  fill_input(racing.state());
  Program whole = pipeline(machine.target);
  Machine ordered(machine, whole, {});
  fill_input(ordered.state());
  racing.run();
  ordered.run();
  CHECK(output(racing.state()) != output(ordered.state()));
}

TEST_CASE("every start is explained: it is when the last of its constraints was satisfied") {
  const MachineConfig machine = v2();
  const Program program = pipeline(machine.target);
  Record record;
  run(machine, program, Mode::timing_only, &record);
  for (const Started& s : record.started) {
    CHECK(s.stalled_since <= s.passage.start);
    CHECK((s.reason == StallReason::none) == (s.stalled_since == s.passage.start));
    if (s.reason != StallReason::semaphore && s.reason != StallReason::dma) continue;
    // Exactly one signal latency after some change of the awaited semaphore.
    const Wait& wait = s.instruction->wait;
    const Ticks latency = s.reason == StallReason::dma ? transfer_done_latency(machine)
                                                       : wake_up(s.engine, s.producer, machine);
    bool explained = false;
    for (const SemaphoreChanged& c : record.semaphores) {
      explained = explained || (c.semaphore == wait.semaphore && c.at + latency == s.passage.start &&
                                c.before < wait.value && c.after >= wait.value);
    }
    CHECK(explained);
  }
}
