#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

void load(State& s, const AccessPattern& src) {
  run(s, Opcode::load_stationary, LoadStationary{src}, Engine::tensor);
}
void matmul(State& s, const AccessPattern& dst, const AccessPattern& moving, bool accumulate) {
  run(s, Opcode::matmul, Matmul{dst, moving, accumulate}, Engine::tensor);
}

std::vector<float> matrix(State& s, const AccessPattern& p) {
  std::vector<float> all;
  for (int lane = 0; lane < p.partitions; ++lane) {
    for (const float v : row(s, p, lane)) all.push_back(v);
  }
  return all;
}

const auto ones = [](int, std::int64_t) { return 1.0F; };

constexpr auto narrow_floats = {DType::bf16, DType::f16, DType::f8e5m2, DType::f8e4m3, DType::f8e3m4};
constexpr auto wide_floats = {DType::f32, DType::tf32};

}  // namespace

TEST_CASE("matmul is one chain of fused multiply-adds over k, for all types, sizes and patterns") {
  Random r(21);
  for (int round = 0; round < 60; ++round) {
    State s(small_program());
    const bool wide = pick(r, 0, 2) == 0;
    const DType a = wide ? pick_of(r, wide_floats) : pick_of(r, narrow_floats);
    const DType b = wide ? pick_of(r, wide_floats) : pick_of(r, narrow_floats);
    const int k = pick_of(r, {1, 31, 64, 127, 128}), m = pick_of(r, {1, 7, 64, 127, 128});
    const int n = pick_of(r, {1, 15, 127, 128, 511, 512});
    const auto stationary = random_pattern(r, Space::sbuf, a, 0, k, random_counts(r, m), 0, false);
    const auto moving = random_pattern(r, Space::sbuf, b, 0, k, random_counts(r, n), 48 * 1024, true);
    auto dst = pattern(Space::psum, DType::f32, 0, m, 2048 * pick(r, 0, 7), {{1, n}});
    if (pick(r, 0, 1) && n <= 256) dst.dims[0].step = 2;
    fill_random(s, stationary, r, false);
    fill_random(s, moving, r, false);
    const auto expected = gemm(matrix(s, stationary), matrix(s, moving), static_cast<std::size_t>(k),
                               static_cast<std::size_t>(m), static_cast<std::size_t>(n));
    Plain plain(s);
    load(s, stationary);
    matmul(s, dst, moving, false);
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) plain.set(dst, i, j, expected[static_cast<std::size_t>(i * n + j)]);
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round, ": ", name(a), " x ", name(b), " ", k, " ", m, " ", n);
  }
}

TEST_CASE("a sum over several instructions adds groups of 128 k, one rounding each") {
  Random r(22);
  State s(small_program());
  const std::size_t k = 512, m = 128, n = 512;
  std::vector<float> at(k * m), b(k * n);
  const auto a_tile = sbuf(DType::bf16, 128, 0, 128), b_tile = sbuf(DType::bf16, 128, 1024, 512),
             c = psum(128, 4096, 512);
  for (auto* all : {&at, &b}) {
    for (float& v : *all)
      v = from_bits(DType::bf16, to_bits(DType::bf16, std::normal_distribution<float>()(r)));
  }
  for (std::size_t t = 0; t < 4; ++t) {
    fill(s, a_tile, [&](int p, std::int64_t i) {
      return at[(t * 128 + static_cast<std::size_t>(p)) * m + static_cast<std::size_t>(i)];
    });
    fill(s, b_tile, [&](int p, std::int64_t i) {
      return b[(t * 128 + static_cast<std::size_t>(p)) * n + static_cast<std::size_t>(i)];
    });
    load(s, a_tile);
    matmul(s, c, b_tile, t > 0);
  }
  CHECK(matrix(s, c) == gemm(at, b, k, m, n));
}

TEST_CASE("per element the first write of a group overwrites, in a fresh bank and in a used one") {
  State s(small_program());
  const auto stationary = sbuf(DType::bf16, 128, 0, 128), moving = sbuf(DType::bf16, 128, 1024, 4);
  fill(s, stationary, ones);
  fill(s, moving, ones);
  load(s, stationary);
  for (int use = 0; use < 3; ++use) {
    CAPTURE(use);
    matmul(s, psum(128, 0, 4), moving, false);
    matmul(s, psum(128, 8, 4), moving, true);
    for (const int lane : {0, 63, 127}) {
      CHECK(row(s, psum(128, 0, 6), lane) == std::vector<float>{128, 128, 256, 256, 128, 128});
    }
  }
}

TEST_CASE("joining takes the newest group of the destination and overwrites words of older ones") {
  State s(small_program());
  const auto stationary = sbuf(DType::bf16, 128, 0, 1), moving = sbuf(DType::bf16, 128, 1024, 8);
  fill(s, stationary, ones);
  fill(s, moving, ones);
  load(s, stationary);
  const auto two = sbuf(DType::bf16, 128, 1024, 2);
  matmul(s, psum(1, 0, 8), moving, false);  // an older group
  matmul(s, psum(1, 8, 2), two, false);     // the newest: words 2 and 3
  matmul(s, psum(1, 0, 8), moving, true);
  CHECK(row(s, psum(1, 0, 8)) == std::vector<float>{128, 128, 256, 256, 128, 128, 128, 128});
  matmul(s, psum(1, 0, 8), moving, true);  // now all belong to it
  CHECK(row(s, psum(1, 0, 8)) == std::vector<float>{256, 256, 384, 384, 256, 256, 256, 256});
}

TEST_CASE("joining where no word belongs to a group overwrites and says so, once") {
  State s(small_program());
  int events = 0;
  s.on_event = [&](const DataEvent& e) { events += e.kind == DataEvent::Kind::joined_no_group; };
  const auto stationary = sbuf(DType::bf16, 128, 0, 2), moving = sbuf(DType::bf16, 128, 1024, 8);
  fill(s, stationary, ones);
  fill(s, moving, ones);
  load(s, stationary);
  matmul(s, psum(2, 0, 8), moving, true);
  CHECK(events == 1);
  CHECK(row(s, psum(2, 0, 8), 1) == std::vector<float>(8, 128));
  matmul(s, psum(2, 0, 8), moving, true);
  CHECK(events == 1);
  CHECK(row(s, psum(2, 0, 8), 1) == std::vector<float>(8, 256));
}

TEST_CASE("a write by another engine takes the words it touches out of their group, and no others") {
  const auto stationary = sbuf(DType::bf16, 128, 0, 2), moving = sbuf(DType::bf16, 128, 1024, 8);
  const auto half_words = pattern(Space::psum, DType::bf16, 0, 2, 6, {{1, 2}});  // bytes 6-9: words 1 and 2
  const auto column = pattern(Space::psum, DType::f32, 0, 2, 4, {{1, 1}});       // word 1
  const auto strided = pattern(Space::psum, DType::f32, 0, 2, 4, {{2, 3}});      // words 1, 3, 5
  const auto source = sbuf(DType::f32, 2, 4096, 3);
  TensorReduce reduce;
  reduce.dst = column;
  reduce.src = source;
  TensorScalar scalar;
  scalar.dst = strided;
  scalar.src = source;
  struct Case {
    Opcode opcode;
    Operands operands;
    std::vector<int> words;
  };
  Activation activation;
  activation.dst = strided;
  activation.src = source;
  const std::vector<Case> cases = {
      {Opcode::memset, Memset{half_words, 0.0F}, {1, 2}},
      {Opcode::tensor_copy, Unary{strided, source}, {1, 3, 5}},
      {Opcode::reciprocal, Unary{strided, source}, {1, 3, 5}},
      {Opcode::tensor_scalar, scalar, {1, 3, 5}},
      {Opcode::tensor_tensor, TensorTensor{strided, source, source, AluOp::add}, {1, 3, 5}},
      {Opcode::tensor_reduce, reduce, {1}},
      {Opcode::activation, activation, {1, 3, 5}},
      {Opcode::read_accumulator, Destination{column}, {1}},
  };
  for (const Case& c : cases) {
    CAPTURE(info(c.opcode).mnemonic);
    State s(small_program());
    fill(s, stationary, ones);
    fill(s, moving, ones);
    fill(s, source, ones);
    load(s, stationary);
    matmul(s, psum(2, 0, 8), moving, false);
    run(s, c.opcode, c.operands, info(c.opcode).order_v2.front());
    matmul(s, psum(2, 0, 8), moving, true);
    std::vector<float> expected(8, 256);
    for (const int w : c.words) expected[static_cast<std::size_t>(w)] = 128;
    CHECK(row(s, psum(2, 0, 8), 1) == expected);
  }
}

TEST_CASE("a moving tile of (128, 4, 32) gives the flattened product in a (64, 4, 32) destination") {
  Random r(23);
  State s(small_program());
  const auto stationary = sbuf(DType::f32, 128, 0, 64);
  const auto flat = sbuf(DType::f32, 128, 1024, 128);
  const auto moving = pattern(Space::sbuf, DType::f32, 0, 128, 1024, {{32, 4}, {1, 32}});
  fill_random(s, stationary, r, false);
  fill_random(s, flat, r, false);
  load(s, stationary);
  matmul(s, psum(64, 0, 128), flat, false);
  const auto dst = pattern(Space::psum, DType::f32, 0, 64, 2048, {{40, 4}, {1, 32}});
  matmul(s, dst, moving, false);
  for (int lane = 0; lane < 64; ++lane) {
    for (std::int64_t i = 0; i < 128; ++i) {
      REQUIRE(bits(s, dst, lane, i) == bits(s, psum(64, 0, 128), lane, i));
    }
  }
}

TEST_CASE("a word that the destination visits twice is added to twice") {
  State s(small_program());
  const auto stationary = sbuf(DType::bf16, 128, 0, 1), moving = sbuf(DType::bf16, 128, 1024, 4);
  fill(s, stationary, ones);
  fill(s, moving, [](int, std::int64_t i) { return static_cast<float>(i + 1); });
  load(s, stationary);
  const auto once = pattern(Space::psum, DType::f32, 0, 1, 0, {{0, 4}});
  matmul(s, once, moving, false);
  CHECK(value(s, once, 0, 0) == 512);
  matmul(s, once, moving, true);
  CHECK(value(s, once, 0, 0) == 512 + 128 + 256 + 384 + 512);
}

TEST_CASE("tf32 operands lose their low 13 bits, f32 ones keep them") {
  State s(small_program());
  const std::uint32_t full = 0x3F801FFF;  // 1 + 2^-10 - 2^-23
  const auto a = sbuf(DType::f32, 1, 0, 1), b = sbuf(DType::f32, 1, 64, 1);
  set_bits(s, a, 0, 0, full);
  fill(s, b, ones);
  load(s, sbuf(DType::tf32, 1, 0, 1));
  matmul(s, psum(1, 0, 1), b, false);
  CHECK(bits(s, psum(1, 0, 1), 0, 0) == 0x3F800000);
  load(s, a);
  matmul(s, psum(1, 0, 1), b, false);
  CHECK(bits(s, psum(1, 0, 1), 0, 0) == full);
}

TEST_CASE("an infinity meets a zero as NaN, in its row of the stationary operand only") {
  // Transpose by an identity matrix (datasheet A.1): the Inf arrives as Inf, the rest of its row is NaN.
  State s(small_program());
  const auto data = sbuf(DType::f32, 4, 0, 4), identity = sbuf(DType::f32, 4, 64, 4);
  const float inf = std::numeric_limits<float>::infinity();
  fill(s, data,
       [&](int p, std::int64_t i) { return p == 1 && i == 2 ? inf : static_cast<float>(p * 4 + i); });
  fill(s, identity, [](int p, std::int64_t i) { return p == i ? 1.0F : 0.0F; });
  load(s, data);
  matmul(s, psum(4, 0, 4), identity, false);
  for (int m = 0; m < 4; ++m) {
    for (int n = 0; n < 4; ++n) {
      const std::uint32_t found = bits(s, psum(4, 0, 4), m, n);
      if (m == 2 && n != 1) {
        CHECK(found == 0x7FC00000);  // the canonical NaN, whatever the host makes
      } else {
        CHECK(from_bits(DType::f32, found) == (m == 2 ? inf : static_cast<float>(n * 4 + m)));
      }
    }
  }
}

TEST_CASE("infinities of both signs accumulate to the canonical NaN, whatever the host makes") {
  State s(small_program());
  const auto up = sbuf(DType::f32, 1, 0, 1), down = sbuf(DType::f32, 1, 64, 8),
             one = sbuf(DType::f32, 1, 128, 8);
  const float inf = std::numeric_limits<float>::infinity();
  fill(s, up, [=](int, std::int64_t) { return inf; });
  fill(s, down, [](int, std::int64_t) { return -1.0F; });
  fill(s, one, ones);
  load(s, up);
  matmul(s, psum(1, 0, 8), one, false);
  CHECK(row(s, psum(1, 0, 8)) == std::vector<float>(8, inf));
  matmul(s, psum(1, 0, 8), down, true);
  for (std::int64_t i = 0; i < 8; ++i) CHECK(bits(s, psum(1, 0, 8), 0, i) == 0x7FC00000);
}

TEST_CASE("shapes and types that do not fit the stationary operand are refused with what was expected") {
  State s(small_program());
  const auto dst = psum(64, 0, 32), moving = sbuf(DType::bf16, 128, 0, 32);
  CHECK_THROWS_WITH_AS(matmul(s, dst, moving, false), "matmul: no load_stationary has run before it", Fault);
  load(s, sbuf(DType::bf16, 128, 1024, 64));
  CHECK_THROWS_WITH_AS(matmul(s, psum(32, 0, 32), moving, false),
                       "matmul: dst has 32 partitions, the stationary operand has 64 columns (m)", Fault);
  CHECK_THROWS_WITH_AS(matmul(s, dst, sbuf(DType::bf16, 64, 0, 32), false),
                       "matmul: moving has 64 partitions, the stationary operand has 128 (k)", Fault);
  CHECK_THROWS_WITH_AS(matmul(s, psum(64, 0, 31), moving, false),
                       "matmul: dst has 31 elements per partition, moving has 32", Fault);
  CHECK_THROWS_WITH_AS(
      matmul(s, dst, sbuf(DType::f32, 128, 0, 32), false),
      "matmul: moving is f32 and the stationary operand bf16; f32 and tf32 pair only with each other", Fault);
  CHECK_THROWS_AS(matmul(s, sbuf(DType::f32, 64, 0, 32), moving, false), Fault);
  CHECK_THROWS_AS(load(s, sbuf(DType::i8, 128, 0, 64)), Fault);
  CHECK_THROWS_AS(load(s, sbuf(DType::bf16, 128, 0, 129)), Fault);
}
