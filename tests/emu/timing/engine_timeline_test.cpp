#include "emu/timing/engine_timeline.h"

#include <doctest/doctest.h>

#include <vector>

#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16;

MachineConfig without_gate(MachineConfig m) {
  set_parameter(m, "gate.window=0");
  return m;
}
MachineConfig documented(std::string_view name) {
  MachineConfig m = builtin_machine(name);
  set_parameter(m, "timing.mode=documented");
  return m;
}

// A tensor engine that counts in its own cycles of two ticks.
struct Tensor {
  explicit Tensor(const MachineConfig& m) : machine(m), timeline(m) {}

  Cycles earliest(const Instruction& i) const {
    const Ticks at = timeline.earliest_start(i, cost(i, Engine::tensor, machine));
    CHECK(at % 2 == 0);
    return at / 2;
  }
  // At `at`, or as early as it can.
  Passage start(const Instruction& i, Cycles at = -1) {
    return timeline.start(i, cost(i, Engine::tensor, machine), 2 * (at < 0 ? earliest(i) : at));
  }
  // From one matmul to the next, after some.
  Cycles pair_interval(const Instruction& load, const Instruction& matmul) {
    Ticks last = 0, before = 0;
    for (int k = 0; k < 6; ++k) {
      start(load);
      before = last;
      last = start(matmul).start;
    }
    return (last - before) / 2;
  }

  MachineConfig machine;
  EngineTimeline timeline;
};

const Instruction small = instruction(Opcode::tensor_copy);

}  // namespace

TEST_CASE("an instruction starts an interval after the one before, and not a tick earlier") {
  EngineTimeline t(builtin_machine("trn1"));
  const Cost cost{.interval = 100, .stream = 60, .latency = 200};
  t.start(small, cost, 7);
  CHECK(t.earliest_start(small, cost) == 107);
  EngineTimeline early = t;
  CHECK_THROWS_AS(early.start(small, cost, 106), Fault);
  CHECK(t.start(small, cost, 107).start == 107);
}

TEST_CASE("reading ends with the stream, completion is the latency later") {
  EngineTimeline t(builtin_machine("trn1"));
  const Passage p = t.start(small, {.interval = 100, .stream = 60, .latency = 200}, 10);
  CHECK(p.busy_until == 110);
  CHECK(p.read_done == 70);
  CHECK(p.complete == 270);
  CHECK(t.drained() == 270);
}

TEST_CASE("a short instruction does not finish reading or complete before the one it follows") {
  EngineTimeline t(builtin_machine("trn1"));
  t.start(small, {.interval = 10, .stream = 1000, .latency = 500}, 0);
  const Passage p = t.start(small, {.interval = 10, .stream = 1, .latency = 1}, 10);
  CHECK(p.read_done == 1000);
  CHECK(p.complete == 1500);
}

TEST_CASE("weights load behind the matmul before them (datasheet 6.1)") {
  Tensor e(documented("trn1"));
  e.start(load(bf16, 128));
  CHECK(e.earliest(matmul(bf16, 512)) == 32);  // its own weights must have passed
  e.start(matmul(bf16, 512));
  CHECK(e.earliest(load(bf16, 128)) == 32);  // the second buffer is free once the first stream starts
  e.start(load(bf16, 128));
  CHECK(e.earliest(matmul(bf16, 512)) == 32 + 512);
}

TEST_CASE("a matmul does not start before its weights have passed, and not a tick later") {
  Tensor e(documented("trn1"));
  e.start(load(bf16, 128));
  e.start(matmul(bf16, 64));
  e.start(load(bf16, 128), 1000);
  CHECK(e.earliest(matmul(bf16, 64)) == 1032);
  CHECK_THROWS_AS(e.start(matmul(bf16, 64), 1031), Fault);
}

TEST_CASE("two loads in a row do not overlap, and a third waits for a matmul only through them") {
  Tensor e(builtin_machine("trn1"));
  e.start(load(bf16, 128));
  CHECK(e.earliest(load(bf16, 128)) == 32);
  e.start(load(bf16, 4));  // LS_MIN
  CHECK(e.earliest(load(bf16, 128)) == 32 + 16);
}

TEST_CASE("documented pairs take max(min(64, M), N) cycles, fp32 four times as many") {
  for (const int n : {1, 64, 65, 512}) {
    CAPTURE(n);
    CHECK(Tensor(documented("trn1")).pair_interval(load(bf16, 128), matmul(bf16, n)) == std::max(64, n));
    CHECK(Tensor(documented("trn2")).pair_interval(load(bf16, 128), matmul(bf16, n)) == std::max(64, n));
  }
  CHECK(Tensor(documented("trn1")).pair_interval(load(f32, 128), matmul(f32, 512)) == 4 * 512);
  CHECK(Tensor(documented("trn1")).pair_interval(load(f32, 128), matmul(f32, 100)) == 4 * 100);
  CHECK(Tensor(documented("trn1")).pair_interval(load(f32, 128), matmul(f32, 8)) == 4 * 64);
  CHECK(Tensor(documented("trn1")).pair_interval(load(bf16, 4), matmul(bf16, 2, 4)) == 4);  // C9
  // Measured: the load of a half, 2M, is longer than the stream before it, 2N; then a stream, and twice what
  // a load takes from the streams.
  CHECK(Tensor(builtin_machine("trn1")).pair_interval(load(f32, 128), matmul(f32, 100)) ==
        256 + 200 + 2 * 64);
}

TEST_CASE("measured pairs of v2 lie between N and N + M") {
  for (const int n : {128, 256, 512}) {
    const Cycles pair = Tensor(builtin_machine("trn1")).pair_interval(load(bf16, 128), matmul(bf16, n));
    CHECK(pair == n + 64);
  }
}

TEST_CASE("measured pairs of v3 hide their loads, except behind short streams") {
  const auto pair = [](int n) {
    return Tensor(without_gate(builtin_machine("trn2"))).pair_interval(load(bf16, 128), matmul(bf16, n));
  };
  CHECK(pair(444) == 449);              // measured row: 186.7 ns = 448 cycles
  CHECK(pair(128) == 133);              // measured row: 55.0 to 55.8 ns = 132 to 134 cycles
  CHECK(pair(2) == 64 + 128 / 4 + 12);  // measured row: 45.0 ns = 108 cycles
}

TEST_CASE("fp32 on v3 takes two matmuls of 2N + 5 cycles, or its loads if they are longer") {
  const auto pair = [](int columns_apart, int n) {
    return Tensor(without_gate(builtin_machine("trn2")))
        .pair_interval(load(f32, 128, columns_apart), matmul(f32, n));
  };
  CHECK(pair(1, 512) == 2 * 1029);
  CHECK(pair(4, 128) == 2 * 576);  // measured rows: strided loads alone set 241 ns = 578 cycles per half
}

TEST_CASE("an unhidden fp32 pair of v3 ends its first half 704 ns after its load begins (MM2)") {
  Tensor e(without_gate(builtin_machine("trn2")));
  const Instruction mm = matmul(f32, 512);
  const Passage l = e.start(load(f32, 128));
  const Passage p = e.start(mm);
  const Ticks second_half = 2 * 1029;  // one interval, in ticks
  CHECK(ns_from_ticks(e.machine, p.complete - second_half - l.start) == doctest::Approx(704).epsilon(0.005));
}

TEST_CASE("fp32 weights that are used again are loaded again, in the background") {
  MachineConfig m = builtin_machine("trn1");
  set_parameter(m, "tensor.load_issue=0");
  Tensor e(m);
  e.start(load(f32, 128));
  const Passage first = e.start(matmul(f32, 512));
  CHECK(e.earliest(matmul(f32, 512)) == first.start / 2 + 2048);
  e.start(matmul(f32, 16));  // its two streams of 64 cycles wait for loads of 256
  const Cycles then = first.start / 2 + 2048;
  CHECK(e.earliest(matmul(f32, 16)) == then + 2 * 256);
}

TEST_CASE("a load's latency and a matmul's are those of the datasheet when nothing is in the way") {
  Tensor e(builtin_machine("trn1"));
  const Passage l = e.start(load(bf16, 1));
  CHECK(l.complete == 2 * (187 + 1));
  const Passage p = e.start(matmul(bf16, 128));
  CHECK(p.complete - p.start == 2 * (398 + 128));
  // Load start to matmul end of an unhidden pair: 214 ns (perf fig. 20).
  CHECK(ns_from_ticks(e.machine, p.complete - l.start) == doctest::Approx(214).epsilon(0.02));
}

TEST_CASE("a gated array streams at half rate, without a gap and with a longer latency") {
  Tensor e(builtin_machine("trn2"));
  const Passage p = e.start(matmul(bf16, 512));
  CHECK(p.busy_until - p.start == 2 * 1024);
  CHECK(p.gated == 2 * (1024 - 517));
  CHECK(p.complete - p.start == 2 * (392 + 100 + 1024));
  CHECK(e.earliest(matmul(bf16, 512)) == 1024);
}

TEST_CASE("a stream of matmuls leaves the gate in the second window") {
  Tensor e(builtin_machine("trn2"));
  // 4096 cycles at 1.2 GHz are 8192 of the tensor engine: eight gated matmuls of 1024.
  for (int k = 0; k < 8; ++k) CHECK(e.start(matmul(bf16, 512)).start == 2 * 1024 * k);
  const Passage full = e.start(matmul(bf16, 512));
  CHECK(full.start == 2 * 8192);
  CHECK(full.gated == 0);
  CHECK(full.busy_until - full.start == 2 * 517);
}

TEST_CASE("there is no gate in documented mode and none on v2") {
  for (const MachineConfig& m : {documented("trn2"), builtin_machine("trn1")}) {
    Tensor e(m);
    CHECK(e.start(matmul(bf16, 512)).gated == 0);
  }
}

TEST_CASE("two pipelines side by side do not know each other") {
  Tensor a(builtin_machine("trn1")), b(builtin_machine("trn1"));
  a.start(matmul(bf16, 512));
  CHECK(b.earliest(matmul(bf16, 512)) == 0);
}
