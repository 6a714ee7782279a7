#include "isa/sync.h"

#include <doctest/doctest.h>

#include "isa/builder.h"
#include "isa/fault.h"
#include "isa/place.h"

using namespace ncemu;
namespace ss = sync_semaphores;

namespace {

struct Kernel {
  Builder b{*find_target("trn1")};
  View in = b.tensor("in", TensorKind::input, DType::f32, {128, 64});
  View out = b.tensor("out", TensorKind::output, DType::f32, {128, 64});
  View x = b.sbuf("x", DType::f32, {128, 64});
  View y = b.sbuf("y", DType::f32, {128, 64});
  View z = b.sbuf("z", DType::f32, {128, 64});
  View p = b.psum("p", DType::f32, {64, 64});
  View w = b.sbuf("w", DType::bf16, {128, 64});

  void copy(const View& dst, const View& src, Engine e) {
    b.emit(Opcode::tensor_copy, Unary{dst.pattern(), src.pattern()}, e);
  }
  void activation(const View& dst, const View& src) {
    Activation a;
    a.dst = dst.pattern();
    a.src = src.pattern();
    b.emit(Opcode::activation, a);
  }
  SyncReport report;
  Program done(SyncOptions options = {}) {
    options.explain = true;
    Diagnostics diagnostics;
    place(b.program(), diagnostics);
    REQUIRE_FALSE(diagnostics.has_errors());
    report = synchronise(b.program(), options);
    return b.program();
  }
};

Wait at_least(int semaphore, int value) {
  Wait w;
  w.semaphore = static_cast<std::uint8_t>(semaphore);
  w.condition = Comparison::ge;
  w.value = static_cast<std::uint16_t>(value);
  return w;
}
Update plus_one(int semaphore, UpdateWhen when) {
  return {static_cast<std::uint8_t>(semaphore), UpdateOperation::sem_inc, when, 0};
}
constexpr int number(Engine e) { return static_cast<int>(e); }

std::string message(auto&& action) {
  try {
    action();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "no fault";
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::size_t count(const std::vector<Instruction>& stream, Opcode opcode) {
  std::size_t n = 0;
  for (const Instruction& i : stream) n += i.opcode == opcode;
  return n;
}

}  // namespace

TEST_CASE("a reader on another engine waits for the writer's completion") {
  Kernel k;
  k.copy(k.y, k.x, Engine::vector);
  k.activation(k.z, k.y);
  const Program p = k.done();
  CHECK(p.stream(Engine::vector)[0].update ==
        plus_one(ss::complete + number(Engine::vector), UpdateWhen::complete));
  CHECK(p.stream(Engine::scalar)[0].wait == at_least(ss::complete + number(Engine::vector), 1));
  CHECK(p.synchronised);
  CHECK(p.order.empty());
}

TEST_CASE("a writer waits only for the end of reading") {
  Kernel k;
  k.copy(k.y, k.x, Engine::vector);
  k.activation(k.x, k.z);
  const Program p = k.done();
  CHECK(p.stream(Engine::vector)[0].update == plus_one(ss::read + number(Engine::vector), UpdateWhen::read));
  CHECK(p.stream(Engine::scalar)[0].wait == at_least(ss::read + number(Engine::vector), 1));
}

TEST_CASE("an instruction that some wait for at its completion signals nothing else") {
  Kernel k;
  k.copy(k.y, k.x, Engine::vector);
  k.activation(k.x, k.z);            // overwrites what it read
  k.copy(k.z, k.y, Engine::gpsimd);  // reads what it wrote
  const Program p = k.done();
  const int completions = ss::complete + number(Engine::vector);
  CHECK(p.stream(Engine::vector)[0].update == plus_one(completions, UpdateWhen::complete));
  CHECK(p.stream(Engine::scalar)[0].wait == at_least(completions, 1));
}

TEST_CASE("within one engine only a read of what was written needs a wait") {
  SUBCASE("read after write") {
    Kernel k;
    k.copy(k.y, k.x, Engine::vector);
    k.copy(k.z, k.y, Engine::vector);
    const Program p = k.done();
    CHECK(p.stream(Engine::vector)[1].wait == at_least(ss::complete + number(Engine::vector), 1));
  }
  SUBCASE("write after write and write after read") {
    Kernel k;
    k.copy(k.y, k.x, Engine::vector);
    k.copy(k.y, k.z, Engine::vector);
    k.copy(k.z, k.w, Engine::vector);
    k.done();
    CHECK(k.report.waits == 0);
    CHECK(k.report.updates == 0);
  }
}

TEST_CASE("matmuls into one PSUM tile and their weight loads are ordered by the pipeline") {
  Kernel k;
  for (int i = 0; i < 3; ++i) {
    k.b.emit(Opcode::load_stationary, LoadStationary{k.w.pattern()});
    Matmul m;
    m.dst = k.p.pattern();
    m.moving = k.w.pattern();
    m.accumulate = i > 0;
    k.b.emit(Opcode::matmul, m);
  }
  k.done();
  CHECK(k.report.waits == 0);
}

TEST_CASE("a transfer counts to 16, and two transfers of one queue are not ordered without a wait") {
  Kernel k;
  k.b.dma_copy(k.x, k.in, Engine::sync, std::uint8_t{0});
  k.b.dma_copy(k.x, k.in, Engine::sync, std::uint8_t{0});
  const Program p = k.done();
  const int first = ss::dma + ss::dma_per_issuer * number(Engine::sync);
  CHECK(p.stream(Engine::sync)[0].update == plus_one(first, UpdateWhen::complete));
  CHECK(p.stream(Engine::sync)[1].update == plus_one(first + 1, UpdateWhen::complete));
  CHECK(p.stream(Engine::sync)[1].wait == at_least(first, 16));
}

TEST_CASE("before a semaphore of the pool is used again its transfer is waited for, nothing more") {
  Kernel k;
  const int transfers = ss::dma_per_issuer + 1;
  for (int i = 0; i < transfers; ++i) k.b.dma_copy(k.x.slice(1, i, i + 1), k.in.slice(1, i, i + 1));
  const Program p = k.done();
  CHECK(k.report.waits == 1);
  const int first = ss::dma + ss::dma_per_issuer * number(Engine::sync);
  CHECK(p.stream(Engine::sync).back().wait == at_least(first, 16));
  CHECK(p.stream(Engine::sync).back().update.semaphore == first);
  REQUIRE(k.report.records.size() == 1);
  CHECK(k.report.records[0].reason == SyncRecord::Reason::semaphore_reuse);
}

TEST_CASE("a tensor that nobody writes needs no waits") {
  Kernel k;
  k.b.dma_copy(k.x, k.in);
  k.b.dma_copy(k.y, k.in);
  k.done();
  CHECK(k.report.waits == 0);
}

TEST_CASE("a wait that follows from another is not made") {
  Kernel k;
  k.copy(k.y, k.x, Engine::vector);
  k.activation(k.z, k.y);            // scalar knows that vector's copy is complete
  k.copy(k.x, k.z, Engine::gpsimd);  // gpsimd waits for scalar; x was read by vector's copy
  const Program p = k.done();
  CHECK(k.report.waits == 2);
  CHECK(p.stream(Engine::gpsimd)[0].wait.semaphore == ss::complete + number(Engine::scalar));
}

TEST_CASE("an instruction carries the wait for its latest producer, earlier ones go before it") {
  Kernel k;
  k.copy(k.x, k.w, Engine::gpsimd);
  k.copy(k.y, k.w, Engine::vector);
  TensorTensor t;
  t.dst = k.z.pattern();
  t.src0 = k.x.pattern();
  t.src1 = k.y.pattern();
  k.b.emit(Opcode::tensor_tensor, t, Engine::vector);
  const Program p = k.done();
  const auto& vector = p.stream(Engine::vector);
  REQUIRE(vector.size() == 3);
  CHECK(vector[1].opcode == Opcode::event_semaphore);
  CHECK(vector[1].wait == at_least(ss::complete + number(Engine::gpsimd), 1));
  CHECK(vector[2].wait == at_least(ss::complete + number(Engine::vector), 1));
}

TEST_CASE("strided accesses that interleave do not conflict, nor do other partitions") {
  Kernel k;
  const View even = k.x.slice(1, 0, 64, 2), odd = k.x.slice(1, 1, 64, 2);
  k.copy(even, k.y.slice(1, 0, 32), Engine::vector);
  k.activation(k.z.slice(1, 0, 32), odd);
  k.copy(k.x.slice(0, 0, 32), k.w.slice(0, 0, 32), Engine::gpsimd);
  k.b.emit(Opcode::memset, Memset{k.x.slice(0, 32, 64).slice(1, 1, 64, 2).pattern(), 1.0F}, Engine::gpsimd);
  k.done();
  // gpsimd's copy follows vector (WAW) and scalar (WAR); its memset of odd columns in other lanes only
  // scalar.
  CHECK(k.report.waits == 2);
}

TEST_CASE("an operand moved by a register conflicts with its whole tile") {
  Kernel k;
  TileSpec spec;
  spec.name = "array";
  spec.shape = {128, 8};
  spec.array = {4};
  const TileRef array = k.b.tile(spec);
  const std::int64_t last[] = {3}, any[] = {0};
  k.copy(k.b.view(array, last), k.x.slice(1, 0, 8), Engine::vector);
  k.activation(k.y.slice(1, 0, 8), k.b.view(array, any, 0, Register{4}, 1, 0));
  k.done();
  CHECK(k.report.waits == 1);
}

TEST_CASE("a register load waits for its own engine's write and signals through a drain") {
  Kernel k;
  const View cell = k.x.slice(0, 0, 1).slice(1, 0, 1);
  k.copy(k.x, k.y, Engine::vector);
  k.b.emit(Opcode::register_load, RegisterLoad{Register{3}, cell.as(DType::i32).pattern()}, Engine::vector);
  k.copy(k.x, k.z, Engine::gpsimd);
  const Program p = k.done();
  const auto& vector = p.stream(Engine::vector);
  const int completions = ss::complete + number(Engine::vector);
  REQUIRE(vector.size() == 3);
  CHECK(vector[1].wait == at_least(completions, 1));
  CHECK_FALSE(vector[1].update.present());
  CHECK(vector[2].opcode == Opcode::drain);
  CHECK(vector[2].update == plus_one(completions, UpdateWhen::complete));
  CHECK(p.stream(Engine::gpsimd)[0].wait == at_least(completions, 2));
}

TEST_CASE("a loop runs in the streams that have instructions in it and no other") {
  Kernel k;
  k.copy(k.y, k.x, Engine::gpsimd);
  k.b.open_loop(0, 5, 1);
  k.copy(k.y, k.x, Engine::vector);
  k.activation(k.z, k.y);
  k.b.close_loop();
  k.b.dma_copy(k.out, k.z);
  const Program p = k.done();
  for (const Engine e : {Engine::vector, Engine::scalar}) {
    CHECK(count(p.stream(e), Opcode::register_move) == 1);
    CHECK(count(p.stream(e), Opcode::register_alu) == 1);
    CHECK(count(p.stream(e), Opcode::compare_branch) == 1);
  }
  CHECK(count(p.stream(Engine::gpsimd), Opcode::compare_branch) == 0);
  CHECK(k.report.joins == 2);  // before the loop, and at the end of each iteration
  // Nothing of the loop tells gpsimd that it is over but a release.
  const auto& gpsimd = p.stream(Engine::gpsimd);
  REQUIRE(gpsimd.size() >= 2);
  const Instruction& last_before_store = gpsimd[gpsimd.size() - 2];
  CHECK(last_before_store.opcode == Opcode::event_semaphore);
  CHECK(last_before_store.wait == at_least(ss::join + number(Engine::gpsimd), 1));
}

TEST_CASE("a loop is tested before its body unless it surely runs") {
  const struct {
    IntOperand start, stop;
    std::size_t branches;
  } rows[] = {{0, 1, 1}, {0, 0, 2}, {3, 2, 2}, {0, Register{5}, 2}, {Register{5}, 4, 2}};
  for (const auto& row : rows) {
    Kernel k;
    k.b.open_loop(row.start, row.stop, 1);
    k.copy(k.y, k.x, Engine::vector);
    k.b.close_loop();
    const Program p = k.done();
    CHECK(count(p.stream(Engine::vector), Opcode::compare_branch) == row.branches);
    if (row.branches == 1) continue;
    const auto& test = std::get<CompareBranch>(p.stream(Engine::vector)[1].operands);
    CHECK(test.op == Comparison::ge);
    CHECK(test.target.index == p.stream(Engine::vector).size());
  }
}

TEST_CASE("a loop whose counter would pass the largest integer is an error") {
  Kernel k;
  k.b.open_loop(0, 2147483647, 2);
  k.copy(k.y, k.x, Engine::vector);
  k.b.close_loop();
  CHECK(contains(message([&] { k.done(); }), "counter would reach 2147483648"));
}

TEST_CASE("a full counter makes the streams join, and counting starts again") {
  Kernel k;
  for (int i = 0; i < 100; ++i) {
    k.copy(k.y, k.x, Engine::vector);
    k.activation(k.x, k.y);
  }
  SyncOptions options;
  options.counter_limit = 16;
  const Program p = k.done(options);
  CHECK(k.report.joins >= 100 / 16);
  for (const Engine e : all_engines) {
    for (const Instruction& i : p.stream(e)) {
      if (i.wait.present()) CHECK(i.wait.value <= 16);
    }
  }
}

TEST_CASE("streams join around a group of hand-written blocks, and branches count from the stream") {
  Kernel k;
  k.copy(k.y, k.x, Engine::vector);
  k.b.open_engine(Engine::vector);
  k.b.emit(Opcode::compare_branch, CompareBranch{Register{}, 0, Comparison::always, {2}});
  k.b.emit(Opcode::nop, NoOperands{});
  k.b.close_engine();
  k.b.open_engine(Engine::scalar);
  k.b.emit(Opcode::nop, NoOperands{}).wait = at_least(ss::first_user, 1);
  k.b.close_engine();
  k.activation(k.z, k.y);
  const Program p = k.done();
  CHECK(k.report.joins == 2);
  const auto& vector = p.stream(Engine::vector);
  for (std::uint32_t i = 0; i < vector.size(); ++i) {
    if (const auto* branch = std::get_if<CompareBranch>(&vector[i].operands))
      CHECK(branch->target.index == i + 2);
  }
  for (const Instruction& i : p.stream(Engine::scalar)) {
    if (i.opcode == Opcode::nop) CHECK(i.wait == at_least(ss::first_user, 1));
  }
}

TEST_CASE("a target with too few semaphores cannot be synchronised automatically") {
  Program program;
  program.target = *find_target("trn1");
  program.target.semaphores = sync_semaphores::first_user - 1;
  CHECK_THROWS_AS(synchronise(program), Fault);
  program.target.semaphores = sync_semaphores::first_user;
  CHECK_NOTHROW(synchronise(program));
}

TEST_CASE("hand-written waits belong into blocks, and leave the automatic semaphores alone") {
  Kernel k;
  k.copy(k.y, k.x, Engine::vector);
  k.b.program().stream(Engine::vector)[0].wait = at_least(200, 1);
  CHECK(contains(message([&] { k.done(); }), "a wait written by hand needs an engine block"));
  Kernel l;
  l.b.open_engine(Engine::vector);
  l.b.emit(Opcode::nop, NoOperands{}).update = plus_one(ss::first_user - 1, UpdateWhen::complete);
  l.b.close_engine();
  CHECK(contains(message([&] { l.done(); }), "semaphore 95 belongs to automatic synchronisation"));
}

TEST_CASE("a probe's position is behind the instruction that writes it, inserted waits or not") {
  Kernel k;
  k.copy(k.x, k.w, Engine::gpsimd);
  k.copy(k.y, k.w, Engine::vector);
  TensorTensor t;
  t.dst = k.z.pattern();
  t.src0 = k.x.pattern();
  t.src1 = k.y.pattern();
  k.b.emit(Opcode::tensor_tensor, t, Engine::vector);
  k.b.print("z", k.z);
  const Program p = k.done();
  const std::uint32_t position = p.probes[0].position[static_cast<std::size_t>(Engine::vector)];
  REQUIRE(position > 1);
  CHECK(p.stream(Engine::vector)[position - 1].opcode == Opcode::tensor_tensor);
}

TEST_CASE("an explanation names both instructions, the wait and the bytes") {
  Kernel k;
  k.b.at("k.nca", 7);
  k.copy(k.y, k.x, Engine::vector);
  k.b.at("k.nca", 8);
  k.activation(k.z.slice(1, 0, 8), k.y.slice(1, 8, 16));
  const Program p = k.done();
  REQUIRE(k.report.records.size() == 1);
  // y lies behind x (64 x 4 bytes), its columns 8 to 15 at bytes 256 + 32 .. 256 + 63.
  CHECK(
      format(k.report.records[0], p) ==
      "scalar[0] activation (k.nca:8) waits S[1] >= 1: it reads sbuf bytes 288 to 319 of partitions 0 to 127 "
      "('y'), which vector[0] tensor_copy (k.nca:7) writes");
}
