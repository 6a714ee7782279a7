// The documented timing mode gives the initiation intervals that the pages of SDK 2.26 print, on every
// generation. The formulas are written down here a second time, from those pages (datasheet 6.1 to 6.8, mark
// D26).

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "emu/timing/engine_timeline.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16, u16 = DType::u16;
constexpr int sizes[] = {1, 2, 3, 31, 63, 64, 65, 127, 128, 129, 500, 511, 512, 1000};

std::vector<MachineConfig> machines() {
  std::vector<MachineConfig> all;
  for (const char* name : {"trn1", "inf2", "trn2"}) {
    all.push_back(builtin_machine(name));
    set_parameter(all.back(), "timing.mode=documented");
  }
  return all;
}

Cycles interval(const Instruction& i, Engine engine, const MachineConfig& m) {
  const Ticks cycle = ticks_per_cycle(m, engine), ticks = cost(i, engine, m).interval;
  REQUIRE(ticks % cycle == 0);
  return ticks / cycle;
}

// Checks one instruction against one formula of its element count, at every size on every machine that has
// it.
void check(Engine engine, auto&& instruction_of, auto&& formula) {
  for (const MachineConfig& m : machines()) {
    for (const int n : sizes) {
      const Instruction i = instruction_of(n);
      if (!info(i.opcode).engines(m.target.generation).contains(engine)) continue;
      CAPTURE(info(i.opcode).mnemonic);
      CAPTURE(m.target.machine);
      CAPTURE(n);
      CHECK(interval(i, engine, m) == formula(n));
    }
  }
}

int at_least_64(int n) { return std::max(64, n); }
int at_least_64_twice(int n) { return std::max(64, 2 * n); }
int at_least_64_half(int n) { return std::max(64, (n + 1) / 2); }

}  // namespace

TEST_CASE("tensor_copy, tensor_scalar and activation take max(64, N) in every type and memory") {
  for (const DType type : {f32, bf16, f16}) {
    for (const Engine e : {Engine::vector, Engine::scalar}) {
      check(
          e, [&](int n) { return copy(sbuf(type, n), sbuf(type, n)); }, at_least_64);
      check(
          e, [&](int n) { return copy(sbuf(type, n), psum(type, n)); }, at_least_64);
      check(
          e, [&](int n) { return tensor_scalar(sbuf(type, n), sbuf(type, n), 2.0F); }, at_least_64);
    }
    check(
        Engine::scalar, [&](int n) { return activation(sbuf(type, n), psum(type, n)); }, at_least_64);
  }
}

TEST_CASE("a copy with an address in a register takes max(600, N)") {
  check(
      Engine::vector,
      [](int n) {
        AccessPattern indexed = sbuf(f32, n);
        indexed.index = Register{2};
        return copy(sbuf(f32, n), indexed);
      },
      [](int n) { return std::max(600, n); });
}

TEST_CASE("tensor_tensor takes 2N, and N with an input in PSUM or for simple operators on bf16") {
  const auto of = [](AccessPattern dst, AccessPattern a, AccessPattern b, AluOp op) {
    return tensor_tensor(dst, a, b, op);
  };
  for (const AluOp op : {AluOp::add, AluOp::mult, AluOp::subtract, AluOp::max}) {
    const bool simple = op != AluOp::max;
    check(
        Engine::vector, [&](int n) { return of(sbuf(f32, n), sbuf(f32, n), sbuf(f32, n), op); },
        at_least_64_twice);
    check(
        Engine::vector, [&](int n) { return of(sbuf(f32, n), sbuf(f32, n), psum(f32, n), op); }, at_least_64);
    check(
        Engine::vector, [&](int n) { return of(sbuf(bf16, n), sbuf(bf16, n), sbuf(bf16, n), op); },
        simple ? at_least_64 : at_least_64_twice);
    check(
        Engine::vector, [&](int n) { return of(sbuf(f16, n), sbuf(f16, n), sbuf(f16, n), op); },
        at_least_64_twice);
  }
}

TEST_CASE("scalar_tensor_tensor takes 2N, and N for subtract and mult on an even count of bf16") {
  const auto of = [](DType type, AluOp op0, AluOp op1) {
    return [=](int n) {
      ScalarTensorTensor i;
      i.dst = sbuf(type, n);
      i.src0 = sbuf(type, n);
      i.src1 = sbuf(type, n);
      i.op0 = op0;
      i.op1 = op1;
      i.scalar0 = 1.0F;
      return instruction(Opcode::scalar_tensor_tensor, i);
    };
  };
  check(Engine::vector, of(f32, AluOp::subtract, AluOp::mult), at_least_64_twice);
  check(Engine::vector, of(bf16, AluOp::mult, AluOp::add), at_least_64_twice);
  check(Engine::vector, of(bf16, AluOp::subtract, AluOp::mult),
        [](int n) { return n % 2 == 0 ? at_least_64(n) : at_least_64_twice(n); });
}

TEST_CASE("reductions take N, and N / 2 from bf16 to bf16 by add or max") {
  const auto of = [](DType from, DType to, AluOp op) {
    return [=](int n) {
      return instruction(Opcode::tensor_reduce,
                         TensorReduce{.dst = sbuf(to, 1), .src = sbuf(from, n), .op = op});
    };
  };
  check(Engine::vector, of(f32, f32, AluOp::add), at_least_64);
  check(Engine::vector, of(bf16, f32, AluOp::add), at_least_64);
  check(Engine::vector, of(bf16, bf16, AluOp::min), at_least_64);
  check(Engine::vector, of(bf16, bf16, AluOp::add), at_least_64_half);
  check(Engine::vector, of(bf16, bf16, AluOp::max), at_least_64_half);
}

TEST_CASE("memset takes N, and N / 2 for zeros of 16-bit floats") {
  const auto of = [](DType type, float value) {
    return [=](int n) { return instruction(Opcode::memset, Memset{sbuf(type, n), value}); };
  };
  check(Engine::vector, of(f32, 0.0F), at_least_64);
  check(Engine::vector, of(bf16, 1.0F), at_least_64);
  check(Engine::vector, of(bf16, 0.0F), at_least_64_half);
  check(Engine::vector, of(f16, 0.0F), at_least_64_half);
}

TEST_CASE("tensor_copy_predicated takes 2N when source and predicate are in SBUF, else N") {
  check(
      Engine::vector,
      [](int n) {
        return instruction(Opcode::tensor_copy_predicated,
                           CopyPredicated{sbuf(f32, n), sbuf(u16, n), sbuf(f32, n)});
      },
      at_least_64_twice);
  check(
      Engine::vector,
      [](int n) {
        return instruction(Opcode::tensor_copy_predicated,
                           CopyPredicated{sbuf(f32, n), sbuf(u16, n), psum(f32, n)});
      },
      at_least_64);
}

TEST_CASE("scans take 2N, reciprocals 8N, bn_aggr 13N / 3, and the rest of the lane instructions N") {
  const auto unary = [](Opcode opcode, int results) {
    return [=](int n) {
      return instruction(opcode, Unary{sbuf(f32, results > 0 ? results : n), sbuf(f32, n)});
    };
  };
  check(
      Engine::vector,
      [](int n) {
        return instruction(Opcode::tensor_tensor_scan,
                           TensorTensorScan{sbuf(f32, n), sbuf(f32, n), sbuf(f32, n)});
      },
      at_least_64_twice);
  check(Engine::vector, unary(Opcode::reciprocal, 0), [](int n) { return std::max(64, 8 * n); });
  check(
      Engine::vector, [&](int n) { return unary(Opcode::bn_aggr, 2)(3 * n); },
      [](int n) { return std::max(64, 13 * n); });
  for (const auto& [opcode, results] :
       {std::pair{Opcode::bn_stats, 1}, std::pair{Opcode::max8, 1}, std::pair{Opcode::find_index8, 1},
        std::pair{Opcode::stream_shuffle, 0}, std::pair{Opcode::transpose, 0}}) {
    check(Engine::vector, unary(opcode, results), at_least_64);
  }
}

TEST_CASE("reading a reduction's result out adds 64 cycles") {
  const auto of = [](bool reads) {
    return [=](int n) {
      TensorScalarReduce i{.dst = sbuf(f32, n), .src = sbuf(f32, n)};
      if (reads) i.reduce_res = PointerOperand{};
      return instruction(Opcode::tensor_scalar_reduce, i);
    };
  };
  check(Engine::vector, of(false), at_least_64);
  check(Engine::vector, of(true), [](int n) { return at_least_64(n) + 64; });
  // activation_reduce is an activation and this.
  check(
      Engine::scalar, [](int) { return instruction(Opcode::read_accumulator, Destination{sbuf(f32, 1)}); },
      [](int) { return 64; });
}

TEST_CASE("gpsimd takes 150 + N for patterns, and local_gather the formula as printed (C14)") {
  check(
      Engine::gpsimd,
      [](int n) { return instruction(Opcode::iota, Iota{.dst = sbuf(f32, n), .pattern = {}}); },
      [](int n) { return 150 + n; });
  check(
      Engine::gpsimd,
      [](int n) {
        return instruction(Opcode::affine_select,
                           AffineSelect{.dst = sbuf(f32, n), .src = sbuf(f32, n), .pattern = {}});
      },
      [](int n) { return 150 + n; });
  for (const DType type : {f32, bf16}) {
    for (const int e : {1, 2, 4, 32}) {
      check(
          Engine::gpsimd,
          [&](int n) {
            LocalGather i{sbuf(type, n * e), sbuf(type, 4000), sbuf(u16, 64), 1, 0};
            i.num_elem_per_idx = static_cast<std::uint8_t>(e);
            i.num_valid_indices = static_cast<std::uint16_t>(n);
            return instruction(Opcode::local_gather, i);
          },
          [&](int n) {
            const double c = ((28.0 + 4 * e) / (4.0 * e)) / std::min(type == f32 ? 1.0 : 2.0, double(e));
            return 150 + static_cast<int>(std::ceil(n * e / c - 1e-9));
          });
    }
  }
}

TEST_CASE("a pair of the tensor engine takes max(min(64, M), N) per pass (C9), whatever its loads") {
  struct Type {
    DType dtype;
    int passes;
  };
  for (const MachineConfig& m : machines()) {
    for (const Type type : {Type{bf16, 1}, Type{DType::f8e4m3, 1}, Type{DType::tf32, 1}, Type{f32, 4}}) {
      for (const int columns : {1, 4, 16, 63, 64, 65, 128}) {
        for (const int n : {1, 2, 32, 63, 64, 65, 511, 512}) {
          EngineTimeline tensor(m);
          Ticks before = 0, last = 0;
          for (int k = 0; k < 6; ++k) {
            for (const Instruction& i : {load(type.dtype, columns), matmul(type.dtype, n, columns)}) {
              const Cost c = cost(i, Engine::tensor, m);
              const Ticks start = tensor.start(i, c, tensor.earliest_start(i, c)).start;
              if (i.opcode == Opcode::matmul) before = std::exchange(last, start);
            }
          }
          CAPTURE(m.target.machine);
          CAPTURE(name(type.dtype));
          CAPTURE(columns);
          CAPTURE(n);
          CHECK(last - before == 2 * type.passes * std::max(std::min(64, columns), n));
        }
      }
    }
  }
}
