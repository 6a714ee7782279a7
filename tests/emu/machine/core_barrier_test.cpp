#include <doctest/doctest.h>

#include "tests/emu/machine/programs.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("a run of one core that reaches a core_barrier ends with an error that says so, in every mode") {
  const MachineConfig machine = builtin_machine("trn2");
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
    ProgramOf program(machine.target);
    program.stream(Engine::gpsimd, {op(Opcode::core_barrier)});
    const RunResult result = run(machine, program.get(), mode);
    CHECK(result.status == RunStatus::fault);
    CHECK_MESSAGE(
        result.message.find("core_barrier (instruction 0 of gpsimd): waits for the other core of the pair") !=
            std::string::npos,
        result.message);
  }
}

TEST_CASE("notify tells the listeners its value and costs one issue") {
  const MachineConfig machine = v2();
  ProgramOf program(machine.target);
  program.stream(Engine::vector, {op(Opcode::notify, Notify{7}), op(Opcode::notify, Notify{8})});
  Record record;
  const RunResult result = run(machine, program.get(), Mode::timing_only, &record);
  CHECK(result.status == RunStatus::finished);
  CHECK(record.starts(Engine::vector) == std::vector<Ticks>{0, issue});
}
