// When instructions start: each at its earliest legal moment, no sooner and no later. Times are computed by
// hand from the datasheet's constants (programs.h).

#include "emu/machine/machine.h"

#include <doctest/doctest.h>

#include "tests/emu/machine/programs.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("a dependent chain of one-element activations repeats every 264 cycles") {
  // Datasheet 6.0.2: 221 + 1 + 42 cycles at 1.4 GHz, the published 189 ns.
  const MachineConfig machine = v2();
  std::vector<Instruction> chain;
  for (std::uint16_t i = 0; i < 10; ++i) {
    Instruction link = then(activation(0, 0), 2);
    chain.push_back(i == 0 ? link : on(link, 2, i));
  }
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, chain);
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  CHECK(result.status == RunStatus::finished);
  const auto starts = record.starts(Engine::scalar);
  for (std::size_t i = 0; i < starts.size(); ++i) CHECK(starts[i] == Ticks(i) * 264 * scalar_cycle);
  CHECK(result.total == (9 * 264 + 222) * scalar_cycle);
  CHECK(result.instructions == 10);
}

TEST_CASE("independent instructions of one engine follow at the initiation interval") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {activation(0, 0, 100), activation(0, 0, 7), activation(0, 0)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  const auto starts = record.starts(Engine::scalar);
  CHECK(starts == std::vector<Ticks>{0, 164 * scalar_cycle, (164 + 71) * scalar_cycle});
  for (const Started& s : record.started) {
    CHECK(s.stalled_since == s.passage.start);
    CHECK(s.reason == StallReason::none);
  }
}

TEST_CASE("a consumer on another engine starts one crossing after the producer's completion") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {then(activation(0, 0), 2)});
  program.stream(Engine::vector, {on(copy(64, 0), 2, 1)});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  const Started consumer = record.of(Engine::vector).front();
  CHECK(consumer.passage.start == scalar_latency + cross);
  CHECK(consumer.stalled_since == 0);
  CHECK(consumer.reason == StallReason::semaphore);
  CHECK(consumer.producer == Engine::scalar);
  CHECK(consumer.producer_serial == 0);
  CHECK(result.total == scalar_latency + cross + vector_latency);
  CHECK(record.end == result.total);
}

TEST_CASE("@read fires when the sources have been read, @complete when the result is there") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar,
                 {then(activation(0, 0, 300), 2, UpdateWhen::read), then(activation(0, 0, 300), 3)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  REQUIRE(record.semaphores.size() == 2);
  CHECK(record.semaphores[0].semaphore == 2);
  CHECK(record.semaphores[0].at == 300 * scalar_cycle);
  CHECK(record.semaphores[1].at == (364 + 221 + 300) * scalar_cycle);
  CHECK(record.semaphores[1].serial == 1);
}

TEST_CASE("two engines that hand a value to and fro alternate without gaps") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  std::vector<Instruction> ping, pong;
  for (std::uint16_t i = 0; i < 20; ++i) {
    ping.push_back(on(then(activation(0, 64), 2), 3, i));
    pong.push_back(on(then(copy(64, 0), 3), 2, static_cast<std::uint16_t>(i + 1)));
  }
  program.stream(Engine::scalar, ping).stream(Engine::vector, pong);
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  const Ticks round = scalar_latency + cross + vector_latency + cross;
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(record.starts(Engine::scalar)[i] == Ticks(i) * round);
    CHECK(record.starts(Engine::vector)[i] == Ticks(i) * round + scalar_latency + cross);
  }
}

TEST_CASE("a wait that was satisfied while its engine was busy costs nothing more") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {then(activation(0, 0), 2)});
  program.stream(Engine::vector, {copy(64, 64, 500), on(copy(64, 0), 2, 1)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  const Started consumer = record.of(Engine::vector).back();
  CHECK(consumer.passage.start == 564 * vector_cycle);
  CHECK(consumer.reason == StallReason::none);
}

TEST_CASE("a later change of a satisfied semaphore does not delay its waiter") {
  // S[2] reaches 1 at 888 and 2 at 1148. The vector engine, busy until 1000, wants 1: the second change must
  // not count, although it falls between the look and the crossing of the first.
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {then(activation(0, 0), 2), then(activation(0, 0), 2)});
  program.stream(Engine::vector, {copy(64, 64, 180), on(copy(64, 0), 2, 1)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::vector)[1] == (180 + 64) * vector_cycle);
}

TEST_CASE("control instructions issue at their own pace while the data path streams") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {activation(0, 0, 500), then(semaphore_only(), 4), move(1, 7),
                                  then(semaphore_only(), 4), activation(0, 0)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::scalar) ==
        std::vector<Ticks>{0, issue, 2 * issue, 3 * issue, 564 * scalar_cycle});
  REQUIRE(record.semaphores.size() == 2);
  CHECK(record.semaphores[0].at == 2 * issue);  // issue + CTRL_ISSUE, long before the activation completes
  CHECK(record.semaphores[1].at == 4 * issue);
}

TEST_CASE("a data-path instruction follows a control instruction after its issue") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {op(Opcode::nop), op(Opcode::nop), copy(0, 64)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::vector) == std::vector<Ticks>{0, issue, 2 * issue});
}

TEST_CASE("drain waits for completion, event_semaphore does not") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {activation(0, 0, 100), op(Opcode::drain), activation(0, 0)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  const Ticks drained = (221 + 100) * scalar_cycle;
  CHECK(record.starts(Engine::scalar) == std::vector<Ticks>{0, drained, drained + issue});
  const Started drain = record.of(Engine::scalar)[1];
  CHECK(drain.reason == StallReason::pipeline);
  CHECK(drain.stalled_since == 164 * scalar_cycle);
}

TEST_CASE("drain waits for register stores too") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(
      Engine::sync,
      {op(Opcode::register_store, RegisterStore{sbuf(0, 1, 1, DType::i32), Register{1}}), op(Opcode::drain)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::sync) == std::vector<Ticks>{0, 140 * base_cycle});
}

TEST_CASE("the instruction after a register load waits for the loaded value") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(
      Engine::sync,
      {op(Opcode::register_load, RegisterLoad{Register{1}, sbuf(0, 1, 1, DType::i32)}), op(Opcode::nop)});
  Record record;
  run(machine, program.get(), Mode::timed, &record);
  CHECK(record.starts(Engine::sync) == std::vector<Ticks>{0, 140 * base_cycle});
}

TEST_CASE("vector and gpsimd exclude each other on the SBUF of NeuronCore-v2") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {copy(0, 64, 400)});
  program.stream(Engine::gpsimd, {op(Opcode::nop), copy(1024, 2048, 300)});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  const Started second = record.of(Engine::gpsimd).back();
  CHECK(second.passage.start == 400 * vector_cycle);  // held for start .. start + S
  CHECK(second.stalled_since == issue);
  CHECK(second.reason == StallReason::port);
  CHECK(result.total == 400 * vector_cycle + (150 + 300) * base_cycle);
}

TEST_CASE(
    "on NeuronCore-v3 scalar waits for vector at its PSUM bank, for each instruction by its own address") {
  const auto start_of_second = [](std::uint32_t byte, const char* setting = nullptr) {
    MachineConfig machine = builtin_machine("trn2");
    if (setting != nullptr) set_parameter(machine, setting);
    ProgramOf program(machine.target);
    AccessPattern from = sbuf(0, 400), to = from;
    from.space = Space::psum;
    program.stream(Engine::vector, {op(Opcode::tensor_copy, Unary{to, from})});
    from.offset = byte;
    to.offset = 4096;
    program.stream(Engine::scalar, {op(Opcode::tensor_copy, Unary{to, from})});
    Record record;
    run(machine, program.get(), Mode::timing_only, &record);
    const Started second = record.of(Engine::scalar).front();
    CHECK((second.reason == StallReason::port) == (second.passage.start > 0));
    return second.passage.start;
  };
  const MachineConfig machine = builtin_machine("trn2");
  const Ticks stream = 400 * ticks_per_cycle(machine, Engine::vector);
  CHECK(start_of_second(400) == stream);
  CHECK(start_of_second(2044) == stream);  // its first element is in the bank
  CHECK(start_of_second(2048) == 0);
  CHECK(start_of_second(400, "ports.vector_scalar_bank=0") == 0);
}

TEST_CASE("waiting port claims are served oldest first") {
  // gpsimd claims at 48 and again when its first instruction is through; vector's second claim is made in
  // between.
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {copy(0, 64, 1000), copy(0, 64, 10)});
  program.stream(Engine::gpsimd, {op(Opcode::nop), copy(1024, 2048, 2000)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::gpsimd)[1] == 1000 * vector_cycle);
  // vector could go on at 1064 cycles, but gpsimd holds the port from 1000 vector cycles on for its stream.
  const auto stream = record.of(Engine::gpsimd)[1].cost.stream;
  CHECK(record.starts(Engine::vector)[1] == 1000 * vector_cycle + stream);
  CHECK(record.of(Engine::vector)[1].reason == StallReason::port);
}

TEST_CASE("a tie for a port goes to the older claim") {
  MachineConfig machine = v2();
  set_parameter(machine, "vector.ii_gap=0");  // vector is ready again at the very tick it lets the port go
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {copy(0, 64, 1000), copy(0, 64, 10)});
  program.stream(Engine::gpsimd, {op(Opcode::nop), copy(1024, 2048, 20)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::gpsimd)[1] == 1000 * vector_cycle);
  CHECK(record.starts(Engine::vector)[1] > 1000 * vector_cycle);
}

TEST_CASE("engines that share no exclusive port run side by side") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {copy(0, 64, 400)});
  program.stream(Engine::scalar, {activation(1024, 2048, 400)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::vector).front() == 0);
  CHECK(record.starts(Engine::scalar).front() == 0);
}

TEST_CASE("a perturbed cost replaces the machine's") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {then(activation(0, 0), 2), op(Opcode::nop)});
  program.stream(Engine::vector, {on(copy(64, 0), 2, 1)});
  RunOptions options;
  int asked = 0;
  options.perturb = [&](const Instruction& i, Engine e, Cost& cost) {
    CHECK(i.opcode != Opcode::nop);
    ++asked;
    if (e == Engine::scalar) cost.latency += 1000;
  };
  Record record;
  run(machine, program.get(), Mode::timing_only, &record, options);
  CHECK(asked == 2);
  CHECK(record.starts(Engine::vector).front() == scalar_latency + 1000 + cross);
}

TEST_CASE("a stream ends at its last instruction or at halt") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::scalar, {op(Opcode::nop), op(Opcode::halt), on(semaphore_only(), 9, 1)});
  program.stream(Engine::vector, {op(Opcode::nop)});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  CHECK(result.status == RunStatus::finished);
  CHECK(result.instructions == 3);
  CHECK(record.stream_end.size() == 5);
  CHECK(record.stream_end[Engine::scalar] == 2 * issue);
  CHECK(record.stream_end[Engine::vector] == issue);
  CHECK(record.stream_end[Engine::gpsimd] == 0);
  CHECK(result.total == 2 * issue);
}

TEST_CASE("two machines side by side give what each gives alone") {
  const MachineConfig machine = v2();
  ProgramOf first(machine.target), second(machine.target);
  first.stream(Engine::scalar, {then(activation(0, 0), 2)}).stream(Engine::vector, {on(copy(64, 0), 2, 1)});
  second.stream(Engine::vector, {then(copy(64, 0, 99), 2)})
      .stream(Engine::gpsimd, {on(copy(64, 0, 5), 2, 1)});
  const Ticks alone_first = run(machine, first.get(), Mode::timed).total;
  const Ticks alone_second = run(machine, second.get(), Mode::timed).total;
  Machine a(machine, first.get(), {}), b(machine, second.get(), {});
  const RunResult result_b = b.run();
  const RunResult result_a = a.run();
  CHECK(result_a.total == alone_first);
  CHECK(result_b.total == alone_second);
}
