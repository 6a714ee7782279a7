// Transfers as the machine runs them: triggers, descriptor generators, 16 increments, consumers.

#include "emu/machine/dma.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "isa/fault.h"
#include "tests/emu/machine/programs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// The constants of datasheet 7.5 and 7.6 for NeuronCore-v2, without measured corrections.
MachineConfig with_datasheet_dma() {
  MachineConfig machine = v2();
  for (const char* assignment :
       {"dma.r_peak=27.2", "dma.c_core=298", "dma.o_desc_ns=6", "dma.desc_min_ns=7", "dma.t_sem_ns=7",
        "dma.packet_bytes=4096", "dma.g_static_ns=75", "dma.g_software_ns=88", "dma.g_software_row_ns=4",
        "dma.l_trig_ns=1300", "dma.l_trig_software_ns=1300", "dma.l_trig_hardware_ns=1300",
        "dma.stagger_ns=20", "dma.tail_load_ns=0", "dma.tail_store_ns=0", "dma.tail_short_ns=0",
        "dma.l_done_ns=310", "hbm.bytes_per_ns=410"}) {
    set_parameter(machine, assignment);
  }
  return machine;
}
// In ticks of 1/5.6 ns.
constexpr Ticks trigger_latency_ticks = 7280;  // L_TRIG, 1300 ns
constexpr Ticks stagger = 112;                 // 20 ns
constexpr Ticks semaphore_write = 39;          // 7 ns
constexpr Ticks done_latency = 1736;           // L_DONE, 310 ns
constexpr Ticks generation = 420;              // G static, 75 ns

Instruction in_mode(Instruction i, DgeMode mode) {
  std::get<DmaCopy>(i.operands).mode = mode;
  return i;
}

// [4, 4096] bf16 as in datasheet 7.6, example 1: one DMA engine moves 4 descriptors of 8 KiB.
Instruction four_rows(std::uint8_t queue = 0) {
  return load(sbuf(0, 4096, 4, DType::bf16), hbm(0, 4096, 4, DType::bf16), queue);
}
// 6 ns + 8192 B / 27.2 B/ns = 307.18 ns for each descriptor.
constexpr Ticks four_rows_service = 4 * 1720;

}  // namespace

TEST_CASE("each DMA engine increments the semaphore by 1, also those that moved nothing") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync, {then(four_rows(), 8)});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  REQUIRE(record.semaphores.size() == 16);
  std::vector<Ticks> expected;
  for (int e = 1; e < 16; ++e)
    expected.push_back(issue + trigger_latency_ticks + e * stagger + semaphore_write);
  expected.push_back(issue + trigger_latency_ticks + four_rows_service +
                     semaphore_write);  // engine 0 does the work
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(record.semaphores[i].before == i);
    CHECK(record.semaphores[i].after == i + 1);
    CHECK(record.semaphores[i].at == expected[i]);
    CHECK(record.semaphores[i].by_transfer);
    CHECK(record.semaphores[i].by == Engine::sync);
  }
  CHECK(record.transfer_done.at(0) == expected.back());
  CHECK(result.total == expected.back());
}

TEST_CASE("a consumer starts L_DONE after the sixteenth increment") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync, {op(Opcode::nop), then(four_rows(), 8)});
  program.stream(Engine::scalar, {on(activation(0, 0), 8, 16)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  const Started consumer = record.of(Engine::scalar).front();
  // The trigger issues after the nop; trigger to consumer is the chain of datasheet 7.6.
  CHECK(consumer.passage.start ==
        issue + issue + trigger_latency_ticks + four_rows_service + semaphore_write + done_latency);
  CHECK(consumer.reason == StallReason::dma);
  CHECK(consumer.producer == Engine::sync);
  CHECK(consumer.producer_serial == record.of(Engine::sync)[1].serial);
}

TEST_CASE("an engine may go on at the fifteenth increment if it waits for no more") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync, {then(four_rows(), 8)});
  program.stream(Engine::scalar, {on(activation(0, 0), 8, 15)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::scalar).front() ==
        issue + trigger_latency_ticks + 15 * stagger + semaphore_write + done_latency);
}

TEST_CASE("static triggers follow each other at the generation time") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync, {four_rows(0), four_rows(1), four_rows(2), op(Opcode::nop)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.starts(Engine::sync) == std::vector<Ticks>{0, generation, 2 * generation, 3 * generation});
  CHECK(record.transfers[2].trigger == 2 * generation);
  CHECK(record.transfers[2].queue == 2);
}

TEST_CASE("software descriptors keep gpsimd busy, and wait until it is free") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::gpsimd, {copy(0, 64, 50), in_mode(four_rows(), DgeMode::software), copy(0, 64)});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  const Ticks first = (150 + 50) * base_cycle;
  const Ticks generation_software = 582;  // 88 + 4 rows x 4 ns = 104 ns
  CHECK(record.starts(Engine::gpsimd) == std::vector<Ticks>{0, first, first + generation_software});
  CHECK(record.done.front().end == first + issue + trigger_latency_ticks + stagger + semaphore_write);
}

TEST_CASE("a hardware generator keeps its sequencer, scalar and sync alike") {
  MachineConfig machine = builtin_machine("trn2");
  set_parameter(machine, "dma.g_hardware_ns=600");
  const Ticks g = ticks_from_ns(machine, 600);
  const Ticks ctrl = cost(op(Opcode::nop), Engine::scalar, machine).interval;
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  const Instruction trigger = in_mode(four_rows(), DgeMode::hardware);
  program.stream(Engine::scalar, {trigger, op(Opcode::nop), trigger});
  program.stream(Engine::sync, {trigger, op(Opcode::nop), trigger});
  Record record;
  run(machine, program.get(), Mode::timing_only, &record);
  for (const Engine e : {Engine::scalar, Engine::sync})
    CHECK(record.starts(e) == std::vector<Ticks>{0, g, g + ctrl});
}

TEST_CASE("a delayed transfer holds back its queue but no other") {
  const MachineConfig machine = with_datasheet_dma();
  for (const std::uint8_t second_queue : {std::uint8_t{0}, std::uint8_t{1}}) {
    ProgramOf program(machine.target);
    program.tensor("t", {4, 4096}, DType::bf16);
    program.stream(Engine::sync, {four_rows(0), four_rows(second_queue)});
    RunOptions options;
    int calls = 0;
    options.perturb_transfer = [&](const Instruction&, Engine issuer, Ticks& delay) {
      CHECK(issuer == Engine::sync);
      CHECK(delay == 0);
      if (calls++ == 0) delay = 1'000'000;
    };
    Record record;
    run(machine, program.get(), Mode::timing_only, &record, options);
    CHECK(calls == 2);
    CHECK((record.transfer_done.at(1) < record.transfer_done.at(0)) == (second_queue == 1));
    CHECK(record.transfer_done.at(0) >= 1'000'000);
  }
}

TEST_CASE("the run lasts until all queues are empty, not only until the streams end") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync, {four_rows()});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  CHECK(record.stream_end.at(Engine::sync) == generation);
  CHECK(result.total == issue + trigger_latency_ticks + four_rows_service + semaphore_write);
}

TEST_CASE("without a clock a transfer increments sixteen times at its trigger") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync, {then(four_rows(), 8)});
  program.stream(Engine::scalar, {on(semaphore_only(), 8, 16)});
  for (const Mode mode : {Mode::functional, Mode::check}) {
    Record record;
    const RunResult result = run(machine, program.get(), mode, &record);
    CHECK(result.status == RunStatus::finished);
    CHECK(result.total == 0);
    CHECK(record.semaphores.size() == 16);
    CHECK(record.transfer_done.at(0) == 0);
    CHECK(record.transfer_bytes == std::vector<std::int64_t>{4 * 8192});
  }
}

TEST_CASE("a transfer signals by increments, a sixteenth by each DMA engine") {
  CHECK(increment_per_engine({8, UpdateOperation::sem_inc, UpdateWhen::complete, 0}) == 1);
  CHECK(increment_per_engine({8, UpdateOperation::sem_add_imm, UpdateWhen::complete, 16}) == 1);
  CHECK(increment_per_engine({8, UpdateOperation::sem_add_imm, UpdateWhen::complete, 48}) == 3);
  CHECK_THROWS_AS(increment_per_engine({8, UpdateOperation::sem_add_imm, UpdateWhen::complete, 8}), Fault);
  CHECK_THROWS_AS(increment_per_engine({8, UpdateOperation::evt_set, UpdateWhen::complete, 0}), Fault);
}

TEST_CASE("a transfer's signal of 1 is refused in the words of the language") {
  std::string message;
  try {
    increment_per_engine({8, UpdateOperation::sem_add_imm, UpdateWhen::complete, 1});
  } catch (const Fault& fault) {
    message = fault.what();
  }
  CHECK(message.find("write 'S[8] ++'") != std::string::npos);
  CHECK(message.find("not 'S[8] += 1'") != std::string::npos);
}

TEST_CASE("the increment that overflows names the transfer's instruction") {
  const MachineConfig machine = with_datasheet_dma();
  ProgramOf program(machine.target);
  program.tensor("t", {4, 4096}, DType::bf16);
  program.stream(Engine::sync,
                 {then(semaphore_only(), 8, UpdateWhen::complete, UpdateOperation::sem_wr_imm, 65530),
                  then(four_rows(), 8), op(Opcode::nop)});
  for (const Mode mode : {Mode::functional, Mode::timing_only}) {
    const RunResult result = run(machine, program.get(), mode);
    CHECK(result.status == RunStatus::fault);
    CHECK(result.message ==
          "test.nca:2:1: dma_copy (instruction 1 of sync): S[8] overflows: 65535 + 1 is more than "
          "65535");
  }
}

TEST_CASE("transfers of one shape share their descriptors wherever they lie") {
  const MachineConfig machine = with_datasheet_dma();
  DmaUnit dma(machine);
  DmaCopy a = std::get<DmaCopy>(four_rows().operands), b = a, c = a;
  std::get<AccessPattern>(b.dst).offset = 4096;
  std::get<HbmPattern>(b.src).offset = 77;
  b.queue = 5;
  std::get<AccessPattern>(c.dst).partition = 32;
  CHECK(dma.describe(a) == dma.describe(b));
  CHECK(dma.describe(a) != dma.describe(c));
  CHECK(dma.work(dma.describe(a)).engines[0].size() == 1);
  CHECK(dma.work(dma.describe(c)).engines[4].size() == 1);
}
