#include "emu/machine_config.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <set>

#include "emu/timing/cost.h"
#include "emu/timing/dma_service.h"
#include "emu/timing/engine_timeline.h"
#include "emu/timing/ports.h"
#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;

namespace {

std::string message_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.what();
  }
  return "no fault";
}

std::string refusal_of_file(std::string_view text) {
  return message_of([&] { parse_machine(text, "m.toml"); });
}

std::string refusal_of_set(std::string_view assignment) {
  return message_of([&] {
    MachineConfig m = builtin_machine("trn1");
    set_parameter(m, assignment);
  });
}

const std::string& value_of(const std::vector<ParameterInfo>& all, std::string_view key) {
  for (const ParameterInfo& p : all) {
    if (p.key == key) return p.value;
  }
  FAIL("no parameter " << key);
  return all.front().value;
}

}  // namespace

TEST_CASE("every embedded machine has the target that the instruction set knows it by") {
  for (const std::string_view name : machine_names()) {
    CAPTURE(name);
    CHECK(builtin_machine(name).target == *find_target(name));
  }
}

TEST_CASE("inf2 differs from trn1 only in its name") {
  const auto inf2 = parameters(builtin_machine("inf2"));
  const auto trn1 = parameters(builtin_machine("trn1"));
  REQUIRE(inf2.size() == trn1.size());
  for (std::size_t i = 0; i < inf2.size(); ++i) {
    if (inf2[i].key != "target.machine") CHECK(inf2[i].value == trn1[i].value);
  }
}

TEST_CASE("every parameter of every machine has a mark and a source") {
  const std::set<std::string> marks = {"doc", "drv", "derived", "assumed", "measured"};
  for (const std::string_view name : machine_names()) {
    for (const ParameterInfo& p : parameters(builtin_machine(name))) {
      CAPTURE(p.key);
      CHECK(marks.contains(p.mark));
      CHECK_FALSE(p.source.empty());
      CHECK(p.description.ends_with('.'));
    }
  }
}

TEST_CASE("a tick divides the periods of all clocks: 2, 5, 4, 4 and 4 ticks") {
  for (const auto& [name, per_us] : {std::pair{"trn1", 5600}, std::pair{"trn2", 4800}}) {
    const MachineConfig m = builtin_machine(name);
    CHECK(ticks_per_us(m) == per_us);
    CHECK(ticks_per_cycle(m, Engine::tensor) == 2);
    CHECK(ticks_per_cycle(m, Engine::vector) == 5);
    CHECK(ticks_per_cycle(m, Engine::scalar) == 4);
    CHECK(ticks_per_cycle(m, Engine::gpsimd) == 4);
    CHECK(ticks_per_cycle(m, Engine::sync) == 4);
    CHECK(core_cycles(m, 400) == 100);
  }
}

TEST_CASE("a clock that does not fit the others refines the tick instead of rounding a period") {
  MachineConfig m = builtin_machine("trn1");
  set_parameter(m, "tensor.clock_mhz=2400");
  for (const Engine e : all_engines) CHECK(ticks_per_us(m) == ticks_per_cycle(m, e) * clock_mhz(m, e));
}

TEST_CASE("times become ticks to nearest, halves up") {
  const MachineConfig m = builtin_machine("trn1");  // 5.6 ticks per ns
  CHECK(ticks_from_ns(m, 1.0) == 6);
  CHECK(ticks_from_ns(m, 40.0) == 224);
  CHECK(ticks_from_ns(m, 0.625) == 4);  // 3.5
  CHECK(ns_from_ticks(m, 5600) == 1000.0);
  CHECK(ticks_from_bytes(5600, 2900, 29, 6) == 594);  // (6 + 100) x 5.6 = 593.6
}

TEST_CASE("what to_toml writes reads back with the same values, marks and sources") {
  for (const std::string_view name : machine_names()) {
    MachineConfig m = builtin_machine(name);
    set_parameter(m, "dma.o_desc_ns=6.100000000000001");
    set_parameter(m, "timing.mode=documented");
    m.provenance[3].source = "a \"quoted\" \\ source";
    const MachineConfig again = parse_machine(to_toml(m), "again.toml");
    const auto a = parameters(m);
    const auto b = parameters(again);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].value == b[i].value);
    CHECK(again.provenance == m.provenance);
    CHECK(config_hash(again) == config_hash(m));
  }
}

TEST_CASE("the hash is FNV-1a over key=value lines") {
  const MachineConfig m = builtin_machine("trn2");
  std::uint64_t hash = 14695981039346656037U;
  for (const ParameterInfo& p : parameters(m)) {
    for (const char c : p.key + "=" + p.value + "\n") {
      hash ^= static_cast<unsigned char>(c);
      hash *= 1099511628211U;
    }
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  CHECK(config_hash(m) == text);
}

TEST_CASE("changing any value changes the hash, changing a source does not") {
  const MachineConfig m = builtin_machine("trn2");
  std::set<std::string> hashes = {config_hash(m)};
  std::size_t changes = 0;
  for (const ParameterInfo& p : parameters(m)) {
    if (p.key.starts_with("target.") || p.key == "timing.mode") continue;
    MachineConfig changed = m;
    set_parameter(changed, p.key == "gate.threshold" ? "gate.threshold=0.5" : p.key + "=1" + p.value);
    hashes.insert(config_hash(changed));
    ++changes;
  }
  CHECK(hashes.size() == changes + 1);
  MachineConfig sourced = m;
  sourced.provenance[0].source = "elsewhere";
  CHECK(config_hash(sourced) == config_hash(m));
}

TEST_CASE("a file with a base changes what it names and remembers where") {
  const MachineConfig m = parse_machine(
      "base = \"trn2\"\n[vector]\nii_gap = 10\nl0 = { value = 99, mark = \"doc\", "
      "source = \"a page\" }\n[target]\nmachine = \"mine\"\n",
      "m.toml");
  CHECK(m.vector.ii_gap == 10);
  CHECK(m.vector.l0 == 99);
  CHECK(m.target.machine == "mine");
  CHECK(m.target.generation == 3);
  for (const ParameterInfo& p : parameters(m)) {
    if (p.key == "vector.ii_gap") {
      CHECK(p.mark == "set");
      CHECK(p.source == "m.toml:3");
    }
    if (p.key == "vector.l0") {
      CHECK(p.mark == "doc");
      CHECK(p.source == "a page");
    }
  }
}

TEST_CASE("a file is read from disk, and a missing one is named") {
  const std::string path = "machine_config_test.toml";
  std::ofstream(path) << "base = \"trn1\"\n[hbm]\nbytes_per_ns = 100\n";
  CHECK(load_machine(path).hbm.bytes_per_ns == 100.0);
  std::remove(path.c_str());
  CHECK(message_of([&] { load_machine(path); }) == path + ": cannot be read");
}

TEST_CASE("mistakes in a file are told with line and column") {
  CHECK(refusal_of_file("base = \"trn1\"\n[vectr]\nii_gap = 3\n") ==
        "m.toml:2:2: no section \"vectr\" (did you mean \"vector\"?)");
  CHECK(refusal_of_file("base = \"trn1\"\n[vector]\n  iigap = 3\n") ==
        "m.toml:3:3: no parameter \"iigap\" in [vector] (did you mean \"ii_gap\"?)");
  CHECK(refusal_of_file("base = \"trn1\"\n[vector]\nii_gap = \"3\"\n") ==
        "m.toml:3:10: vector.ii_gap is \"3\", expected a whole number");
  CHECK(refusal_of_file("base = \"trn1\"\n[vector]\nii_gap = -1\n") ==
        "m.toml:3:10: vector.ii_gap is -1, expected 0 or a number above it");
  CHECK(refusal_of_file("base = \"trn1\"\n[dma]\nr_peak = 0\n") ==
        "m.toml:3:10: dma.r_peak is 0, expected a number above 0");
  CHECK(refusal_of_file("base = \"trn1\"\n[vector]\nii_gap = { value = 3, mrk = \"doc\" }\n") ==
        "m.toml:3:23: no \"mrk\" in a parameter (did you mean \"mark\"?)");
  CHECK(refusal_of_file("base = \"trn1\"\n[vector]\nii_gap = { value = 3 }\n") ==
        "m.toml:3:10: vector.ii_gap has no mark");
  CHECK(
      refusal_of_file("base = \"trn1\"\n[vector]\nii_gap = { value = 3, mark = \"docs\", source = \"x\" }\n")
          .starts_with(
              "m.toml:3:30: mark is \"docs\", expected one of doc, drv, derived, assumed, measured, set"));
  CHECK(refusal_of_file("base = \"trn7\"\n").starts_with("m.toml:1:8: no machine \"trn7\""));
  CHECK(refusal_of_file("[vector\n").starts_with("m.toml:1:8: "));
}

TEST_CASE("a file without a base must give everything, with marks and sources") {
  CHECK(refusal_of_file("[vector]\nii_gap = 3\n")
            .starts_with("m.toml:2:10: vector.ii_gap needs value, mark and source"));
  std::string text = to_toml(builtin_machine("trn1"));
  const auto line = text.find("few_lanes =");
  text.erase(line, text.find('\n', line) - line + 1);
  CHECK(refusal_of_file(text).find("vector.few_lanes is missing") != std::string::npos);
}

TEST_CASE("an assignment is refused with the reason") {
  CHECK(refusal_of_set("vector.iigap=3") ==
        "--set vector.iigap=3: no parameter \"vector.iigap\" (did you mean \"vector.ii_gap\"?)");
  CHECK(refusal_of_set("vector.ii_gap=3.5").ends_with("vector.ii_gap is 3.5, expected a whole number"));
  CHECK(refusal_of_set("vector.ii_gap=99999999999").ends_with("expected at most 2147483647"));
  CHECK(refusal_of_set("dma.r_peak=inf").ends_with("expected a finite number"));
  CHECK(refusal_of_set("dma.l_trig_ns=1e300").ends_with("dma.l_trig_ns is 1e+300, expected at most 1e6"));
  CHECK(refusal_of_set("dma.r_peak=1e-300").ends_with("dma.r_peak is 1e-300, expected at least 1e-6"));
  CHECK(refusal_of_set("dma.r_peak=fast").ends_with("dma.r_peak is \"fast\", expected a number"));
  CHECK(refusal_of_set("timing.mode=docs").ends_with("expected \"measured\" or \"documented\""));
  CHECK(refusal_of_set("target.generation=4").ends_with("target.generation is 4, expected 2 or 3"));
  CHECK(refusal_of_set("vector.ii_gap").ends_with("expected key=value, such as vector.ii_gap=64"));
}

TEST_CASE("a machine file without end is refused") {
  CHECK_THROWS_WITH_AS(load_machine("/dev/zero"), "/dev/zero: is larger than 1 MiB", Fault);
}

TEST_CASE("a dotted key of very many parts is refused and does not exhaust the stack") {
  std::string text = "base = \"trn1\"\na";
  for (int i = 0; i < 50'000; ++i) text += ".a";
  CHECK(refusal_of_file(text + " = 1\n") == "m.toml:2: the line is longer than 4096 bytes");
}

TEST_CASE("a refused assignment leaves the machine as it was") {
  MachineConfig m = builtin_machine("trn1");
  const std::string before = to_toml(m);
  CHECK_THROWS_AS(set_parameter(m, "target.generation=7"), Fault);
  CHECK(to_toml(m) == before);
}

TEST_CASE("an assignment shows in the listing") {
  MachineConfig m = builtin_machine("trn1");
  set_parameter(m, "dma.l_trig_ns=1000.5");
  CHECK(value_of(parameters(m), "dma.l_trig_ns") == "1000.5");
}

TEST_CASE("an unknown machine is answered with the known ones") {
  const std::string text = message_of([] { builtin_machine("trn11"); });
  CHECK(text.find("known are inf2, trn1, trn2") != std::string::npos);
  CHECK(text.find("did you mean \"trn1\"") != std::string::npos);
}

// ---- every key counts -----------------------------------------------------------------------

namespace {

// Every number the timing rooms give for a set of instructions and transfers that meets all cases.
std::vector<double> everything(const MachineConfig& m) {
  using namespace shapes;
  std::vector<double> all = {static_cast<double>(ticks_per_us(m)), core_cycles(m, 1'000'000)};
  for (const Engine e : all_engines) all.push_back(static_cast<double>(ticks_per_cycle(m, e)));
  const auto add = [&](Ticks t) { all.push_back(ns_from_ticks(m, t)); };

  const PointerOperand pointer;
  AccessPattern indexed = sbuf(DType::f32, 8);
  indexed.index = Register{1};
  const auto memset = [](AccessPattern dst, float value) {
    return instruction(Opcode::memset, Memset{dst, value});
  };
  const auto reduce = [](AccessPattern dst, AccessPattern src) {
    return instruction(Opcode::tensor_reduce, TensorReduce{.dst = dst, .src = src});
  };
  const DType f32 = DType::f32, bf16 = DType::bf16;
  const std::pair<Engine, Instruction> instructions[] = {
      {Engine::vector, copy(sbuf(f32, 512), sbuf(f32, 512))},
      {Engine::vector, copy(sbuf(f32, 4), sbuf(f32, 4))},
      {Engine::vector, copy(sbuf(bf16, 512), sbuf(bf16, 512))},
      {Engine::vector, copy(sbuf(bf16, 512, 2), sbuf(bf16, 512, 2))},
      {Engine::vector, copy(sbuf(bf16, 512), psum(bf16, 512))},
      {Engine::vector, copy(sbuf(f32, 512, 5), sbuf(f32, 512))},
      {Engine::vector, copy(sbuf(f32, 512), sbuf(f32, 512, 5))},
      {Engine::vector, copy(sbuf(bf16, 512, 9), sbuf(bf16, 512))},
      {Engine::vector, copy(indexed, sbuf(f32, 8))},
      {Engine::vector, copy(tile(Space::sbuf, f32, 16, 8), tile(Space::sbuf, f32, 16, 8))},
      {Engine::vector, copy(tile(Space::sbuf, f32, 100, 8), tile(Space::sbuf, f32, 100, 8))},
      {Engine::vector, tensor_scalar(psum(f32, 512), psum(f32, 512), pointer)},
      {Engine::vector, tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), sbuf(f32, 512))},
      {Engine::vector, tensor_tensor(sbuf(bf16, 512), sbuf(bf16, 512), sbuf(bf16, 512))},
      {Engine::vector, reduce(sbuf(bf16, 1), sbuf(bf16, 512))},
      {Engine::vector, instruction(Opcode::reciprocal, Unary{sbuf(f32, 512), sbuf(f32, 512)})},
      {Engine::vector,
       instruction(Opcode::tensor_tensor_scan, TensorTensorScan{sbuf(f32, 9), sbuf(f32, 9), sbuf(f32, 9)})},
      {Engine::vector, instruction(Opcode::bn_aggr, Unary{sbuf(f32, 2), sbuf(f32, 512)})},
      {Engine::vector, instruction(Opcode::load_mask, LoadMask{})},
      {Engine::vector, memset(sbuf(f32, 512), 1)},
      {Engine::vector, memset(sbuf(bf16, 512), 0)},
      {Engine::vector, memset(psum(f32, 512), 1)},
      {Engine::scalar, activation(sbuf(f32, 512), sbuf(f32, 512))},
      {Engine::scalar, activation(sbuf(f32, 4), psum(f32, 4))},
      {Engine::scalar, copy(sbuf(f32, 512), psum(f32, 512))},
      {Engine::scalar, activation(tile(Space::sbuf, f32, 16, 8), tile(Space::sbuf, f32, 16, 8))},
      {Engine::scalar, activation(tile(Space::sbuf, f32, 100, 8), tile(Space::sbuf, f32, 100, 8))},
      {Engine::scalar, instruction(Opcode::read_accumulator, Destination{sbuf(f32, 1)})},
      {Engine::scalar, instruction(Opcode::act_table_load, TableLoad{})},
      {Engine::gpsimd, copy(sbuf(f32, 512), sbuf(f32, 512))},
      {Engine::gpsimd, tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), sbuf(f32, 512))},
      {Engine::gpsimd, tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), sbuf(f32, 512), AluOp::pow)},
      {Engine::gpsimd, tensor_scalar(sbuf(f32, 512), sbuf(f32, 512), 1.0F, AluOp::rsqrt)},
      {Engine::gpsimd, instruction(Opcode::n_gather, Gather{sbuf(f32, 700), sbuf(f32, 9), sbuf(f32, 700)})},
      {Engine::gpsimd,
       instruction(Opcode::local_gather, LocalGather{sbuf(f32, 64), sbuf(f32, 99), sbuf(f32, 4), 1, 64})},
      {Engine::gpsimd,
       instruction(Opcode::tensor_partition_reduce, PartitionReduce{sbuf(f32, 99), sbuf(f32, 99), {}})},
      {Engine::gpsimd, instruction(Opcode::sequence_bounds, Unary{sbuf(f32, 198), sbuf(f32, 99)})},
      {Engine::gpsimd,
       instruction(Opcode::nonzero_with_count, NonzeroWithCount{sbuf(f32, 100), sbuf(f32, 99), 0, 0})},
      {Engine::gpsimd, instruction(Opcode::topk, TopK{sbuf(bf16, 2), sbuf(f32, 2), sbuf(bf16, 9), 99, 20})},
      {Engine::tensor, load(bf16, 1)},
      {Engine::tensor, load(bf16, 128)},
      {Engine::tensor, load(bf16, 128, 2)},
      {Engine::tensor, load(f32, 128)},
      {Engine::tensor, load(f32, 128, 2)},
      {Engine::tensor, matmul(bf16, 8)},
      {Engine::tensor, matmul(bf16, 512)},
      {Engine::tensor, matmul(f32, 512)},
      {Engine::tensor, matmul(bf16, 512, 31)},
      {Engine::sync, instruction(Opcode::nop)},
      {Engine::sync, instruction(Opcode::register_load, RegisterLoad{.dst = {}, .src = AccessPattern{}})},
  };
  for (const auto& [engine, i] : instructions) {
    const Cost c = cost(i, engine, m);
    add(c.interval);
    add(c.stream);
    add(c.latency);
    add(c.write);
    add(c.write_ahead);
    const PortUse ports = port_use(i, engine, m);
    add(ports.holds);
    add(ports.waits);
  }
  RegisterLoad from_hbm;
  from_hbm.src = HbmPattern{};
  for (const Engine e : all_engines) {
    for (const Opcode opcode : {Opcode::event_semaphore, Opcode::semaphore_clear, Opcode::drain,
                                Opcode::notify, Opcode::compare_branch, Opcode::write, Opcode::dma_copy}) {
      add(cost(instruction(opcode, default_operands(opcode)), e, m).interval);
    }
    add(cost(instruction(Opcode::register_load, from_hbm), e, m).interval);
  }
  add(wake_up(Engine::scalar, Engine::scalar, m));
  add(wake_up(Engine::scalar, Engine::vector, m));
  for (const std::uint32_t to : {100U, 200U, 255U, 256U, 300U, 1000U}) add(branch_miss(0, to, m));

  // Pairs of the tensor engine over several windows of the clock gate: full from the second on, then a
  // pause, then half rate again.
  EngineTimeline pipeline(m);
  const auto pass = [&](const Instruction& i, Ticks from) {
    const Cost c = cost(i, Engine::tensor, m);
    const Passage p = pipeline.start(i, c, std::max(from, pipeline.earliest_start(i, c)));
    add(p.start);
    add(p.complete);
    return p.start;
  };
  const Ticks us = ticks_per_us(m);
  for (int k = 0; k < 400; ++k) {
    pass(load(bf16, 128), 0);
    // 47 % busy at half rate: full clock at the machine's threshold, not at a higher one.
    const Ticks start = pass(matmul(bf16, 8), 0);
    if (k % 4 != 0) pass(matmul(bf16, 256), start);
  }
  for (int pause = 1; pause < 40; ++pause) pass(matmul(bf16, 64), pipeline.drained() + us);
  for (const std::uint8_t row : {std::uint8_t{0}, std::uint8_t{64}}) {
    Instruction in_tile = matmul(bf16, 512);
    std::get<Matmul>(in_tile.operands).tile_position = {row, 0};
    std::get<Matmul>(in_tile.operands).tile_size = {64, 128};
    pass(in_tile, 0);
  }

  const DmaCopy transfers[] = {
      {sbuf(f32, 64), hbm(f32, 128, 64, 64), 0, DgeMode::static_},
      {sbuf(f32, 2048), hbm(f32, 128, 2048, 2048), 0, DgeMode::software},
      {hbm(f32, 128, 2048, 2048), sbuf(f32, 2048), 0, DgeMode::hardware},
      {hbm(f32, 128, 2048, 4096), hbm(f32, 128, 2048, 4096), 1, DgeMode::static_},
      {hbm(f32, 128, 10, 10), hbm(f32, 128, 10, 20), 1, DgeMode::static_},
      {sbuf(f32, 64, 2), hbm(f32, 128, 64, 64), 2, DgeMode::static_},
      {tile(Space::sbuf, f32, 8, 4096), hbm(f32, 8, 4096, 4096), 3, DgeMode::static_},
  };
  // What NeuronCore-v3 would do: v2 has no transposing unit.
  const PointerOperand rows{Space::sbuf, DType::u32, 0, 0};
  HbmPattern table = hbm(bf16, 1, 64, 0);
  table.dims[3] = {64, 1000};
  HbmPattern matrix = hbm(bf16, 1, 128, 0);
  matrix.dims[3] = {128, 64};
  DmaCompute sum;
  sum.dst = sum.sources[0].src = sbuf(f32, 512);
  const Operands special[] = {
      DmaCopy{sbuf(bf16, 64), table, 5, DgeMode::software, rows},
      sum,
      DmaTranspose{sbuf(bf16, 64), matrix, 5, DgeMode::static_},
      DmaTranspose{sbuf(bf16, 128), sbuf(bf16, 128), 5, DgeMode::static_},
  };
  for (const Operands& transfer : special) {
    DmaService alone(m);
    auto w = std::make_shared<const TransferWork>(transfer_work(transfer, 3));
    const Ticks generated = generation_time(route(transfer).mode, *w, m);
    add(generated);
    alone.submit(w, route(transfer).queue, generated);
    while (!alone.idle()) {
      if (const auto event = alone.pop()) add(event->end);
    }
  }

  DmaService service(m);
  Ticks at = 0;
  for (const DmaCopy& t : transfers) {
    auto w = std::make_shared<const TransferWork>(transfer_work(t));
    at += generation_time(t.mode, *w, m);
    add(at);
    service.submit(w, t.queue, at + trigger_latency(t.mode, m));
    if (t.queue == 2) service.submit(w, 4, at + trigger_latency(t.mode, m));
  }
  while (!service.idle()) {
    if (const auto event = service.pop()) add(event->end);
  }
  add(transfer_done_latency(m));
  return all;
}

}  // namespace

TEST_CASE("every timing key moves a number, in measured or in documented mode") {
  for (const std::string_view name : {"trn1", "trn2"}) {
    MachineConfig measured = builtin_machine(name);
    if (name == std::string_view("trn1")) {
      // Switches that are off there, with the keys behind them.
      for (const char* on : {"gate.window=4096", "vector.few_lanes_saving=8", "scalar.few_lanes_saving=8",
                             "vector.write_line_k=2", "tensor.few_columns_gap=8"}) {
        set_parameter(measured, on);
      }
    }
    MachineConfig documented = measured;
    set_parameter(documented, "timing.mode=documented");
    const auto as_measured = everything(measured);
    const auto as_documented = everything(documented);
    CHECK(as_measured != as_documented);
    for (const ParameterInfo& p : parameters(measured)) {
      if (p.key.starts_with("target.") || p.key == "timing.mode" || p.key == "runtime.overhead_us") continue;
      CAPTURE(name);
      CAPTURE(p.key);
      const double old = std::stod(p.value);
      const bool whole = p.value.find('.') == std::string::npos;
      bool moved = false;
      for (const double factor : {2.0, 1.5, 4.0, 16.0, 0.5}) {
        double value = old == 0 ? 16 * factor : old * factor;
        if (p.key == "gate.threshold") value = old + factor / 8 > 1 ? 0.9 : old + factor / 8;
        if (p.key.starts_with("ports.")) value = old == 0 ? 1 : 0;  // switches
        const std::string text = p.key.starts_with("ports.") ? std::to_string(std::llround(value))
                                 : whole ? std::to_string(std::max<std::int64_t>(1, std::llround(value)))
                                         : std::to_string(value);
        MachineConfig a = measured, b = documented;
        set_parameter(a, p.key + "=" + text);
        set_parameter(b, p.key + "=" + text);
        moved = moved || everything(a) != as_measured || everything(b) != as_documented;
      }
      CHECK(moved);
    }
  }
}
