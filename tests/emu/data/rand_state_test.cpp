// rand_set_state, rand_get_state and the generator between them.

#include <doctest/doctest.h>

#include <set>

#include "emu/data/xorwow.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Marsaglia's xorwow, as the paper prints it.
struct Paper {
  std::uint32_t x, y, z, w, v, d;
  std::uint32_t draw() {
    std::uint32_t t;
    t = (x ^ (x >> 2));
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ (v << 4)) ^ (t ^ (t << 1));
    return (d += 362437) + v;
  }
};

}  // namespace

TEST_CASE("the generator is the paper's, from the paper's state") {
  Xorwow g{123456789, 362436069, 521288629, 88675123, 5783321, 6615241};
  Paper p{123456789, 362436069, 521288629, 88675123, 5783321, 6615241};
  CHECK(g.next() == 246875399);  // the first two, computed apart from any C++
  CHECK(g.next() == 3690007200);
  p.draw(), p.draw();
  for (int i = 0; i < 100000; ++i) REQUIRE(g.next() == p.draw());
}

TEST_CASE("a state that was set is what get returns, per partition") {
  State s(small_program(3));
  const auto in = pattern(Space::sbuf, DType::u32, 32, 32, 0, {{2, 6}}), out = sbuf(DType::u32, 128, 4096, 6);
  Random r(71);
  fill_random(s, in, r, true);
  const auto before = s.gpsimd_generators;
  run(s, Opcode::rand_set_state, Source{in}, Engine::gpsimd);
  run(s, Opcode::rand_get_state, Destination{out}, Engine::gpsimd);
  for (int p = 0; p < 128; ++p) {
    const auto state = before[static_cast<std::size_t>(p)].state();
    for (int i = 0; i < 6; ++i) {
      const bool set = p >= 32 && p < 64;
      CHECK(bits(s, out, p, i) == (set ? bits(s, in, p - 32, i) : state[static_cast<std::size_t>(i)]));
    }
  }
}

TEST_CASE("lanes start with different states, the same in every run, none of them stuck at zero") {
  const auto a = initial_generators(), b = initial_generators();
  CHECK(a == b);
  std::set<std::array<std::uint32_t, 6>> states;
  for (Xorwow g : a) {
    states.insert(g.state());
    CHECK((g.x | g.y | g.z | g.w | g.v) != 0);
  }
  CHECK(states.size() == 128);
}
