#include "emu/machine/semaphores.h"

#include <doctest/doctest.h>

#include "isa/fault.h"

using namespace ncemu;

namespace {

constexpr std::uint32_t max = 65535;
constexpr Signaller tensor_first{Engine::tensor, false, 1};
constexpr Signaller vector_second{Engine::vector, false, 2};

std::string complaint(Semaphores& s, UpdateOperation operation, std::uint8_t semaphore, std::uint32_t value) {
  try {
    s.apply(operation, semaphore, value, tensor_first, 0);
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::program);
    return fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("every update operation changes the counter as its name says") {
  const Program program;
  Semaphores s(program, max, 100);
  s.apply(UpdateOperation::sem_wr_imm, 7, 10, tensor_first, 0);
  CHECK(s.value(7) == 10);
  s.apply(UpdateOperation::sem_inc, 7, 99, tensor_first, 0);
  CHECK(s.value(7) == 11);
  s.apply(UpdateOperation::sem_dec, 7, 99, tensor_first, 0);
  CHECK(s.value(7) == 10);
  s.apply(UpdateOperation::sem_add_imm, 7, 5, tensor_first, 0);
  CHECK(s.value(7) == 15);
  const auto change = s.apply(UpdateOperation::sem_sub_imm, 7, 15, tensor_first, 0);
  CHECK(change.before == 15);
  CHECK(change.after == 0);
  CHECK(s.value(6) == 0);
  CHECK(s.value(8) == 0);
}

TEST_CASE("a counter reaches its maximum and not one more") {
  Program program;
  program.semaphores = {{"ready", 5}};
  Semaphores s(program, max, 0);
  s.apply(UpdateOperation::sem_wr_imm, 5, max, tensor_first, 0);
  CHECK(s.value(5) == max);
  CHECK(complaint(s, UpdateOperation::sem_inc, 5, 0) ==
        "S[5] (ready) overflows: 65535 + 1 is more than 65535");
  CHECK(complaint(s, UpdateOperation::sem_add_imm, 4, 65536) ==
        "S[4] overflows: 0 + 65536 is more than 65535");
  CHECK(complaint(s, UpdateOperation::sem_wr_imm, 4, 70000) ==
        "S[4] overflows: 0 + 70000 is more than 65535");
  CHECK(s.value(5) == max);
}

TEST_CASE("a counter never falls below zero") {
  const Program program;
  Semaphores s(program, max, 0);
  CHECK(complaint(s, UpdateOperation::sem_dec, 3, 0) == "S[3] underflows: it is 0, and 1 is subtracted");
}

TEST_CASE("setting a set event and clearing a clear one are errors") {
  const Program program;
  Semaphores s(program, max, 0);
  CHECK(complaint(s, UpdateOperation::evt_clr, 9, 0) == "event E[9] is cleared although it already is");
  s.apply(UpdateOperation::evt_set, 9, 0, tensor_first, 0);
  CHECK(s.event(9));
  CHECK(complaint(s, UpdateOperation::evt_set, 9, 0) == "event E[9] is set although it already is");
  s.apply(UpdateOperation::evt_clr, 9, 0, tensor_first, 0);
  CHECK_FALSE(s.event(9));
}

TEST_CASE("a wait is satisfied since the change that made it true, not since the latest") {
  const Program program;
  Semaphores s(program, max, 1000);
  s.apply(UpdateOperation::sem_inc, 1, 0, tensor_first, 100);
  s.apply(UpdateOperation::sem_inc, 1, 0, vector_second, 200);
  const auto one = s.satisfaction(1, Comparison::ge, 1);
  CHECK(one.holds);
  CHECK(one.remembered);
  CHECK(one.since == 100);
  CHECK(one.by.engine == Engine::tensor);
  const auto two = s.satisfaction(1, Comparison::ge, 2);
  CHECK(two.since == 200);
  CHECK(two.by.serial == 2);
  CHECK_FALSE(s.satisfaction(1, Comparison::ge, 3).holds);
  const auto zero = s.satisfaction(1, Comparison::ge, 0);
  CHECK(zero.holds);
  CHECK_FALSE(zero.remembered);
}

TEST_CASE("a condition that was interrupted counts from its last beginning") {
  const Program program;
  Semaphores s(program, max, 1000);
  s.apply(UpdateOperation::sem_inc, 1, 0, tensor_first, 100);
  s.apply(UpdateOperation::sem_dec, 1, 0, tensor_first, 150);
  s.apply(UpdateOperation::sem_inc, 1, 0, vector_second, 190);
  CHECK(s.satisfaction(1, Comparison::ge, 1).since == 190);
  CHECK(s.satisfaction(1, Comparison::eq, 1).since == 190);
}

TEST_CASE("changes older than every latency are forgotten, younger ones never") {
  const Program program;
  Semaphores s(program, max, 310);
  for (Ticks t = 0; t < 1000; ++t) s.apply(UpdateOperation::sem_inc, 1, 0, tensor_first, t);
  // The value reached v at tick v - 1; the last change was at 999.
  for (std::uint32_t v = 1; v <= 1000; ++v) {
    const auto found = s.satisfaction(1, Comparison::ge, v);
    CHECK(found.holds);
    if (Ticks{v} - 1 >= 999 - 310) {
      CHECK(found.remembered);
      CHECK(found.since == Ticks{v} - 1);
    }
  }
}

TEST_CASE("all comparisons compare as written") {
  CHECK(holds(Comparison::always, 5, 6));
  const Comparison all[] = {Comparison::lt, Comparison::le, Comparison::eq,
                            Comparison::ne, Comparison::ge, Comparison::gt};
  const bool expected[][6] = {{true, true, false, true, false, false},   // 4 ? 5
                              {false, true, true, false, true, false},   // 5 ? 5
                              {false, false, false, true, true, true}};  // 6 ? 5
  for (int a = 4; a <= 6; ++a) {
    for (int c = 0; c < 6; ++c) CHECK(holds(all[c], a, 5) == expected[a - 4][c]);
  }
  CHECK(holds(Comparison::lt, -1, 0));
}
