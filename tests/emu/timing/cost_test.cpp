#include "emu/timing/cost.h"

#include <doctest/doctest.h>

#include <cmath>

#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

struct InCycles {
  Cycles interval = 0, stream = 0, latency = 0;
  Cycles duration() const { return latency + stream; }
};

InCycles cycles(const Instruction& i, Engine engine, const MachineConfig& m) {
  const Cost c = cost(i, engine, m);
  const Ticks cycle = ticks_per_cycle(m, engine);
  REQUIRE(c.interval % cycle == 0);
  REQUIRE(c.stream % cycle == 0);
  REQUIRE(c.latency % cycle == 0);
  return {c.interval / cycle, c.stream / cycle, c.latency / cycle};
}

double duration_ns(const Instruction& i, Engine engine, const MachineConfig& m) {
  const Cost c = cost(i, engine, m);
  return ns_from_ticks(m, c.latency + c.stream);
}

MachineConfig trn1() { return builtin_machine("trn1"); }
MachineConfig trn2() { return builtin_machine("trn2"); }
MachineConfig documented(MachineConfig m) {
  set_parameter(m, "timing.mode=documented");
  return m;
}

constexpr DType f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16, fp8 = DType::f8e4m3;

Instruction memset_to(AccessPattern dst, ScalarOperand value) {
  return instruction(Opcode::memset, Memset{dst, value});
}
Instruction reduce(AccessPattern dst, AccessPattern src, AluOp op = AluOp::add) {
  return instruction(Opcode::tensor_reduce, TensorReduce{.dst = dst, .src = src, .op = op});
}

}  // namespace

// ---- against published and measured durations -----------------------------------------------

TEST_CASE("published durations are met (datasheet 6.0.3)") {
  struct Point {
    const char* what;
    MachineConfig machine;
    Engine engine;
    Instruction instruction;
    double measured_ns;
    double tolerance;  // relative
  };
  const AccessPattern one = sbuf(f32, 1);
  const Point points[] = {
      {"ACTIVATE of one element, v2", trn1(), Engine::scalar, activation(one, one), 159, 0.01},
      {"ACTIVATE of 8192 elements, v2", trn1(), Engine::scalar, activation(sbuf(f32, 8192), sbuf(f32, 8192)),
       6040, 0.01},
      {"ACTIVATE exp of 4096, v3", trn2(), Engine::scalar, activation(sbuf(bf16, 4096), sbuf(bf16, 4096)),
       3716, 0.01},
      {"ACTIVATE exp of 128, v3", trn2(), Engine::scalar, activation(sbuf(bf16, 128), sbuf(bf16, 128)), 401,
       0.01},
      {"ActReadAccumulator, v3", trn2(), Engine::scalar,
       instruction(Opcode::read_accumulator, Destination{sbuf(f32, 1)}), 256, 0.11},
      {"add fp32 of 8192, two SBUF inputs, v2", trn1(), Engine::vector,
       tensor_tensor(sbuf(f32, 8192), sbuf(f32, 8192), sbuf(f32, 8192)), 14968, 0.01},
      {"add fp32, SBUF and PSUM, v3", trn2(), Engine::vector,
       tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), psum(f32, 512)), 685, 0.01},
      {"copy fp32 PSUM to SBUF, v3", trn2(), Engine::vector, copy(sbuf(f32, 512), psum(f32, 512)), 691, 0.01},
      {"copy fp32 SBUF to SBUF, v3", trn2(), Engine::vector, copy(sbuf(f32, 512), sbuf(f32, 512)), 419, 0.02},
      {"abs-max over 16384 bf16, v3", trn2(), Engine::vector,
       reduce(sbuf(f32, 1), sbuf(bf16, 16384), AluOp::abs_max), 17213, 0.01},
      {"scaling bf16 to fp8 with a pointer, v3", trn2(), Engine::vector,
       tensor_scalar(sbuf(fp8, 16384), sbuf(bf16, 16384), PointerOperand{}), 8792, 0.01},
      {"MATMUL bf16, N = 128, v2", trn1(), Engine::tensor, matmul(bf16, 128), 188, 0.01},
      {"LDWEIGHTS of one column, v2", trn1(), Engine::tensor, load(bf16, 1), 67, 0.10},
      {"measured row: add fp32 of 1000, v2", trn1(), Engine::vector,
       tensor_tensor(sbuf(f32, 1000), sbuf(f32, 1000), sbuf(f32, 1000)), 2016.5, 0.001},
      {"measured row: ACTIVATE exp fp32 from PSUM, v3", trn2(), Engine::scalar,
       activation(sbuf(f32, 512), psum(f32, 512)), 686.7, 0.01},
      {"measured row: MATMUL fp16, N = 444, v3", trn2(), Engine::tensor, matmul(f16, 444), 348.3, 0.005},
  };
  for (const Point& p : points) {
    CAPTURE(p.what);
    const double model = duration_ns(p.instruction, p.engine, p.machine);
    CAPTURE(model);
    CHECK(std::abs(model - p.measured_ns) <= p.tolerance * p.measured_ns);
  }
}

TEST_CASE("published intervals are met (datasheet 6.0.3)") {
  const auto interval_ns = [](const Instruction& i, Engine e, const MachineConfig& m) {
    return ns_from_ticks(m, cost(i, e, m).interval);
  };
  // II tensor_tensor to tensor_copy 604 ns, tensor_copy to tensor_copy 343 ns (MM5, v3).
  const Instruction add = tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), psum(f32, 512));
  CHECK(interval_ns(add, Engine::vector, trn2()) == doctest::Approx(604).epsilon(0.01));
  CHECK(interval_ns(copy(sbuf(f32, 512), sbuf(f32, 512)), Engine::vector, trn2()) ==
        doctest::Approx(343).epsilon(0.02));
  // One of the two MATMULs of fp32, N = 512: 429.7 ns over 65,536 of them.
  CHECK(interval_ns(matmul(f32, 512), Engine::tensor, trn2()) / 2 == doctest::Approx(429.7).epsilon(0.005));
  // Measured row, v3: 611.7 ns from one exp of 512 fp32 in SBUF to the next.
  CHECK(interval_ns(activation(sbuf(f32, 512), sbuf(f32, 512)), Engine::scalar, trn2()) ==
        doctest::Approx(611.7).epsilon(0.01));
}

TEST_CASE("the vector engine of the fused Mamba kernel is busy for 1.57 ms (datasheet A.2)") {
  // 512 steps of two SBUF pairs, a scan (charged as a pair) and a PSUM pair become, after hoisting,
  // 512 x (2N + 2N + N + N) and 32 x (2N + N) cycles of stream in 2112 instructions of N = 512.
  const MachineConfig m = trn1();
  const Cost two_sbuf =
      cost(tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), sbuf(f32, 512)), Engine::vector, m);
  const Cost one_psum =
      cost(tensor_tensor(sbuf(f32, 512), sbuf(f32, 512), psum(f32, 512)), Engine::vector, m);
  const Ticks busy =
      512 * (2 * two_sbuf.interval + 2 * one_psum.interval) + 32 * (two_sbuf.interval + one_psum.interval);
  CHECK(ns_from_ticks(m, busy) == doctest::Approx(1.57e6).epsilon(0.005));
}

// ---- the formulas ---------------------------------------------------------------------------

TEST_CASE("a dependent chain of one-element activations on v2 repeats every 264 cycles") {
  const MachineConfig m = trn1();
  const Cost c = cost(activation(sbuf(f32, 1), sbuf(f32, 1)), Engine::scalar, m);
  CHECK(c.latency + c.stream + wake_up(Engine::scalar, Engine::scalar, m) == 264 * 4);
}

TEST_CASE("measured intervals add a gap, documented ones have a minimum") {
  const auto act = [](int n) { return activation(sbuf(f32, n), sbuf(f32, n)); };
  CHECK(cycles(act(1), Engine::scalar, trn1()).interval == 65);
  CHECK(cycles(act(512), Engine::scalar, trn1()).interval == 576);
  CHECK(cycles(act(1), Engine::scalar, documented(trn1())).interval == 64);
  CHECK(cycles(act(63), Engine::scalar, documented(trn1())).interval == 64);
  CHECK(cycles(act(65), Engine::scalar, documented(trn1())).interval == 65);
  CHECK(cycles(act(512), Engine::scalar, documented(trn2())).interval == 512);
}

TEST_CASE("the cost does not depend on the partitions beyond the first 16") {
  const MachineConfig m = trn2();
  const auto on = [&](int p) {
    return cost(copy(tile(Space::sbuf, f32, p, 64), tile(Space::sbuf, f32, p, 64)), Engine::vector, m);
  };
  CHECK(on(17).latency == on(128).latency);
  CHECK(on(16).latency == on(128).latency - 8 * 5);
  CHECK(on(1).interval == on(128).interval);
}

TEST_CASE("two SBUF inputs of the vector engine take two cycles per element on v2, one on v3") {
  const auto pair = [](AccessPattern a, AccessPattern b, AccessPattern dst, AluOp op = AluOp::add) {
    return tensor_tensor(dst, a, b, op);
  };
  const AccessPattern s = sbuf(f32, 512), p = psum(f32, 512), h = sbuf(bf16, 512);
  CHECK(cycles(pair(s, s, s), Engine::vector, trn1()).stream == 1024);
  CHECK(cycles(pair(s, p, s), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(pair(p, s, s), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(pair(s, s, s), Engine::vector, trn2()).stream == 512);
  // The exception of v2: all bf16, adjacent, add, subtract or mult.
  CHECK(cycles(pair(h, h, h), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(pair(h, h, h, AluOp::mult), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(pair(h, h, h, AluOp::max), Engine::vector, trn1()).stream == 1024);
  CHECK(cycles(pair(h, h, s), Engine::vector, trn1()).stream == 1024);
  CHECK(cycles(pair(h, sbuf(bf16, 512, 2), h), Engine::vector, trn1()).stream == 1024);
}

TEST_CASE("the performance modes of v3 speed up copies and tensor_scalar") {
  const auto k = [](AccessPattern dst, AccessPattern src, const MachineConfig& m) {
    const Cycles by_copy = cycles(copy(dst, src), Engine::vector, m).stream;
    CHECK(cycles(tensor_scalar(dst, src, 2.0F), Engine::vector, m).stream == by_copy);
    return by_copy;
  };
  CHECK(k(sbuf(bf16, 512), sbuf(f16, 512), trn2()) == 128);
  CHECK(k(sbuf(bf16, 512, 2), sbuf(bf16, 512), trn2()) == 256);
  CHECK(k(sbuf(bf16, 512), psum(bf16, 512), trn2()) == 256);
  CHECK(k(psum(bf16, 512), sbuf(bf16, 512), trn2()) == 256);
  CHECK(k(sbuf(bf16, 512), psum(bf16, 512, 2), trn2()) == 512);
  CHECK(k(psum(bf16, 512), psum(bf16, 512), trn2()) == 512);
  CHECK(k(sbuf(f32, 512), sbuf(f32, 512), trn2()) == 256);
  CHECK(k(sbuf(fp8, 512), sbuf(bf16, 512), trn2()) == 256);
  CHECK(k(sbuf(f32, 512, 2), sbuf(f32, 512), trn2()) == 512);
  CHECK(k(sbuf(f32, 512), psum(f32, 512), trn2()) == 512);
  CHECK(k(sbuf(f32, 511), sbuf(f32, 511), trn2()) == 256);  // an engine does nothing for half a cycle
  for (const DType t : {bf16, f32, fp8}) CHECK(k(sbuf(t, 512), sbuf(t, 512), trn1()) == 512);
}

TEST_CASE("reading elements far apart costs the v3 vector engine its performance mode and nothing more") {
  MachineConfig m = trn2();
  const auto copied = [&](int dst_step, int src_step) {
    return cycles(copy(sbuf(f32, 512, dst_step), sbuf(f32, 512, src_step)), Engine::vector, m).stream;
  };
  CHECK(copied(1, 1) == 256);
  CHECK(copied(1, 9) == 448);  // 7 cycles for 8 elements: the read port
  CHECK(copied(1, 2) == 448);
  set_parameter(m, "vector.sbuf_other_apart_k=1");
  CHECK(copied(1, 9) == 512);
  set_parameter(m, "vector.strided_read_factor=2");
  CHECK(copied(1, 9) == 1024);
  set_parameter(m, "vector.strided_read_factor=1");
  set_parameter(m, "timing.mode=documented");
  CHECK(copied(1, 9) == 1024);
  m = trn1();
  CHECK(copied(1, 9) == 1024);
}

TEST_CASE("elements more than 16 bytes apart halve the rate, whichever operand has them") {
  const MachineConfig m = trn1();
  const auto stream = [&](AccessPattern dst, AccessPattern src) {
    return cycles(activation(dst, src), Engine::scalar, m).stream;
  };
  CHECK(stream(sbuf(f32, 100), sbuf(f32, 100, 4)) == 100);  // exactly 16 bytes
  CHECK(stream(sbuf(f32, 100), sbuf(f32, 100, 5)) == 200);
  CHECK(stream(sbuf(f32, 100, 5), sbuf(f32, 100)) == 200);
  CHECK(stream(sbuf(f32, 100, 5), sbuf(f32, 100, 5)) == 200);  // factors do not multiply
  CHECK(stream(sbuf(f32, 100), sbuf(f32, 100, -5)) == 200);
  CHECK(stream(sbuf(bf16, 100), sbuf(bf16, 100, 8)) == 100);
  CHECK(stream(sbuf(bf16, 100), sbuf(bf16, 100, 9)) == 200);
  CHECK(stream(sbuf(f32, 100), sbuf(f32, 100, 0)) == 100);
  // The fastest dimension that has more than one element counts.
  AccessPattern rows = sbuf(f32, 1);
  rows.dims[0] = {1, 1};
  rows.dims[1] = {64, 100};
  CHECK(stream(sbuf(f32, 100), rows) == 200);
  rows.dims[0] = {1, 2};
  rows.dims[1] = {64, 50};
  CHECK(stream(sbuf(f32, 100), rows) == 100);
}

TEST_CASE("a pointer operand is fetched before the stream on v3") {
  const Instruction with = tensor_scalar(psum(f32, 64), psum(f32, 64), PointerOperand{});
  const Instruction without = tensor_scalar(psum(f32, 64), psum(f32, 64), 2.0F);
  const InCycles a = cycles(with, Engine::vector, trn2()), b = cycles(without, Engine::vector, trn2());
  CHECK(a.interval - b.interval == 57);
  CHECK(a.latency - b.latency == 57);
  CHECK(cycles(with, Engine::vector, trn1()).interval == cycles(without, Engine::vector, trn1()).interval);
}

TEST_CASE("memset, reciprocal and bf16 reductions have their own rates") {
  CHECK(cycles(memset_to(sbuf(bf16, 512), 0.0F), Engine::vector, trn1()).stream == 256);
  CHECK(cycles(memset_to(sbuf(bf16, 512), 1.0F), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(memset_to(sbuf(f32, 512), 0.0F), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(memset_to(sbuf(bf16, 512), Register{3}), Engine::vector, trn1()).stream == 512);
  const InCycles fast = cycles(memset_to(sbuf(f32, 512), 0.0F), Engine::vector, trn2());
  CHECK(fast.stream == 64);
  CHECK(fast.duration() == 68 + 64);
  CHECK(fast.interval == 12 + 64);
  CHECK(cycles(instruction(Opcode::reciprocal, Unary{sbuf(f32, 512), sbuf(f32, 512)}), Engine::vector, trn1())
            .stream == 1383);  // 2.7 x 512 = 1382.4
  CHECK(cycles(reduce(sbuf(bf16, 1), sbuf(bf16, 512)), Engine::vector, trn1()).stream == 256);
  CHECK(cycles(reduce(sbuf(bf16, 1), sbuf(bf16, 512), AluOp::min), Engine::vector, trn1()).stream == 512);
  CHECK(cycles(reduce(sbuf(f32, 1), sbuf(bf16, 512)), Engine::vector, trn1()).stream == 512);
}

TEST_CASE("gpsimd does one instruction at a time: 150 cycles and its elements") {
  const auto on = [](const Instruction& i) {
    const InCycles c = cycles(i, Engine::gpsimd, trn1());
    CHECK(c.interval == c.duration());
    return c.duration();
  };
  const AccessPattern t = sbuf(DType::i32, 100);
  CHECK(on(copy(t, t)) == 250);
  CHECK(on(memset_to(t, 0)) == 250);
  CHECK(on(tensor_tensor(t, t, t)) == 350);
  CHECK(on(tensor_tensor(t, t, t, AluOp::pow)) == 1750);
  CHECK(on(tensor_scalar(sbuf(f32, 100), sbuf(f32, 100), 0.0F, AluOp::rsqrt)) == 550);
}

TEST_CASE("gpsimd's own instructions take their start and the cycles of their formulas (datasheet 6.8)") {
  const auto take = [](Opcode opcode, Operands operands, Cycles stream) {
    CAPTURE(info(opcode).mnemonic);
    const InCycles c = cycles(instruction(opcode, std::move(operands)), Engine::gpsimd, trn2());
    CHECK(c.stream == stream);
    CHECK(c.latency == 150);
    CHECK(c.interval == 150 + stream);
  };
  const auto i32 = DType::i32;
  take(Opcode::iota, Iota{.dst = sbuf(i32, 500), .pattern = {}}, 500);
  take(Opcode::affine_select, AffineSelect{.dst = sbuf(f32, 500), .src = sbuf(f32, 500), .pattern = {}}, 500);
  take(Opcode::affine_select, AffineSelect{.dst = sbuf(f32, 500), .src = sbuf(f32, 500, 5), .pattern = {}},
       1000);
  take(Opcode::n_gather, Gather{sbuf(f32, 512), sbuf(f32, 9), sbuf(i32, 512)}, 8 * 512);
  take(Opcode::n_gather, Gather{sbuf(f32, 513), sbuf(f32, 9), sbuf(i32, 513)}, 150 + 8 * 513);
  take(Opcode::tensor_partition_reduce, PartitionReduce{sbuf(f32, 100), sbuf(f32, 100), AluOp::add},
       150 + 800);
  take(Opcode::sequence_bounds, Unary{sbuf(f32, 200), sbuf(f32, 100)}, 800);
  take(Opcode::nonzero_with_count, NonzeroWithCount{sbuf(i32, 101), sbuf(f32, 100), 0, 0}, 400);
  take(Opcode::topk, TopK{sbuf(bf16, 4), sbuf(i32, 4), sbuf(bf16, 500), 8000, 64}, 32064);
  take(Opcode::rand_get_state, Destination{sbuf(DType::u32, 6)}, 6);
}

TEST_CASE("the overhead of local_gather stretches its stream, or divides it as the formula is printed") {
  const auto stream = [](DType type, int run, int indices, const char* divides) {
    MachineConfig m = trn1();
    set_parameter(m, std::string("gpsimd.local_gather_divides=") + divides);
    LocalGather g{sbuf(type, run * indices), sbuf(type, 4000), sbuf(DType::u16, 64), 1, 0};
    g.num_elem_per_idx = static_cast<std::uint8_t>(run);
    g.num_valid_indices = static_cast<std::uint16_t>(indices);
    return cycles(instruction(Opcode::local_gather, g), Engine::gpsimd, m).stream;
  };
  // Datasheet 6.8.3: 8 cycles per index for e = 1 and 4 bytes, (156 / 128) / 2 per element for 32 and 2
  // bytes.
  CHECK(stream(f32, 1, 100, "0") == 800);
  CHECK(stream(bf16, 32, 100, "0") == 1950);
  CHECK(stream(bf16, 1, 100, "0") == 800);    // one element of an index, whatever its size
  CHECK(stream(f32, 1, 100, "1") == 13);      // 100 / 8, rounded up
  CHECK(stream(bf16, 32, 100, "1") == 5252);  // 3200 * 2 / (156 / 128) = 5251.3
}

TEST_CASE(
    "vector instructions with two inputs take two cycles per element when both are in SBUF (6.3.2, 6.5.3)") {
  const auto stream = [](Opcode opcode, Operands operands) {
    return cycles(instruction(opcode, std::move(operands)), Engine::vector, trn1()).stream;
  };
  const auto pair = [&](AccessPattern src0, AccessPattern src1, AluOp op0, AluOp op1) {
    ScalarTensorTensor f;
    f.dst = sbuf(src0.dtype, static_cast<int>(src0.elements()));
    f.src0 = src0;
    f.src1 = src1;
    f.op0 = op0;
    f.scalar0 = 1.0F;
    f.op1 = op1;
    return stream(Opcode::scalar_tensor_tensor, f);
  };
  CHECK(pair(sbuf(f32, 512), sbuf(f32, 512), AluOp::subtract, AluOp::mult) == 1024);
  CHECK(pair(sbuf(f32, 512), psum(f32, 512), AluOp::add, AluOp::add) == 512);
  CHECK(pair(sbuf(bf16, 512), sbuf(bf16, 512), AluOp::subtract, AluOp::mult) == 512);
  CHECK(pair(sbuf(bf16, 511), sbuf(bf16, 511), AluOp::subtract, AluOp::mult) == 1022);
  CHECK(pair(sbuf(bf16, 512), sbuf(bf16, 512), AluOp::mult, AluOp::add) == 1024);

  const AccessPattern mask = sbuf(DType::u8, 512);
  CHECK(stream(Opcode::tensor_copy_predicated, CopyPredicated{sbuf(f32, 512), mask, sbuf(f32, 512)}) == 1024);
  CHECK(stream(Opcode::tensor_copy_predicated, CopyPredicated{sbuf(f32, 512), mask, psum(f32, 512)}) == 512);
  CHECK(stream(Opcode::tensor_copy_predicated, CopyPredicated{sbuf(f32, 512), mask, {}, 1.0F}) == 512);
  CHECK(stream(Opcode::select_reduce, SelectReduce{sbuf(f32, 512), sbuf(f32, 512), mask}) == 1024);
  CHECK(stream(Opcode::select_reduce, SelectReduce{sbuf(f32, 512), psum(f32, 512), mask}) == 512);
}

TEST_CASE("vector instructions along the lane take the cycles of their formulas (datasheet 6.14)") {
  const auto on = [](Opcode opcode, Operands operands) {
    return cycles(instruction(opcode, std::move(operands)), Engine::vector, trn1());
  };
  CHECK(on(Opcode::tensor_tensor_scan, TensorTensorScan{sbuf(f32, 512), psum(f32, 512), sbuf(f32, 512)})
            .stream == 1024);
  CHECK(on(Opcode::bn_stats, Unary{sbuf(f32, 6), sbuf(f32, 512)}).stream == 512);
  CHECK(on(Opcode::bn_aggr, Unary{sbuf(f32, 2), sbuf(f32, 6)}).stream == 26);  // 13 N / 3
  CHECK(on(Opcode::max8, Unary{sbuf(f32, 8), sbuf(f32, 512)}).interval == 512 + 64);
  CHECK(on(Opcode::match_value_load, Source{sbuf(f32, 8)}).interval == 64);
  CHECK(on(Opcode::load_mask, LoadMask{}).interval == 64);
  CHECK(on(Opcode::read_accumulator, Destination{sbuf(f32, 1)}).interval == 1 + 64);
  CHECK(
      cycles(instruction(Opcode::rng, Destination{sbuf(DType::u32, 100)}), Engine::gpsimd, trn2()).interval ==
      250);
}

TEST_CASE("reading the accumulators out costs one more instruction, not the fetch of a [P, 1] operand") {
  TensorScalarReduce plain{.dst = sbuf(f32, 512), .src = sbuf(f32, 512)};
  TensorScalarReduce reads = plain;
  reads.reduce_res = PointerOperand{};
  for (const MachineConfig& m : {trn1(), trn2(), documented(trn1())}) {
    const InCycles without = cycles(instruction(Opcode::tensor_scalar_reduce, plain), Engine::vector, m);
    const InCycles with = cycles(instruction(Opcode::tensor_scalar_reduce, reads), Engine::vector, m);
    const Cycles one = m.timing.mode == TimingMode::documented ? 64 : 1 + m.vector.ii_gap;
    CHECK(with.interval == without.interval + one);
    CHECK(with.latency == without.latency + one);
    CHECK(with.stream == without.stream);
  }
}

TEST_CASE("a copy with an address in a register takes at least 600 cycles") {
  AccessPattern indexed = sbuf(f32, 8);
  indexed.index = Register{2};
  for (const auto& [name, engine] : {std::pair{"trn1", Engine::vector}, std::pair{"trn2", Engine::scalar},
                                     std::pair{"trn2", Engine::gpsimd}}) {
    const MachineConfig m = builtin_machine(name);
    const InCycles plain = cycles(copy(sbuf(f32, 8), sbuf(f32, 8)), engine, m);
    const InCycles dynamic = cycles(copy(sbuf(f32, 8), indexed), engine, m);
    CHECK(dynamic.interval == 600);
    CHECK(dynamic.duration() == plain.duration() + 600 - plain.interval);
  }
  AccessPattern wide = sbuf(f32, 4096);
  wide.index = Register{2};
  CHECK(cycles(copy(sbuf(f32, 4096), wide), Engine::vector, trn1()).interval == 4096 + 64);
  CHECK(cycles(copy(sbuf(f32, 4096), wide), Engine::vector, documented(trn1())).interval == 4096);
}

TEST_CASE("weights load at four columns per cycle, fp32 in two loads of two cycles per column") {
  CHECK(cycles(load(bf16, 128), Engine::tensor, trn1()).stream == 32);
  CHECK(cycles(load(bf16, 65), Engine::tensor, trn1()).stream == 17);
  CHECK(cycles(load(bf16, 1), Engine::tensor, trn1()).stream == 1);
  CHECK(cycles(load(bf16, 1), Engine::tensor, trn1()).interval == 16);  // LS_MIN
  CHECK(cycles(load(f32, 128), Engine::tensor, trn1()).stream == 2 * 256);
  CHECK(cycles(load(DType::tf32, 128), Engine::tensor, trn1()).stream == 256);
  CHECK(cycles(load(bf16, 128, 3), Engine::tensor, trn2()).stream == 71);  // 0.55 x 128 = 70.4
}

TEST_CASE("a matmul takes its elements, at least 64; fp32 takes two matmuls of two passes") {
  CHECK(cycles(matmul(bf16, 512), Engine::tensor, trn1()).interval == 512);
  CHECK(cycles(matmul(fp8, 16), Engine::tensor, trn1()).interval == 64);
  CHECK(cycles(matmul(fp8, 16), Engine::tensor, trn1()).stream == 16);
  CHECK(cycles(matmul(bf16, 512), Engine::tensor, trn2()).interval == 517);
  CHECK(cycles(matmul(bf16, 512), Engine::tensor, documented(trn2())).interval == 512);
  CHECK(cycles(matmul(f32, 512), Engine::tensor, trn1()).interval == 2048);
  CHECK(cycles(matmul(f32, 16), Engine::tensor, trn1()).interval == 128);
  CHECK(cycles(matmul(DType::tf32, 512), Engine::tensor, trn1()).interval == 512);
  const InCycles wide = cycles(matmul(f32, 512), Engine::tensor, trn2());
  CHECK(wide.interval == 2 * 1029);
  CHECK(wide.stream == 1029 + 1024);
}

TEST_CASE("table loads and control instructions have fixed times") {
  const MachineConfig v2 = trn1();
  CHECK(cost(instruction(Opcode::act_table_load, TableLoad{}), Engine::scalar, v2).interval ==
        ticks_from_ns(v2, 368));
  for (const Engine e : all_engines) CHECK(cost(instruction(Opcode::nop), e, v2).interval == 12 * 4);
  CHECK(cost(instruction(Opcode::nop), Engine::tensor, trn2()).interval == 10 * 4);
  const Cost on_chip =
      cost(instruction(Opcode::register_load, RegisterLoad{{}, AccessPattern{}}), Engine::sync, v2);
  CHECK(on_chip.interval == 140 * 4);
  const Cost store =
      cost(instruction(Opcode::register_store, RegisterStore{AccessPattern{}, {}}), Engine::sync, v2);
  CHECK(store.interval == 12 * 4);
  CHECK(store.latency == 140 * 4);
  CHECK(cost(instruction(Opcode::dma_copy, DmaCopy{}), Engine::sync, v2).interval == 12 * 4);
}

TEST_CASE("a branch pays for a fetch only beyond the 256 instructions of the buffer") {
  const MachineConfig m = trn1();
  CHECK(branch_miss(1000, 1000 - 255, m) == 0);
  CHECK(branch_miss(1000, 1000 - 256, m) == ticks_from_ns(m, 2000));
  CHECK(branch_miss(0, 255, m) == 0);
  CHECK(branch_miss(0, 256, m) == ticks_from_ns(m, 2000));
}

TEST_CASE("every compute instruction of the table costs time on every engine that has it") {
  for (const MachineConfig& m : {trn1(), trn2(), documented(trn1())}) {
    for (const InstructionInfo& row : all_instructions()) {
      for (const Engine e : row.order(m.target.generation)) {
        CAPTURE(row.mnemonic);
        CAPTURE(name(e));
        const Cost c = cost(instruction(row.opcode, default_operands(row.opcode)), e, m);
        CHECK(c.interval > 0);
        CHECK(c.latency + c.stream > 0);
      }
    }
  }
}

// ---- work -----------------------------------------------------------------------------------

TEST_CASE("work counts elements per partition, bytes of all partitions, and multiply-adds twice") {
  Instruction mm = matmul(bf16, 500, 96);  // K = 128, M = 96, N = 500
  Work w = work(mm);
  CHECK(w.flops == 2LL * 128 * 96 * 500);
  CHECK(w.elements == 500);
  CHECK(w.sbuf_read == 128 * 500 * 2);
  CHECK(w.psum_written == 96 * 500 * 4);
  CHECK(w.psum_read == 0);

  w = work(tensor_scalar(tile(Space::psum, bf16, 32, 10), tile(Space::sbuf, f32, 32, 10), PointerOperand{}));
  CHECK(w.sbuf_read == 32 * 10 * 4 + 32 * 4);  // the tile and one fp32 value per lane
  CHECK(w.psum_written == 32 * 10 * 2);
  CHECK(w.flops == 0);

  w = work(reduce(sbuf(f32, 1), sbuf(f32, 300)));
  CHECK(w.elements == 300);
  CHECK(w.sbuf_written == 128 * 4);
}
