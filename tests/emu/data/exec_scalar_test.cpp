#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

Activation activation(const AccessPattern& dst, const AccessPattern& src,
                      ActivationFunction func = ActivationFunction::copy) {
  Activation f;
  f.dst = dst;
  f.src = src;
  f.func = func;
  return f;
}
void run_activation(State& s, const Activation& f) { run(s, Opcode::activation, f, Engine::scalar); }
void load_table(State& s, TableSet set) { run(s, Opcode::act_table_load, TableLoad{set}, Engine::scalar); }
std::vector<float> accumulators(State& s, int partitions) {
  const auto dst = sbuf(DType::f32, partitions, 95 * 1024, 1);
  run(s, Opcode::read_accumulator, Destination{dst}, Engine::scalar);
  std::vector<float> all;
  for (int lane = 0; lane < partitions; ++lane) all.push_back(value(s, dst, lane, 0));
  return all;
}

// The functions that are exact, as C++ writes them.
float plain(ActivationFunction func, float x) {
  switch (func) {
    case ActivationFunction::copy: return x;
    case ActivationFunction::square: return x * x;
    case ActivationFunction::abs: return std::fabs(x);
    default: FAIL("not in this test"); return 0;
  }
}

}  // namespace

TEST_CASE("activation is func(src * scale + bias) with a rounding after each, for all types and patterns") {
  Random r(31);
  for (int round = 0; round < 150; ++round) {
    State s(small_program(pick_of(r, {2, 3})));
    const RandomLanes lanes = random_lanes(r);
    const bool from_psum = pick(r, 0, 1);
    const int n = from_psum ? pick_of(r, {1, 127, 128, 129, 300}) : pick_of(r, awkward_sizes);
    const auto src = random_pattern(r, from_psum ? Space::psum : Space::sbuf, pick_of(r, every_type),
                                    lanes.start[1], lanes.partitions, random_counts(r, n), 64, true);
    const auto dst = random_pattern(r, Space::sbuf, pick_of(r, every_type), lanes.start[0], lanes.partitions,
                                    random_counts(r, n), pick(r, 0, 1) ? 64 : 48 * 1024, false);
    const auto scales = sbuf(DType::f32, lanes.partitions, 94 * 1024, 1);
    const auto biases =
        sbuf(pick_of(r, {DType::f32, DType::bf16, DType::f16}), lanes.partitions, 94 * 1024 + 4, 1);
    for (const auto& p : {src, scales, biases}) fill_random(s, p, r, false);
    auto f = activation(
        dst, src,
        pick_of(r, {ActivationFunction::copy, ActivationFunction::square, ActivationFunction::abs}));
    const int scaled = pick(r, 0, 2), biased = pick(r, 0, 2);
    if (scaled == 1) f.scale = 0.37F;
    if (scaled == 2)
      f.scale = PointerOperand{scales.space, scales.dtype, scales.partition, scales.offset, no_place};
    if (biased == 1) f.bias = -1.1F;
    if (biased == 2)
      f.bias = PointerOperand{biases.space, biases.dtype, biases.partition, biases.offset, no_place};
    f.reduce_cmd = pick_of(
        r, {ReduceCommand::idle, ReduceCommand::reset, ReduceCommand::reduce, ReduceCommand::reset_reduce});
    std::array<float, 128> sums{};
    for (float& a : s.scalar_accumulators) a = static_cast<float>(pick(r, -5, 5));
    sums = s.scalar_accumulators;

    Plain p(s);
    run_activation(s, f);
    const bool resets = f.reduce_cmd == ReduceCommand::reset || f.reduce_cmd == ReduceCommand::reset_reduce;
    const bool reduces = f.reduce_cmd == ReduceCommand::reduce || f.reduce_cmd == ReduceCommand::reset_reduce;
    for (int lane = 0; lane < lanes.partitions; ++lane) {
      float& sum = sums[static_cast<std::size_t>(dst.partition + lane)];
      if (resets) sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        float x = p.value(src, lane, i);
        if (scaled) x *= scaled == 1 ? 0.37F : p.value(scales, lane, 0);
        if (biased) x += biased == 1 ? -1.1F : p.value(biases, lane, 0);
        const float y = plain(f.func, x);
        if (reduces) sum += y;
        p.set(dst, lane, i, y);
      }
    }
    CHECK_MESSAGE(p.equals(s), "round ", round);
    for (std::size_t lane = 0; lane < 128; ++lane) {
      const float found = s.scalar_accumulators[lane];
      REQUIRE((found == sums[lane] || (std::isnan(found) && std::isnan(sums[lane]))));
    }
  }
}

TEST_CASE("multiply and add are two roundings, not one") {
  State s(small_program(3));
  const auto p = sbuf(DType::f32, 1, 0, 1);
  const float x = 1.0F + 0x1p-12F;
  fill(s, p, [=](int, std::int64_t) { return x; });
  auto f = activation(p, p);
  f.scale = x;
  f.bias = -(1.0F + 0x1p-11F);
  run_activation(s, f);
  CHECK(value(s, p, 0, 0) == 0);  // fused it would be 2^-24
}

TEST_CASE("an activation without accumulation leaves the accumulators of the one before alone") {
  State s(small_program());
  const auto a = sbuf(DType::f32, 128, 0, 10), b = sbuf(DType::f32, 128, 64, 10),
             out = sbuf(DType::f32, 128, 128, 10);
  fill(s, a, [](int lane, std::int64_t i) { return static_cast<float>(lane + i); });
  fill(s, b, [](int, std::int64_t) { return 1000.0F; });
  auto first = activation(out, a);
  first.reduce_cmd = ReduceCommand::reset_reduce;
  run_activation(s, first);
  run_activation(s, activation(out, b));
  auto last = activation(out, a);
  last.reduce_cmd = ReduceCommand::reduce;
  run_activation(s, last);
  const auto sums = accumulators(s, 128);
  for (int lane = 0; lane < 128; ++lane) {
    REQUIRE(sums[static_cast<std::size_t>(lane)] == static_cast<float>(2 * (10 * lane + 45)));
  }
}

TEST_CASE("the accumulator takes the value before the output conversion") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 1, 0, 3), out = sbuf(DType::i8, 1, 64, 3);
  fill(s, src, [](int, std::int64_t) { return 200.25F; });
  auto f = activation(out, src);
  f.reduce_cmd = ReduceCommand::reset_reduce;
  run_activation(s, f);
  CHECK(value(s, out, 0, 2) == 127);
  CHECK(accumulators(s, 1).front() == 600.75F);
  const auto rounded = sbuf(DType::bf16, 1, 128, 1);
  run(s, Opcode::read_accumulator, Destination{rounded}, Engine::scalar);
  CHECK(value(s, rounded, 0, 0) == 600);  // bf16 has steps of 4 there
  CHECK_THROWS_WITH_AS(run(s, Opcode::read_accumulator, Destination{src}, Engine::scalar),
                       "read_accumulator: dst has 3 elements per partition, expected 1", Fault);
}

TEST_CASE("reset alone zeroes the accumulators and still processes the data") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 4), out = sbuf(DType::f32, 128, 64, 4);
  fill(s, src, [](int, std::int64_t) { return 3.0F; });
  s.scalar_accumulators.fill(7);
  auto f = activation(out, src, ActivationFunction::square);
  f.reduce_cmd = ReduceCommand::reset;
  run_activation(s, f);
  CHECK(row(s, out, 127) == std::vector<float>(4, 9));
  CHECK(accumulators(s, 128) == std::vector<float>(128, 0));
}

TEST_CASE("accumulators belong to partitions: two halves are read together") {
  State s(small_program());
  const auto src = sbuf(DType::f32, 128, 0, 4);
  fill(s, src, [](int lane, std::int64_t) { return static_cast<float>(lane); });
  for (const int start : {0, 64}) {
    auto half = pattern(Space::sbuf, DType::f32, start, 64, 0, {{1, 4}});
    auto f = activation(half, half);
    f.reduce_cmd = ReduceCommand::reset_reduce;
    run_activation(s, f);
  }
  const auto sums = accumulators(s, 128);
  for (int lane = 0; lane < 128; ++lane)
    REQUIRE(sums[static_cast<std::size_t>(lane)] == static_cast<float>(4 * lane));
}

TEST_CASE("exp over slices of a reshaped tile is exp everywhere, for every batch count") {
  State s(small_program());
  load_table(s, TableSet::exp_log);
  for (int batches = 1; batches <= 20; ++batches) {
    CAPTURE(batches);
    const auto all = sbuf(DType::f32, 128, 0, batches * 48);
    fill(s, all,
         [](int lane, std::int64_t i) { return static_cast<float>((lane * 7 + i) % 97 - 48) / 8.0F; });
    const auto dst_all = sbuf(DType::f32, 128, 32 * 1024, batches * 48);
    for (int batch = 0; batch < batches; ++batch) {  // [p, batch, 6, 8], one batch at a time, columns 2..8
      auto slice = pattern(Space::sbuf, DType::f32, 0, 128, (batch * 48 + 2) * 4, {{8, 6}, {1, 6}});
      auto out = slice;
      out.offset += 32 * 1024;
      run_activation(s, activation(out, slice, ActivationFunction::exp));
    }
    for (const int lane : {0, 64, 127}) {
      for (std::int64_t i = 0; i < batches * 48; ++i) {
        if (i % 8 < 2) continue;
        const double expected = std::exp(static_cast<double>(value(s, all, lane, i)));
        REQUIRE(std::fabs(value(s, dst_all, lane, i) - expected) <= expected * 0x1p-23);
      }
    }
  }
}

TEST_CASE("an activation needs the table set of its function; copy and its like need none") {
  State s(small_program());
  const auto p = sbuf(DType::f32, 128, 0, 8);
  fill(s, p, [](int, std::int64_t) { return 1.0F; });
  run_activation(s, activation(p, p, ActivationFunction::relu));
  CHECK_THROWS_WITH_AS(run_activation(s, activation(p, p, ActivationFunction::exp)),
                       "activation: exp needs table set exp_log, none is loaded (datasheet 6.4.4)", Fault);
  load_table(s, TableSet::exp_log);
  run_activation(s, activation(p, p, ActivationFunction::log));
  load_table(s, TableSet::gelu);
  run_activation(s, activation(p, p, ActivationFunction::square));
  CHECK_THROWS_WITH_AS(run_activation(s, activation(p, p, ActivationFunction::exp)),
                       "activation: exp needs table set exp_log, gelu is loaded (datasheet 6.4.4)", Fault);
  CHECK_THROWS_AS(load_table(s, TableSet::any), Fault);
}

TEST_CASE("an input outside the valid range of a function is reported once, with its place") {
  State s(small_program());
  std::vector<DataEvent> events;
  s.on_event = [&](const DataEvent& e) { events.push_back(e); };
  const auto p = sbuf(DType::f32, 128, 0, 300);
  fill(s, p, [](int lane, std::int64_t i) { return lane == 70 && i >= 299 ? 0x1p70F : 1.0F; });
  load_table(s, TableSet::exp_log);
  run_activation(s, activation(sbuf(DType::f32, 128, 4096, 300), p, ActivationFunction::log));
  REQUIRE(events.size() == 1);
  CHECK(events[0].kind == DataEvent::Kind::outside_domain);
  CHECK(events[0].partition == 70);
  CHECK(events[0].element == 299);
  CHECK(events[0].value == 0x1p70F);
  run_activation(s, activation(p, p, ActivationFunction::exp));
  CHECK(events.size() == 1);
}

TEST_CASE("load_reduce, which has nothing to load, is refused") {
  State s(small_program());
  const auto p = sbuf(DType::f32, 128, 0, 8);
  auto f = activation(p, p);
  f.reduce_cmd = ReduceCommand::load_reduce;
  CHECK_THROWS_AS(run_activation(s, f), Fault);
}
