// Loops, branches, registers, the acquire form, writes to the address window, and how a run can end.

#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "emu/data/state.h"
#include "isa/fault.h"
#include "tests/emu/machine/programs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

float f32_at(State& state, std::uint32_t partition, std::uint32_t offset) {
  float value = 0;
  std::memcpy(&value, state.sbuf.row(partition) + offset, sizeof value);
  return value;
}

// r1 = 0; loop: memset element r1 of the tile at byte 0 to 1; r1 += 1; if r1 < rounds goto loop
std::vector<Instruction> fill_loop(std::int32_t rounds, PlaceId place = no_place) {
  Memset one{sbuf(0), 1.0F};
  one.dst.index = Register{1};
  one.dst.index_step = 1;
  one.dst.place = place;
  return {move(1, 0), op(Opcode::memset, one), alu(1, 1, AluOp::add, 1),
          branch(1, Comparison::lt, rounds, 1)};
}

Program with_tile(const Target& target, std::vector<Instruction> vector_stream, std::uint32_t bytes) {
  ProgramOf program(target);
  program.stream(Engine::vector, std::move(vector_stream));
  Program result = program.get();
  Tile tile;
  tile.name = "acc";
  tile.bytes = bytes;
  result.tiles.push_back(tile);
  result.places.push_back({0, 0, 0});
  return result;
}

}  // namespace

TEST_CASE("a loop writes one element per round, indexed by its counter") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, fill_loop(10));
  for (const Mode mode : {Mode::functional, Mode::timed}) {
    RunOptions options;
    options.mode = mode;
    Machine m(machine, program.get(), options);
    const RunResult result = m.run();
    CHECK(result.status == RunStatus::finished);
    CHECK(result.instructions == 1 + 3 * 10);
    for (std::uint32_t i = 0; i < 10; ++i) CHECK(f32_at(m.state(), 0, 4 * i) == 1.0F);
    CHECK(f32_at(m.state(), 0, 40) != f32_at(m.state(), 0, 40));  // untouched: 0xFF bytes, a NaN
  }
}

TEST_CASE("a round of two control instructions costs two issues when nothing else is slower") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {move(1, 0), alu(1, 1, AluOp::add, 1), branch(1, Comparison::lt, 5, 1)});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  const auto starts = record.starts(Engine::sync);
  REQUIRE(starts.size() == 11);
  for (std::size_t i = 0; i < starts.size(); ++i) CHECK(starts[i] == Ticks(i) * issue);
  CHECK(result.total == 11 * issue);
}

TEST_CASE("a branch out of the instruction buffer waits for the fetch, one inside does not") {
  MachineConfig machine = v2();
  set_parameter(machine, "fetch.buffer_bytes=1024");  // 16 instructions of 64 bytes
  set_parameter(machine, "fetch.miss_ns=2000");
  for (const std::uint32_t length : {10U, 40U}) {
    std::vector<Instruction> stream = {move(1, 0)};
    for (std::uint32_t i = 0; i < length; ++i) stream.push_back(op(Opcode::nop));
    stream.push_back(alu(1, 1, AluOp::add, 1));
    stream.push_back(branch(1, Comparison::lt, 2, 1));
    ProgramOf program(machine.target);
    program.stream(Engine::sync, stream);
    const RunResult result = run(machine, program.get(), Mode::timing_only);
    const Ticks issues = (1 + 2 * (Ticks{length} + 2)) * issue;
    CHECK(result.total == issues + (length == 40 ? 11200 : 0));
  }
}

TEST_CASE("an index past the tile ends the run with the tile, the index and the line") {
  const MachineConfig machine = v2();
  const Program program = with_tile(machine.target, fill_loop(5, 0), 16);
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
    const RunResult result = run(machine, program, mode);
    CHECK(result.status == RunStatus::fault);
    CHECK(result.message ==
          "test.nca:2:1: memset (instruction 1 of vector): dst: index r1 = 4 is outside tile 'acc' "
          "(0 to 3 are inside)");
    CHECK(result.instructions == 1 + 3 * 4);
  }
}

TEST_CASE("the sign of a register comparison counts") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  // -1 < 0 as signed numbers: the branch skips the update.
  program.stream(Engine::sync, {move(1, -1), branch(1, Comparison::lt, 0, 3), then(semaphore_only(), 5),
                                then(semaphore_only(), 6)});
  Record record;
  run(machine, program.get(), Mode::check, &record);
  REQUIRE(record.semaphores.size() == 1);
  CHECK(record.semaphores[0].semaphore == 6);
}

TEST_CASE("register arithmetic wraps around at 32 bits") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync,
                 {move(1, 0x7FFFFFFF), alu(2, 1, AluOp::add, 1),
                  op(Opcode::register_store, RegisterStore{sbuf(8, 1, 1, DType::i32), Register{2}})});
  Machine m(machine, program.get(), {});
  CHECK(m.run().status == RunStatus::finished);
  std::int32_t stored = 0;
  std::memcpy(&stored, m.state().sbuf.row(0) + 8, sizeof stored);
  CHECK(stored == std::numeric_limits<std::int32_t>::min());
}

TEST_CASE("a register load sees what was stored before it was issued") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  const AccessPattern word = sbuf(8, 1, 1, DType::i32), other = sbuf(16, 1, 1, DType::i32);
  program.stream(Engine::sync, {move(1, -77), op(Opcode::register_store, RegisterStore{word, Register{1}}),
                                op(Opcode::register_load, RegisterLoad{Register{2}, word}),
                                op(Opcode::register_store, RegisterStore{other, Register{2}})});
  Machine m(machine, program.get(), {});
  m.run();
  std::int32_t stored = 0;
  std::memcpy(&stored, m.state().sbuf.row(0) + 16, sizeof stored);
  CHECK(stored == -77);
}

TEST_CASE("a register load without data is a fault that says so") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync,
                 {op(Opcode::register_load, RegisterLoad{Register{1}, sbuf(0, 1, 1, DType::i32)})});
  for (const Mode mode : {Mode::timing_only, Mode::check}) {
    const RunResult result = run(machine, program.get(), mode);
    CHECK(result.status == RunStatus::no_data);
    CHECK(result.message ==
          "test.nca:1:1: register_load (instruction 0 of sync): needs data to load, and this "
          "run has none (mode timing-only or check)");
  }
}

TEST_CASE("a wait may take its value from a register") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  Instruction waiting = on(semaphore_only(), 3, 1);  // the value of r1
  waiting.wait.value_is_register = true;
  program.stream(Engine::sync, {move(1, 2), waiting});
  program.stream(Engine::scalar, {then(activation(0, 0), 3), then(activation(0, 0), 3)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::sync)[1] == scalar_interval + scalar_latency + cross);
}

TEST_CASE("the acquire form lets one engine at a time through") {
  // Three engines take a lock 20 times each: wait S[9] >= 1, S[9] -= 1; inside they note themselves in S[10],
  // which must never exceed 1; then they give the lock back.
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  std::vector<Instruction> body;
  for (int i = 0; i < 20; ++i) {
    body.push_back(on(then(semaphore_only(), 9, UpdateWhen::complete, UpdateOperation::sem_dec), 9, 1));
    body.push_back(then(semaphore_only(), 10));
    body.push_back(then(semaphore_only(), 10, UpdateWhen::complete, UpdateOperation::sem_dec));
    body.push_back(then(semaphore_only(), 9));
  }
  std::vector<Instruction> opener = {then(semaphore_only(), 9)};
  program.stream(Engine::tensor, body).stream(Engine::vector, body).stream(Engine::gpsimd, body);
  program.stream(Engine::sync, opener);
  for (const Mode mode : {Mode::functional, Mode::timing_only, Mode::check}) {
    Record record;
    const RunResult result = run(machine, program.get(), mode, &record);
    CHECK(result.status == RunStatus::finished);
    CHECK(result.instructions == 3 * 80 + 1);
    std::uint32_t most = 0;
    int entered = 0;
    for (const SemaphoreChanged& s : record.semaphores) {
      if (s.semaphore != 10) continue;
      most = std::max(most, s.after);
      entered += s.after > s.before ? 1 : 0;
    }
    CHECK(most == 1);
    CHECK(entered == 60);
  }
}

TEST_CASE("semaphore_clear empties its range and nothing else") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {then(semaphore_only(), 9), then(semaphore_only(), 10),
                                then(semaphore_only(), 11), then(semaphore_only(), 12),
                                op(Opcode::semaphore_clear, SemaphoreRange{10, 2}), op(Opcode::nop)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  std::array<std::uint32_t, 256> value{};
  for (const SemaphoreChanged& s : record.semaphores) value[s.semaphore] = s.after;
  CHECK(value[9] == 1);
  CHECK(value[10] == 0);
  CHECK(value[11] == 0);
  CHECK(value[12] == 1);
  CHECK(record.semaphores.back().at == 5 * issue);
}

TEST_CASE("write reaches memory and the aliases of semaphores") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  const std::uint32_t two = std::bit_cast<std::uint32_t>(2.0F);
  program.stream(Engine::sync,
                 {op(Opcode::write, Write{2, 5 * 0x40000 + 16, two, 0x0270'1400 + 4 * 20, 300}),
                  on(semaphore_only(), 20, 300, Comparison::eq),
                  op(Opcode::write, Write{2, 0x0270'1800 + 4 * 20, 5, 0x0270'1c00 + 4 * 20, 105}),
                  on(semaphore_only(), 20, 200, Comparison::eq)});
  RunOptions options;
  Machine m(machine, program.get(), options);
  const RunResult result = m.run();
  CHECK(result.message == "");
  CHECK(result.status == RunStatus::finished);
  CHECK(f32_at(m.state(), 5, 16) == 2.0F);
}

TEST_CASE("a write outside the window is a fault of the program") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {op(Opcode::write, Write{1, 0x03F0'0000, 1, 0, 0})});
  const RunResult result = run(machine, program.get(), Mode::check);
  CHECK(result.status == RunStatus::fault);
  CHECK(result.message.starts_with(
      "test.nca:1:1: write (instruction 0 of sync): address 0x3f00000 is neither"));
}

TEST_CASE("overflow names the semaphore and the instruction") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.semaphore("done", 40);
  program.stream(Engine::scalar,
                 {then(semaphore_only(), 40, UpdateWhen::complete, UpdateOperation::sem_wr_imm, 65535),
                  then(activation(0, 0), 40)});
  for (const Mode mode : {Mode::functional, Mode::timing_only}) {
    const RunResult result = run(machine, program.get(), mode);
    CHECK(result.status == RunStatus::fault);
    CHECK(result.message ==
          "test.nca:2:1: activation (instruction 1 of scalar): S[40] (done) overflows: 65535 + 1 "
          "is more than 65535");
  }
}

TEST_CASE("a fault of the data path carries the line and the mnemonic") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  Instruction exponential = activation(0, 0);
  std::get<Activation>(exponential.operands).func = ActivationFunction::exp;  // its table was never loaded
  program.stream(Engine::scalar, {fill(0, 1.0F), exponential});
  program.get().stream(Engine::scalar).front() = op(Opcode::nop);
  const RunResult result = run(machine, program.get(), Mode::timed);
  CHECK(result.status == RunStatus::fault);
  CHECK(result.message.starts_with("test.nca:2:1: activation (instruction 1 of scalar): "));
}

TEST_CASE("a deadlock says who waits where for what, how much is missing and who could signal") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.semaphore("ready", 30);
  program.stream(Engine::vector, {then(copy(0, 64), 30), on(copy(64, 0), 31, 1)});  // lines 1, 2
  program.stream(Engine::scalar, {on(then(activation(0, 0), 31), 30, 3)});          // line 3
  program.stream(Engine::gpsimd, {op(Opcode::nop), on(semaphore_only(), 32, 1), then(semaphore_only(), 32)});
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
    const RunResult result = run(machine, program.get(), mode);
    CHECK(result.status == RunStatus::deadlock);
    CHECK(result.message ==
          "deadlock: no engine can go on\n"
          "  vector at test.nca:2:1: tensor_copy (instruction 1) waits for S[31] >= 1; it is 0, 1 short; "
          "could be "
          "signalled by scalar (1 of its instructions, the first at test.nca:3:1)\n"
          "  scalar at test.nca:3:1: activation (instruction 0) waits for S[30] (ready) >= 3; it is 1, 2 "
          "short; no "
          "remaining instruction signals it\n"
          "  gpsimd at test.nca:5:1: event_semaphore (instruction 1) waits for S[32] >= 1; it is 0, 1 short; "
          "only "
          "its own later instructions could signal it");
    CHECK(result.instructions == 2);
    REQUIRE(result.standings.size() == 5);
    const Standing& vector = result.standings[1];
    CHECK(vector.engine == Engine::vector);
    CHECK(vector.index == 1);
    CHECK_FALSE(vector.ended);
    CHECK(vector.wait == on(semaphore_only(), 31, 1).wait);
    CHECK(vector.semaphore_value == 0);
    CHECK(result.standings[4].ended);
  }
}

TEST_CASE("signals that a branch back can still reach are named in a deadlock") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector,
                 {then(semaphore_only(), 30), on(semaphore_only(), 31, 1), branch(0, Comparison::eq, 0, 0)});
  program.stream(Engine::scalar, {on(semaphore_only(), 30, 2), then(semaphore_only(), 31)});
  const RunResult result = run(machine, program.get(), Mode::check);
  CHECK(result.message.find("waits for S[30] >= 2; it is 1, 1 short; could be signalled by vector (1 of its "
                            "instructions, the first at test.nca:1:1)") != std::string::npos);
}

TEST_CASE("an endless loop ends at the limit of instructions in every mode") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {op(Opcode::nop), branch(0, Comparison::always, 0, 0)});
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
    RunOptions options;
    options.max_instructions = 1000;
    const RunResult result = run(machine, program.get(), mode, nullptr, options);
    CHECK(result.status == RunStatus::limit);
    CHECK(result.instructions == 1000);
    CHECK(result.message == "stopped after 1000 instructions, the limit");
    CHECK_FALSE(result.standings[4].ended);
  }
}

TEST_CASE("a program of exactly as many instructions as the limit finishes") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {op(Opcode::nop), op(Opcode::nop)});
  RunOptions options;
  options.max_instructions = 2;
  CHECK(run(machine, program.get(), Mode::timed, nullptr, options).status == RunStatus::finished);
}

TEST_CASE("the limit of ticks ends a run") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {op(Opcode::nop), branch(0, Comparison::always, 0, 0)});
  RunOptions options;
  options.max_ticks = 10 * issue;
  const RunResult result = run(machine, program.get(), Mode::timing_only, nullptr, options);
  CHECK(result.status == RunStatus::limit);
  CHECK(result.instructions == 11);  // at 0, 1, ... 10 issues
}

TEST_CASE("an interrupted run says how far it came") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::sync, {op(Opcode::nop), branch(0, Comparison::always, 0, 0)});
  for (const Mode mode : {Mode::functional, Mode::timing_only}) {
    RunOptions options;
    int questions = 0;
    options.interrupted = [&] { return ++questions == 3; };
    const RunResult result = run(machine, program.get(), mode, nullptr, options);
    CHECK(result.status == RunStatus::interrupted);
    CHECK(result.instructions > 5000);
    CHECK(result.instructions < 20000);
  }
}

TEST_CASE("an engine that polls memory does not keep the others from going on without a clock") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  const AccessPattern flag = sbuf(8, 1, 1, DType::i32);
  program.stream(Engine::tensor, {op(Opcode::register_load, RegisterLoad{Register{1}, flag}),
                                  branch(1, Comparison::ne, 5, 0)});
  program.stream(Engine::sync, {move(1, 5), op(Opcode::register_store, RegisterStore{flag, Register{1}})});
  RunOptions options;
  options.max_instructions = 1000;
  CHECK(run(machine, program.get(), Mode::functional, nullptr, options).status == RunStatus::finished);
}

TEST_CASE("what an instruction notices about its values reaches the listeners, with the instruction") {
  struct Listener : Observer {
    std::vector<NumericEvent> events;
    void on_numeric(const NumericEvent& e) override { events.push_back(e); }
  };
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  Matmul product{psum(0, 4, 2), sbuf(0, 4, 3), true};  // accumulates, but no group was ever opened
  program.stream(Engine::tensor,
                 {op(Opcode::load_stationary, LoadStationary{sbuf(64, 2, 3)}), op(Opcode::matmul, product)});
  Listener listener;
  Machine m(machine, program.get(), {});
  m.add(listener);
  CHECK(m.run().status == RunStatus::finished);
  REQUIRE(listener.events.size() == 1);
  CHECK(listener.events[0].engine == Engine::tensor);
  CHECK(listener.events[0].index == 1);
  CHECK(listener.events[0].serial == 1);
  CHECK(listener.events[0].what == "accumulated where no accumulation group was open: it overwrote");
}

TEST_CASE("a program for another generation is refused before it runs") {
  ProgramOf program(v2().target);
  program.stream(Engine::sync, {op(Opcode::nop)});
  try {
    Machine m(builtin_machine("trn2"), program.get(), {});
    FAIL("no fault");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    CHECK(fault.message() == "is made for NeuronCore-v2, machine trn2 is a NeuronCore-v3");
  }
}

TEST_CASE("probes and effects are told after the instruction, in the order of the engine") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {fill(0, 1.0F), fill(0, 2.0F)});
  Probe before, after_first;
  before.label = "before";
  after_first.position[static_cast<std::size_t>(Engine::vector)] = 1;
  after_first.label = "first";
  program.get().probes = {after_first, before};
  std::vector<std::string> seen;
  RunOptions options;
  options.on_probe = [&](const Probe& p, State& state) {
    seen.push_back(fmt::format("{} {}", p.label, f32_at(state, 0, 0) == 1.0F));
  };
  options.on_effect = [&](Engine, std::uint32_t index, const Instruction&, State& state) {
    seen.push_back(fmt::format("effect {} {}", index, f32_at(state, 0, 0)));
  };
  run(machine, program.get(), Mode::timed, nullptr, options);
  CHECK(seen == std::vector<std::string>{"before false", "effect 0 1", "first true", "effect 1 2"});
}
