#include "isa/tables.h"

#include <doctest/doctest.h>

#include "isa/builder.h"

using namespace ncemu;

namespace {

using F = ActivationFunction;

struct Kernel {
  Builder b{*find_target("trn1")};
  View in = b.sbuf("in", DType::f32, {128, 8});
  View out = b.sbuf("out", DType::f32, {128, 8});

  void act(F func) {
    Activation a;
    a.dst = out.pattern();
    a.src = in.pattern();
    a.func = func;
    b.emit(Opcode::activation, a);
  }
  void copy() { b.emit(Opcode::tensor_copy, Unary{out.pattern(), in.pattern()}); }

  // The scalar stream in short: "L:gelu" for a load, "tanh" for an activation.
  std::vector<std::string> scalar() {
    insert_table_loads(b.program());
    std::vector<std::string> text;
    for (const Instruction& i : b.program().stream(Engine::scalar)) {
      if (const auto* load = std::get_if<TableLoad>(&i.operands)) {
        text.push_back("L:" + std::string(name(load->table)));
      } else {
        text.emplace_back(name(std::get<Activation>(i.operands).func));
      }
    }
    return text;
  }
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a table is loaded before the first activation of another set, and not again") {
  Kernel k;
  for (const F f : {F::exp, F::log, F::tanh, F::gelu, F::exp}) k.act(f);
  CHECK(k.scalar() == Words{"L:exp_log", "exp", "log", "L:gelu", "tanh", "gelu", "L:exp_log", "exp"});
}

TEST_CASE("functions of every set need no load and leave the set as it is") {
  Kernel k;
  for (const F f : {F::copy, F::exp, F::relu, F::exp}) k.act(f);
  CHECK(k.scalar() == Words{"copy", "L:exp_log", "exp", "relu", "exp"});
}

TEST_CASE("a load by hand counts") {
  Kernel k;
  k.b.emit(Opcode::act_table_load, TableLoad{TableSet::gelu});
  k.act(F::tanh);
  CHECK(k.scalar() == Words{"L:gelu", "tanh"});
}

TEST_CASE("at a loop's entry and behind it the set is unknown, and loads stay on their side of the loop") {
  Kernel k;
  k.act(F::exp);
  k.b.open_loop(0, 4, 1);
  k.act(F::exp);
  k.act(F::exp);
  k.b.close_loop();
  k.act(F::exp);
  CHECK(k.scalar() == Words{"L:exp_log", "exp", "L:exp_log", "exp", "exp", "L:exp_log", "exp"});
  const Program& p = k.b.program();
  CHECK(p.loops[0].begin == 2);  // of: load, exp, [load, exp, exp], load, exp
  CHECK(p.loops[0].end == 5);
  CHECK(p.order == std::vector<Engine>(7, Engine::scalar));
}

TEST_CASE("a hand-written block of the scalar engine is left alone and makes the set unknown") {
  Kernel k;
  k.act(F::exp);
  k.b.open_engine(Engine::scalar);
  k.act(F::tanh);
  k.b.close_engine();
  k.act(F::exp);
  CHECK(k.scalar() == Words{"L:exp_log", "exp", "tanh", "L:exp_log", "exp"});
  CHECK(k.b.program().manual_blocks[0].begin == 2);
  CHECK(k.b.program().manual_blocks[0].end == 3);
}

TEST_CASE("a hand-written block of another engine changes nothing") {
  Kernel k;
  k.act(F::exp);
  k.b.open_engine(Engine::vector);
  k.copy();
  k.b.close_engine();
  k.act(F::exp);
  CHECK(k.scalar() == Words{"L:exp_log", "exp", "exp"});
}

TEST_CASE("the text order and probes follow their instructions") {
  Kernel k;
  k.copy();
  k.act(F::exp);
  k.b.print("out", k.out);
  k.copy();
  (void)k.scalar();
  const Program& p = k.b.program();
  CHECK(p.order == std::vector<Engine>{Engine::vector, Engine::scalar, Engine::scalar, Engine::vector});
  CHECK(p.probes[0].at == 3);
}

TEST_CASE("a load stands at the place of its activation") {
  Kernel k;
  k.b.at("k.nca", 12, 3);
  k.act(F::sin);
  (void)k.scalar();
  CHECK(k.b.program().stream(Engine::scalar)[0].site == k.b.program().stream(Engine::scalar)[1].site);
}
