#include "isa/builder.h"

#include <doctest/doctest.h>

#include "isa/fault.h"

using namespace ncemu;

namespace {

TileSpec spec(std::string name, std::vector<std::int64_t> shape, std::uint32_t buffers = 1) {
  TileSpec s;
  s.name = std::move(name);
  s.shape = std::move(shape);
  s.buffers = buffers;
  return s;
}

std::string message(auto&& action) {
  try {
    action();
  } catch (const Fault& fault) {
    return fault.message();
  }
  return "no fault";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Builder trn1() { return Builder(*find_target("trn1")); }

}  // namespace

TEST_CASE("a declaration executed again takes the next of its places") {
  Builder b = trn1();
  std::vector<PlaceId> places;
  for (int i = 0; i < 5; ++i) {
    b.open_scope("body");
    places.push_back(b.tile(spec("t", {128, 8}, 3)).place);
    b.close_scope();
  }
  CHECK(places == std::vector<PlaceId>{0, 1, 2, 0, 1});
  CHECK(b.program().tiles.size() == 1);
  CHECK(b.program().scopes.size() == 2);
}

TEST_CASE("two tiles of one name in one block are an error") {
  Builder b = trn1();
  b.tile(spec("t", {128, 8}));
  CHECK(contains(message([&] { b.tile(spec("t", {128, 8})); }), "exists already"));
}

TEST_CASE("a tile that is live while an old block is entered again comes before that block") {
  Builder b = trn1();
  // First iteration: the inner block, then y. Second: y's block is met while y is live.
  b.open_scope("loop");
  b.open_scope("inner");
  b.tile(spec("x", {128, 8}));
  b.close_scope();
  b.tile(spec("y", {128, 8}));
  b.open_scope("inner");
  b.close_scope();
  b.close_scope();
  const Scope& loop = b.program().scopes[1];
  REQUIRE(loop.entries.size() == 2);
  CHECK_FALSE(loop.entries[0].is_scope);
  CHECK(loop.entries[1].is_scope);
}

TEST_CASE("array elements lie a uniform stride apart, in SBUF aligned to 32 bytes") {
  Builder b = trn1();
  TileSpec s = spec("t", {128, 3});
  s.array = {2, 4};
  const TileRef ref = b.tile(s);
  CHECK(ref.stride == 32);
  CHECK(b.view(ref, std::vector<std::int64_t>{1, 2}).pattern().offset == 6 * 32);
  CHECK(b.view(ref, std::vector<std::int64_t>{1, 0}, 1, Register{3}, 1, 0).pattern().index_step == 8);
  CHECK(contains(message([&] { b.view(ref, std::vector<std::int64_t>{2, 0}); }), "element 2 of array 't'"));
}

TEST_CASE("a PSUM array element never straddles a bank") {
  Builder b = trn1();
  TileSpec s = spec("acc", {128, 300});
  s.space = Space::psum;
  s.array = {2};
  CHECK(b.tile(s).stride == 2048);
  TileSpec small = spec("small", {128, 100});
  small.space = Space::psum;
  small.array = {4};
  CHECK(b.tile(small).stride == 512);
}

TEST_CASE("the default engine is the first of the row that reaches the operands") {
  Builder b = trn1();
  const View s = b.sbuf("s", DType::f32, {128, 8});
  const View p = b.psum("p", DType::f32, {128, 8});
  b.emit(Opcode::tensor_copy, Unary{s.pattern(), p.pattern()});
  CHECK(b.program().order.back() == Engine::vector);
  b.emit(Opcode::tensor_copy, Unary{s.pattern(), s.pattern()}, Engine::gpsimd);
  CHECK(b.program().order.back() == Engine::gpsimd);
  CHECK(contains(message([&] {
                   b.emit(Opcode::tensor_copy, Unary{s.pattern(), p.pattern()}, Engine::scalar);
                 }),
                 "it runs on vector, gpsimd"));
}

TEST_CASE("loads are issued by sync and stores by gpsimd, each on its own queue") {
  Builder b = trn1();
  const View x = b.tensor("x", TensorKind::input, DType::f32, {128, 8});
  const View y = b.tensor("y", TensorKind::output, DType::f32, {128, 8});
  const View t = b.sbuf("t", DType::f32, {128, 8});
  b.dma_copy(t, x);
  b.dma_copy(y, t);
  CHECK(b.program().order == std::vector<Engine>{Engine::sync, Engine::gpsimd});
  const auto& load = std::get<DmaCopy>(b.program().stream(Engine::sync)[0].operands);
  const auto& store = std::get<DmaCopy>(b.program().stream(Engine::gpsimd)[0].operands);
  CHECK(load.queue != store.queue);
  CHECK(load.mode == DgeMode::static_);
  CHECK(contains(message([&] { b.dma_copy(t, x.reshape(std::vector<std::int64_t>{1024})); }),
                 "[128, 8], source [1024]"));
}

TEST_CASE("a register address needs a generator: software on v2, hardware on v3 if the types are equal") {
  for (const char* machine : {"trn1", "trn2"}) {
    Builder b(*find_target(machine));
    const View x = b.tensor("x", TensorKind::input, DType::f32, {8, 128, 8});
    const View t = b.sbuf("t", DType::f32, {128, 8});
    const Register r = b.open_loop(0, 8, 1);
    const Instruction& i = b.dma_copy(t, x.index(0, r, 1, 0));
    const bool v3 = b.target().generation == 3;
    CHECK(std::get<DmaCopy>(i.operands).mode == (v3 ? DgeMode::hardware : DgeMode::software));
    CHECK(b.program().order.back() == (v3 ? Engine::sync : Engine::gpsimd));
    b.close_loop();
  }
}

TEST_CASE("a print remembers its point of the text: position, open loops and block") {
  Builder b = trn1();
  const View t = b.sbuf("t", DType::f32, {128, 8});
  b.emit(Opcode::memset, Memset{t.pattern(), 1.0F});
  b.open_loop(0, 2, 1);
  b.open_loop(0, 3, 1);
  b.emit(Opcode::memset, Memset{t.pattern(), 2.0F});
  b.print("inner", t);
  b.close_loop();
  b.print("outer", t);
  b.close_loop();
  b.open_engine(Engine::vector);
  b.print("block", t);
  b.close_engine();
  const auto& probes = b.program().probes;
  REQUIRE(probes.size() == 3);
  for (const Probe& p : probes) CHECK(p.at == 2);
  CHECK(probes[0].loops == std::vector<std::uint32_t>{0, 1});
  CHECK(probes[1].loops == std::vector<std::uint32_t>{0});
  CHECK(probes[2].loops.empty());
  CHECK(probes[1].block == no_index);
  CHECK(probes[2].block == 0);
}
