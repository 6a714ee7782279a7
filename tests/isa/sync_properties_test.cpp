// Automatic synchronisation over many inputs: exact footprints, ordered accesses, linear time.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <set>

#include "isa/builder.h"
#include "isa/place.h"
#include "isa/sync.h"
#include "isa/sync_footprint.h"
#include "tests/support/happens_before.h"
#include "tests/support/random_program.h"

using namespace ncemu;

TEST_CASE("a footprint is never smaller than the pattern, and exact up to the limit of runs") {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    AccessPattern p;
    p.dtype = round % 2 == 0 ? DType::f32 : DType::u8;
    p.offset = 20000;
    std::int64_t elements = 1;
    for (Dim& d : p.dims) {
      d.count = static_cast<std::uint16_t>(1 + random() % 7);
      d.step = static_cast<std::int16_t>(static_cast<int>(random() % 41) - 20);
      elements *= d.count;
    }
    std::vector<bool> truth(40000), found(40000);
    const std::int64_t size = size_of(p.dtype);
    for (std::int64_t i = 0; i < elements; ++i) {
      std::int64_t rest = i, at = p.offset;
      for (const Dim& d : p.dims) {
        at += rest % d.count * d.step * size;
        rest /= d.count;
      }
      for (std::int64_t b = 0; b < size; ++b) truth[static_cast<std::size_t>(at + b)] = true;
    }
    const detail::Runs runs = autosync::normalise(detail::runs(p));
    std::int64_t n = 0;
    auto mark = [&](std::int64_t at, std::int64_t length) {
      ++n;
      for (std::int64_t b = 0; b < length; ++b) found[static_cast<std::size_t>(at + b)] = true;
    };
    detail::walk(runs, runs.rank, runs.offset, mark);
    REQUIRE(n <= autosync::run_limit);
    bool covered = true;
    for (std::size_t i = 0; i < truth.size(); ++i) covered = covered && (found[i] || !truth[i]);
    REQUIRE(covered);
    if (elements <= autosync::run_limit) REQUIRE(found == truth);
  }
}

TEST_CASE("random straight-line programs: no legal timing exchanges two accesses in conflict") {
  test::RandomProgramOptions options;
  options.loops = options.blocks = options.registers = false;
  std::size_t removed = 0, noticed = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    options.instructions = 10 + static_cast<int>(seed % 30);
    const Program text = test::random_program(seed, options);
    Program program = text;
    synchronise(program);
    const auto found = test::unordered_accesses(text, program);
    for (const std::string& pair : found) FAIL_CHECK(pair);
    REQUIRE(found.empty());
    if (seed % 7 != 0) continue;
    // The check can fail, and next to no wait is superfluous: without any one of them it does.
    for (const Engine e : all_engines) {
      for (std::size_t i = 0; i < program.stream(e).size(); ++i) {
        if (!program.stream(e)[i].wait.present()) continue;
        Program broken = program;
        broken.stream(e)[i].wait = {};
        ++removed;
        noticed += !test::unordered_accesses(text, broken).empty();
      }
    }
  }
  MESSAGE(noticed, " of ", removed, " removed waits are noticed");
  CHECK(removed > 300);
  CHECK(noticed * 10 >= removed * 9);
}

TEST_CASE("random programs use every instruction of their generation that has data, and every mode of them") {
  for (const std::string_view machine : {"trn1", "trn2"}) {
    CAPTURE(machine);
    test::RandomProgramOptions options;
    options.target = test::small_target(machine);
    std::set<Opcode> used;
    int gathers = 0, scatters = 0, skips = 0, added = 0, at_run_time = 0, hardware = 0, tiles = 0,
        double_rows = 0, transposed = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const Program program = test::random_program(seed, options);
      for (const Engine e : all_engines) {
        for (const Instruction& i : program.stream(e)) {
          used.insert(i.opcode);
          if (const auto* copy = std::get_if<DmaCopy>(&i.operands)) {
            const bool index = !std::holds_alternative<std::monostate>(copy->index);
            const auto* to = std::get_if<HbmPattern>(&copy->dst);
            const auto* from = std::get_if<HbmPattern>(&copy->src);
            gathers += index && from != nullptr;
            scatters += index && to != nullptr;
            skips += copy->bounds == Bounds::skip;
            added += copy->accumulate;
            at_run_time +=
                (to != nullptr && to->index.present()) || (from != nullptr && from->index.present());
            hardware += copy->mode == DgeMode::hardware;
          }
          if (const auto* matmul = std::get_if<Matmul>(&i.operands)) {
            tiles += matmul->tile_size != whole_array;
            double_rows += matmul->double_row;
            transposed += matmul->transpose;
          }
        }
      }
    }
    for (const InstructionInfo& row : all_instructions()) {
      const int generation = options.target.generation;
      if (row.is_control() || row.engines(generation).empty()) continue;
      CAPTURE(row.mnemonic);
      CHECK(used.contains(row.opcode));
    }
    for (const int n : {gathers, scatters, skips, added, at_run_time, tiles, transposed}) CHECK(n > 10);
    CHECK((machine == "trn1" || hardware > 10));
    CHECK((machine == "trn1" || double_rows > 10));
  }
}

TEST_CASE("a million instructions are synchronised in linear time") {
  const auto seconds = [](int n) {
    Builder b(*find_target("trn1"));
    const View out = b.tensor("out", TensorKind::output, DType::bf16, {128, 512});
    const View in = b.tensor("in", TensorKind::input, DType::bf16, {128, 512});
    for (int i = 0; i < n / 5; ++i) {
      b.open_scope("body");
      const View a = b.sbuf("a", DType::bf16, {128, 512}, 3);
      const View acc = b.psum("acc", DType::f32, {128, 512}, 2);
      const View o = b.sbuf("o", DType::bf16, {128, 512}, 2);
      b.dma_copy(a, in);
      b.emit(Opcode::load_stationary, LoadStationary{a.slice(1, 0, 128).pattern()});
      Matmul m;
      m.dst = acc.pattern();
      m.moving = a.pattern();
      b.emit(Opcode::matmul, m);
      b.emit(Opcode::tensor_copy, Unary{o.pattern(), acc.pattern()});
      b.dma_copy(out, o);
      b.close_scope();
    }
    Diagnostics diagnostics;
    place(b.program(), diagnostics);
    const auto begin = std::chrono::steady_clock::now();
    synchronise(b.program());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const double small = std::max(seconds(10'000), 0.001);
  const double large = seconds(1'000'000);
  MESSAGE(static_cast<int>(1e6 / large), " instructions a second");
  CHECK(large < 100 * small * 4);
  CHECK(large < 20);  // loosely: debug builds and busy machines
}
