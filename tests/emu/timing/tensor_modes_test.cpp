// What the tensor engine's modes cost (datasheet 6.1): hints, transposing, two rows of fp8, tiles of the
// array.

#include <doctest/doctest.h>

#include "emu/observe/summary.h"
#include "emu/timing/engine_timeline.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16, fp8 = DType::f8e4m3;

MachineConfig documented(std::string_view name) {
  MachineConfig m = builtin_machine(name);
  set_parameter(m, "timing.mode=documented");
  return m;
}

Matmul matmul_of(DType type, int n) { return std::get<Matmul>(matmul(type, n).operands); }
LoadStationary load_of(DType type, int n) { return std::get<LoadStationary>(load(type, n).operands); }

// In cycles of the tensor engine, two ticks each.
Cycles interval(const Matmul& f, const MachineConfig& m) {
  return cost(instruction(Opcode::matmul, f), Engine::tensor, m).interval / 2;
}
Cycles interval(const LoadStationary& f, const MachineConfig& m) {
  return cost(instruction(Opcode::load_stationary, f), Engine::tensor, m).interval / 2;
}

}  // namespace

TEST_CASE("each hint halves the passes of fp32, and neither touches other types") {
  for (const char* name : {"trn1", "trn2"}) {
    const MachineConfig m = documented(name);
    Matmul f = matmul_of(f32, 512);
    CHECK(interval(f, m) == 4 * 512);
    f.stationary_one_zero = true;
    CHECK(interval(f, m) == 2 * 512);
    f.moving_one_zero = true;
    CHECK(interval(f, m) == 512);
    f.stationary_one_zero = false;
    CHECK(interval(f, m) == 2 * 512);
    LoadStationary w = load_of(f32, 128);
    const Cycles two = interval(w, m);
    w.one_zero = true;
    CHECK(2 * interval(w, m) == two);
    Matmul narrow = matmul_of(bf16, 512);
    const Cycles plain = interval(narrow, m);
    narrow.stationary_one_zero = narrow.moving_one_zero = true;
    CHECK(interval(narrow, m) == plain);
  }
}

TEST_CASE("transposing fp32 takes two passes on v3; on v2 the flag costs nothing and saves nothing") {
  Matmul f = matmul_of(f32, 128);
  f.transpose = true;
  CHECK(interval(f, documented("trn2")) == 2 * 128);
  CHECK(interval(f, documented("trn1")) == 4 * 128);
}

TEST_CASE("double_row takes two rows of fp8 in the time of one row of bf16") {
  const MachineConfig m = builtin_machine("trn2");
  Matmul two = matmul_of(fp8, 1024);
  two.dst.dims[0].count = 512;
  two.double_row = true;
  CHECK(interval(two, m) == interval(matmul_of(bf16, 512), m));
  LoadStationary w = load_of(fp8, 256);
  w.double_row = true;
  CHECK(interval(w, m) == interval(load_of(bf16, 128), m));
  // And it is twice the work: 100 % of an fp8 peak that is twice that of bf16.
  CHECK(work(instruction(Opcode::matmul, two)).flops == 2 * work(matmul(bf16, 512)).flops);
}

TEST_CASE("fp32 with hints counts the passes that are left") {
  SummaryObserver o(builtin_machine("trn1"));
  Matmul f = matmul_of(f32, 100);
  f.stationary_one_zero = true;
  const Instruction i = instruction(Opcode::matmul, f);
  Started started;
  started.engine = Engine::tensor;
  started.instruction = &i;
  started.work = work(i);
  started.passage = {0, 10, 10, 10, 0};
  o.on_start(started);
  o.on_end(1000);
  CHECK(o.summary().adjusted_hardware_flops == 2.0 * static_cast<double>(o.summary().hardware_flops));
}

TEST_CASE("matmuls in disjoint tiles start 16 cycles apart, in overlapping ones after each other") {
  const MachineConfig m = documented("trn2");
  EngineTimeline t(m);
  const auto in_tile = [](int row, int column, int rows, int columns) {
    Matmul f = matmul_of(bf16, 512);
    f.tile_position = {static_cast<std::uint8_t>(row), static_cast<std::uint8_t>(column)};
    f.tile_size = {static_cast<std::uint8_t>(rows), static_cast<std::uint8_t>(columns)};
    return instruction(Opcode::matmul, f);
  };
  const auto start = [&](const Instruction& i) {
    const Cost c = cost(i, Engine::tensor, m);
    return t.start(i, c, t.earliest_start(i, c)).start / 2;
  };
  CHECK(start(in_tile(0, 0, 64, 64)) == 0);
  CHECK(start(in_tile(64, 64, 64, 64)) == 16);
  CHECK(start(in_tile(0, 64, 64, 64)) == 32);
  CHECK(start(in_tile(0, 0, 64, 64)) == 512);
  CHECK(start(in_tile(0, 0, 32, 128)) == 1024);   // behind [0, 0], which ends last of those it meets
  CHECK(start(in_tile(32, 0, 32, 32)) == 1040);   // beside it
  CHECK(start(in_tile(0, 0, 128, 128)) == 1552);  // behind everything
  CHECK(start(in_tile(96, 96, 32, 32)) == 2064);
}

TEST_CASE("weights of one tile load while another tile streams") {
  const MachineConfig m = documented("trn2");
  EngineTimeline t(m);
  const auto start = [&](const Instruction& i) {
    const Cost c = cost(i, Engine::tensor, m);
    return t.start(i, c, t.earliest_start(i, c)).start / 2;
  };
  LoadStationary w = load_of(bf16, 64);
  Matmul f = matmul_of(bf16, 512);
  w.tile_size = f.tile_size = {64, 64};
  CHECK(start(instruction(Opcode::load_stationary, w)) == 0);
  const Cycles loaded = start(instruction(Opcode::matmul, f));
  CHECK(loaded == 16);  // 64 columns at four a cycle
  w.tile_position = f.tile_position = {64, 0};
  CHECK(start(instruction(Opcode::load_stationary, w)) == loaded);
  CHECK(start(instruction(Opcode::matmul, f)) == loaded + 16);
}

TEST_CASE("the clock gate counts the time in which any tile streams once") {
  MachineConfig m = builtin_machine("trn2");
  ClockGate gate(m);
  const Ticks window = m.gate.window * ticks_per_core_cycle(m);
  const auto share = [&](double part) { return static_cast<Ticks>(part * static_cast<double>(window)); };
  CHECK(gate.gated_at(0));
  gate.busy(0, share(0.3));
  gate.busy(share(0.1), share(0.4));  // 0.4 in all, not 0.6
  CHECK(gate.gated_at(window));
  gate.busy(window, window + share(0.3));
  gate.busy(window + share(0.1), window + share(0.5));
  CHECK_FALSE(gate.gated_at(2 * window));
}
