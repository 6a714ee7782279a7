// The tensor engine beside plain products: transposing, two rows of fp8, tiles of the array
// (datasheet 6.1, 6.2).

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

void load(State& s, const LoadStationary& f) { run(s, Opcode::load_stationary, f, Engine::tensor); }
void multiply(State& s, const Matmul& f) { run(s, Opcode::matmul, f, Engine::tensor); }

AccessPattern at_partition(AccessPattern p, int partition) {
  p.partition = static_cast<std::uint8_t>(partition);
  return p;
}
AccessPattern moved(DType dtype, int partitions, std::int64_t offset, int count) {
  return pattern(Space::psum, dtype, 0, partitions, offset, {{1, count}});
}

void fill_identity(State& s, const AccessPattern& p) {
  fill(s, p, [](int lane, std::int64_t i) { return lane == i ? 1.0F : 0.0F; });
}

// sum over lanes ascending of fma(a[lane][m], b[lane][n]), from 0.
float product(State& s, const AccessPattern& a, const AccessPattern& b, std::int64_t m, std::int64_t n) {
  float sum = 0;
  for (int k = 0; k < a.partitions; ++k) sum = std::fma(value(s, a, k, m), value(s, b, k, n), sum);
  return sum;
}

}  // namespace

TEST_CASE("on v3 a transposing matmul with an identity moves every bit, whichever operand is the identity") {
  Random r(81);
  for (const DType type :
       {DType::bf16, DType::f16, DType::f32, DType::tf32, DType::f8e4m3, DType::f8e5m2, DType::f8e3m4}) {
    for (const auto& [k, other] : {std::pair{128, 128}, {127, 5}, {1, 128}, {32, 127}}) {
      CAPTURE(name(type));
      CAPTURE(k);
      State s(small_program(3));
      const auto data = sbuf(type, k, 0, other), identity = sbuf(type, k, 4096, k);
      fill_random(s, data, r, true);  // NaN payloads, denormals
      fill_identity(s, identity);
      const DType out = size_of(type) == 1 ? DType::u16 : type;
      const auto transposed = moved(out, other, 0, k), copied = moved(out, k, 2048, other);
      load(s, {data, true});
      multiply(s, {transposed, identity, false, true});
      load(s, {identity, true});
      multiply(s, {copied, data, false, true});
      std::size_t wrong = 0;
      for (int p = 0; p < k; ++p) {
        for (int i = 0; i < other; ++i) {
          wrong += bits(s, transposed, i, p) != bits(s, data, p, i);
          wrong += bits(s, copied, p, i) != bits(s, data, p, i);
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE(
    "a transposing matmul takes any 0/1 selection, leaves 0 where a column has none, and refuses anything "
    "else") {
  State s(small_program(3));
  const auto data = sbuf(DType::bf16, 3, 0, 2), select = sbuf(DType::bf16, 3, 64, 4);
  fill(s, data, [](int p, std::int64_t i) { return static_cast<float>(10 * p + static_cast<int>(i) + 2); });
  const int rows[] = {2, 0, -1, 2};
  fill(s, select, [&](int p, std::int64_t i) { return rows[i] == p ? 1.0F : 0.0F; });
  const auto out = moved(DType::bf16, 2, 0, 4);
  load(s, {data, true});
  multiply(s, {out, select, false, true});
  CHECK(row(s, out, 0) == std::vector<float>{22, 2, 0, 22});
  CHECK(row(s, out, 1) == std::vector<float>{23, 3, 0, 23});
  fill(s, select, [](int, std::int64_t) { return 1.0F; });
  CHECK_THROWS_AS(multiply(s, {out, select, false, true}), Fault);
  fill(s, select, [](int p, std::int64_t i) { return p == i ? 2.0F : 0.0F; });
  CHECK_THROWS_AS(multiply(s, {out, select, false, true}), Fault);
}

TEST_CASE("on v2 the flag is a label: an Inf beside zeros spreads as NaN") {
  for (const bool flag : {false, true}) {
    State s(small_program(2));
    const auto data = sbuf(DType::f32, 4, 0, 4), identity = sbuf(DType::f32, 4, 64, 4);
    const float inf = std::numeric_limits<float>::infinity();
    fill(s, data,
         [&](int p, std::int64_t i) { return p == 1 && i == 2 ? inf : static_cast<float>(p * 4 + i); });
    fill_identity(s, identity);
    load(s, {data, flag});
    multiply(s, {psum(4, 0, 4), identity, false, flag});
    for (int m = 0; m < 4; ++m) {
      for (int n = 0; n < 4; ++n) {
        const float found = value(s, psum(4, 0, 4), m, n);
        if (m == 2) {
          CHECK((n == 1 ? found == inf : std::isnan(found)));
        } else {
          CHECK(found == static_cast<float>(n * 4 + m));
        }
      }
    }
  }
}

TEST_CASE("double_row sums row 0, then row 1 of each lane, for all pairs of fp8 types") {
  Random r(82);
  for (const DType left : {DType::f8e4m3, DType::f8e5m2}) {
    for (const DType right : {DType::f8e4m3, DType::f8e5m2}) {
      for (const auto& [k, m, n] : {std::tuple{128, 128, 512}, {1, 1, 1}, {127, 5, 33}}) {
        State s(small_program(3));
        // Rows apart, so that the slowest dimension is a stride of its own.
        const auto a = pattern(Space::sbuf, left, 0, k, 0, {{m + 3, 2}, {1, m}});
        const auto b = pattern(Space::sbuf, right, 0, k, 4096, {{n + 1, 2}, {1, n}});
        fill_random(s, a, r, false);
        fill_random(s, b, r, false);
        load(s, {a, false, false, true});
        multiply(s, {.dst = psum(m, 0, n), .moving = b, .double_row = true});
        std::size_t wrong = 0;
        for (int i = 0; i < m; ++i) {
          for (int j = 0; j < n; j += 7) {
            float sum = 0;
            for (int lane = 0; lane < k; ++lane) {
              for (int row_of = 0; row_of < 2; ++row_of)
                sum = std::fma(value(s, a, lane, row_of * m + i), value(s, b, lane, row_of * n + j), sum);
            }
            const float found = value(s, psum(m, 0, n), i, j);
            wrong += !(found == sum || (std::isnan(found) && std::isnan(sum)));
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("a matmul and its load_stationary agree about double_row") {
  State s(small_program(3));
  const auto a = sbuf(DType::f8e4m3, 4, 0, 8);
  load(s, {a});
  CHECK_THROWS_AS(multiply(s, {.dst = psum(8, 0, 4), .moving = a, .double_row = true}), Fault);
}

TEST_CASE("bf16 with fp8 and other mixtures multiply by the values of both types") {
  Random r(83);
  for (const auto& [left, right] : {std::pair{DType::bf16, DType::f8e4m3},
                                    {DType::f8e5m2, DType::f16},
                                    {DType::f8e3m4, DType::f8e4m3},
                                    {DType::f32, DType::tf32}}) {
    State s(small_program(2));
    const auto a = sbuf(left, 64, 0, 16), b = sbuf(right, 64, 4096, 24);
    fill(s, a, [&](int, std::int64_t) { return static_cast<float>(pick(r, -8, 8)) / 4; });
    fill(s, b, [&](int, std::int64_t) { return static_cast<float>(pick(r, -8, 8)) / 4; });
    load(s, {a});
    multiply(s, {psum(16, 0, 24), b});
    for (int m = 0; m < 16; ++m) {
      for (int n = 0; n < 24; ++n) CHECK(value(s, psum(16, 0, 24), m, n) == product(s, a, b, m, n));
    }
  }
}

TEST_CASE("tiles hold their own weights and sums: four products of 64 x 64 from one load each") {
  Random r(84);
  for (const int generation : {2, 3}) {
    State s(small_program(generation));
    std::array<AccessPattern, 4> a, b, c;
    for (int t = 0; t < 4; ++t) {
      const int row_at = 64 * (t / 2), column_at = 64 * (t % 2);
      const auto u = static_cast<std::size_t>(t);
      a[u] = at_partition(sbuf(DType::bf16, t == 3 ? 40 : 64, 1024 * t, t == 1 ? 33 : 64), row_at);
      b[u] = at_partition(sbuf(DType::bf16, a[u].partitions, 8192 + 1024 * t, 100), row_at);
      c[u] = at_partition(psum(static_cast<int>(a[u].elements()), 2048 * (t / 2), 100), column_at);
      fill_random(s, a[u], r, false);
      fill(s, b[u], [&](int, std::int64_t) { return static_cast<float>(pick(r, -9, 9)); });
      fill(s, a[u], [&](int, std::int64_t) { return static_cast<float>(pick(r, -9, 9)); });
    }
    const auto position = [](std::size_t t) {
      return ArrayPair{static_cast<std::uint8_t>(64 * (t / 2)), static_cast<std::uint8_t>(64 * (t % 2))};
    };
    for (std::size_t t = 0; t < 4; ++t)
      load(s, {.src = a[t], .tile_position = position(t), .tile_size = {64, 64}});
    for (std::size_t t = 0; t < 4; ++t)
      multiply(s, {.dst = c[t], .moving = b[t], .tile_position = position(t), .tile_size = {64, 64}});
    for (std::size_t t = 0; t < 4; ++t) {
      std::size_t wrong = 0;
      for (int m = 0; m < c[t].partitions; ++m) {
        for (int n = 0; n < 100; ++n) wrong += value(s, c[t], m, n) != product(s, a[t], b[t], m, n);
      }
      CHECK(wrong == 0);
    }
    // A load of the whole array takes the place of all of them.
    load(s, {sbuf(DType::bf16, 128, 0, 128)});
    CHECK_THROWS_WITH_AS(
        multiply(s, {.dst = c[1], .moving = b[1], .tile_position = {0, 64}, .tile_size = {64, 64}}),
        "matmul: no load_stationary into the tile of 64 x 64 at [0, 64] has run before it", Fault);
  }
}

TEST_CASE("row tiles that accumulate into the same words add their own sums") {
  State s(small_program(3));
  const auto low = sbuf(DType::bf16, 32, 0, 8), high = at_partition(low, 96);
  for (const auto& p : {low, high}) fill(s, p, [](int, std::int64_t) { return 1.0F; });
  load(s, {.src = low, .tile_position = {0, 0}, .tile_size = {32, 128}});
  load(s, {.src = high, .tile_position = {96, 0}, .tile_size = {32, 128}});
  multiply(s, {.dst = psum(8, 0, 8), .moving = low, .tile_position = {0, 0}, .tile_size = {32, 128}});
  CHECK(row(s, psum(8, 0, 8)) == std::vector<float>(8, 32));
  multiply(s, {.dst = psum(8, 0, 8),
               .moving = high,
               .accumulate = true,
               .tile_position = {96, 0},
               .tile_size = {32, 128}});
  CHECK(row(s, psum(8, 0, 8), 7) == std::vector<float>(8, 64));
}

TEST_CASE(
    "going on with a group after a newer one was opened in its bank is reported, other orders are not") {
  State s(small_program(2));
  std::vector<DataEvent::Kind> events;
  s.on_event = [&](const DataEvent& e) { events.push_back(e.kind); };
  const auto a = sbuf(DType::bf16, 8, 0, 4), b = sbuf(DType::bf16, 8, 64, 8);
  fill(s, a, [](int, std::int64_t) { return 1.0F; });
  fill(s, b, [](int, std::int64_t) { return 1.0F; });
  load(s, {a});
  const auto left = psum(4, 0, 8), right = psum(4, 1024, 8), other_bank = psum(4, 2048, 8);
  multiply(s, {left, b});
  multiply(s, {left, b, true});
  multiply(s, {right, b});  // the first group is complete
  multiply(s, {right, b, true});
  multiply(s, {other_bank, b});
  multiply(s, {right, b, true});
  CHECK(events.empty());
  multiply(s, {left, b, true});
  CHECK(events == std::vector{DataEvent::Kind::bank_shared});
  CHECK(value(s, left, 0, 0) == 24);  // and adds all the same
}
