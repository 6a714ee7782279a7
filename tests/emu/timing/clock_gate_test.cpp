#include "emu/timing/clock_gate.h"

#include <doctest/doctest.h>

#include "isa/fault.h"

using namespace ncemu;

namespace {

constexpr Ticks window = 4096 * 4;  // four ticks per cycle of the base clock
constexpr Ticks enough = 7373;      // 0.45 x 16384 = 7372.8

ClockGate gate() { return ClockGate(builtin_machine("trn2")); }

}  // namespace

TEST_CASE("the array starts gated and stays so without work") {
  ClockGate g = gate();
  CHECK(g.enabled());
  for (const Ticks t : {Ticks{0}, window - 1, window, 100 * window}) CHECK(g.gated_at(t));
}

TEST_CASE("a window busy for 45 percent opens the gate at its end, one tick less does not") {
  ClockGate g = gate();
  g.busy(100, 100 + enough);
  CHECK(g.gated_at(window - 1));
  CHECK_FALSE(g.gated_at(window));
  ClockGate h = gate();
  h.busy(100, 100 + enough - 1);
  CHECK(h.gated_at(window));
}

TEST_CASE("work in pieces counts as its sum") {
  ClockGate g = gate();
  for (Ticks t = 0; t < 9; ++t) g.busy(t * 1000, t * 1000 + 820);  // 7380
  CHECK_FALSE(g.gated_at(window));
}

TEST_CASE("the clock stays full for two windows and falls back after the second idle one") {
  ClockGate g = gate();
  g.busy(0, enough);
  CHECK_FALSE(g.gated_at(window));
  CHECK_FALSE(g.gated_at(3 * window - 1));
  CHECK(g.gated_at(3 * window));
}

TEST_CASE("the second full window decides, not the first") {
  ClockGate g = gate();
  g.busy(0, enough);
  g.busy(2 * window, 2 * window + enough);
  CHECK_FALSE(g.gated_at(4 * window - 1));
  CHECK(g.gated_at(4 * window));
  ClockGate h = gate();
  h.busy(0, enough);
  h.busy(window, window + enough);
  CHECK(h.gated_at(3 * window));
}

TEST_CASE("an interval over a border counts in both windows") {
  ClockGate g = gate();
  g.busy(window - 5000, window + enough);  // 5000 are too few in window 0
  CHECK(g.gated_at(window));
  CHECK(g.gated_at(2 * window - 1));
  CHECK_FALSE(g.gated_at(2 * window));
}

TEST_CASE("an interval over many windows keeps the clock full until two windows after it") {
  ClockGate g = gate();
  g.busy(0, 10 * window);
  CHECK_FALSE(g.gated_at(10 * window));
  CHECK_FALSE(g.gated_at(11 * window - 1));
  CHECK(g.gated_at(11 * window));
}

TEST_CASE("a long pause is skipped without changing the grid") {
  ClockGate g = gate();
  g.busy(1000 * window + 10, 1000 * window + 10 + enough);
  CHECK(g.gated_at(1001 * window - 1));
  CHECK_FALSE(g.gated_at(1001 * window));
}

TEST_CASE("intervals may overlap, but one that begins before the last is an error of ours") {
  ClockGate g = gate();
  g.busy(100, 200);
  g.busy(150, 300);
  CHECK_THROWS_AS(g.busy(99, 400), Fault);
}

TEST_CASE("a machine without a window has no gate") {
  ClockGate g(builtin_machine("trn1"));
  CHECK_FALSE(g.enabled());
  CHECK_FALSE(g.gated_at(0));
}
