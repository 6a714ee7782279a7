// Elements a second of whole instructions on 128 x 2048 operands, and beside them plain loops over as many
// bytes that convert and compute the same, vectorised by the compiler for the host (run-time dispatch, as
// everywhere). The promise is 60 % of the loop's rate; tools/bench compares them.

#include <benchmark/benchmark.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "emu/data/activation_functions.h"
#include "emu/data/convert.h"
#include "emu/data/state.h"
#include "isa/instruction.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/instructions_bench.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
namespace {

constexpr std::size_t elements = std::size_t{128} * 2048;

struct F32 {
  using Bits = float;
  static HWY_INLINE float load(float v) { return v; }
  static HWY_INLINE float store(float v) { return v; }
};
struct BF16 {
  using Bits = std::uint16_t;
  static HWY_INLINE float load(std::uint16_t v) { return std::bit_cast<float>(std::uint32_t{v} << 16U); }
  static HWY_INLINE std::uint16_t store(float v) {  // to nearest even; NaN stays NaN
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16U & 1U);
    return static_cast<std::uint16_t>((v != v ? 0x7FC00000U : rounded) >> 16U);
  }
};
struct F8E4M3 {
  using Bits = std::uint8_t;
  static HWY_INLINE float load(std::uint8_t v) {  // finite numbers, subnormal ones included
    const std::uint32_t magnitude = (v & 0x7FU) << 20U, sign = (v & 0x80U) << 24U;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p120F) |
                                sign);
  }
};
struct I32 {
  using Bits = std::int32_t;
  static HWY_INLINE float load(std::int32_t v) { return static_cast<float>(v); }
};

template <typename Out, typename In, typename Op>
HWY_INLINE void loop(const void* a, const void* b, void* out, Op op) {
  const auto* x = static_cast<const typename In::Bits*>(a);
  const auto* y = static_cast<const typename In::Bits*>(b);
  auto* z = static_cast<typename Out::Bits*>(out);
  for (std::size_t i = 0; i < elements; ++i) z[i] = Out::store(op(In::load(x[i]), In::load(y[i])));
}

// A lane at a time, in several chains: what any loop that may reorder does.
template <typename Op>
HWY_INLINE void reduce_loop(const void* a, void* out, Op op) {
  const auto* x = static_cast<const float*>(a);
  constexpr std::size_t columns = 2048, chains = 32;
  for (std::size_t lane = 0; lane < elements / columns; ++lane, x += columns) {
    float partial[chains];
    for (std::size_t c = 0; c < chains; ++c) partial[c] = x[c];
    for (std::size_t i = chains; i < columns; i += chains) {
      for (std::size_t c = 0; c < chains; ++c) partial[c] = op(partial[c], x[i + c]);
    }
    float result = partial[0];
    for (std::size_t c = 1; c < chains; ++c) result = op(result, partial[c]);
    static_cast<float*>(out)[lane] = result;
  }
}

#define NCEMU_LOOP(name, Out, In, expression)          \
  void name(const void* a, const void* b, void* out) { \
    loop<Out, In>(a, b, out, [](float x, float y) {    \
      (void)y;                                         \
      return expression;                               \
    });                                                \
  }
NCEMU_LOOP(copy_f32_bf16, BF16, F32, x)
NCEMU_LOOP(copy_bf16_f32, F32, BF16, x)
NCEMU_LOOP(copy_f8_bf16, BF16, F8E4M3, x)
NCEMU_LOOP(copy_i32_f32, F32, I32, x)
NCEMU_LOOP(add_f32_f32, F32, F32, x + y)
NCEMU_LOOP(add_bf16_bf16, BF16, BF16, x + y)
NCEMU_LOOP(add_f32_bf16, BF16, F32, x + y)
NCEMU_LOOP(mult_bf16_f32, F32, BF16, x* y)
NCEMU_LOOP(max_f32_f32, F32, F32, x > y ? x : y)
NCEMU_LOOP(affine_f32_f32, F32, F32, x * 1.25F + 0.5F)
NCEMU_LOOP(affine_bf16_bf16, BF16, BF16, x * 1.25F + 0.5F)
NCEMU_LOOP(relu_bf16_bf16, BF16, BF16, x <= 0 ? 0.0F : x)
#undef NCEMU_LOOP

void sum_f32(const void* a, const void*, void* out) {
  reduce_loop(a, out, [](float x, float y) { return x + y; });
}
void max_f32(const void* a, const void*, void* out) {
  reduce_loop(a, out, [](float x, float y) { return x > y ? x : y; });
}

}  // namespace
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {
namespace {

constexpr std::uint16_t lanes_used = 128, columns = 2048;
constexpr std::uint32_t first = 0, second = 16384, third = 32768;

AccessPattern tile(DType type, std::uint32_t offset, std::uint16_t count = columns) {
  AccessPattern p;
  p.dtype = type;
  p.partitions = lanes_used;
  p.offset = offset;
  p.dims[0] = {1, count};
  return p;
}

std::vector<float> normal_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

void count_elements(benchmark::State& bench) {
  bench.SetItemsProcessed(bench.iterations() * lanes_used * columns);
}

void instruction(benchmark::State& bench, Opcode opcode, Engine engine, const Operands& operands,
                 DType type) {
  Program program;
  program.target = *find_target("trn1");
  State state(program, std::byte{0});
  const std::size_t bytes = columns * static_cast<std::size_t>(size_of(type));
  for (const std::uint32_t offset : {first, second}) {
    for (unsigned lane = 0; lane < lanes_used; ++lane) {
      from_f32(type, normal_values(columns, lane + offset).data(),
               state.sbuf.row(lane, offset, offset + bytes) + offset, columns);
    }
  }
  Instruction i;
  i.opcode = opcode;
  i.operands = operands;
  if (const auto* a = std::get_if<Activation>(&operands)) state.resident_table = table_set(a->func);
  for (auto _ : bench) {
    execute(i, engine, state);
    benchmark::ClobberMemory();
  }
  count_elements(bench);
}

using Loop = void (*)(const void*, const void*, void*);

void plain(benchmark::State& bench, Loop loop, DType type) {
  const std::size_t size = static_cast<std::size_t>(size_of(type)), all = std::size_t{lanes_used} * columns;
  std::vector<std::byte> a(all * size), b(all * size), out(all * 4);
  from_f32(type, normal_values(all, 1).data(), a.data(), all);
  from_f32(type, normal_values(all, 2).data(), b.data(), all);
  for (auto _ : bench) {
    loop(a.data(), b.data(), out.data());
    benchmark::ClobberMemory();
  }
  count_elements(bench);
}

Operands copy(DType out, DType in) { return Unary{.dst = tile(out, third), .src = tile(in, first)}; }
Operands pair(AluOp op, DType out, DType in) {
  return TensorTensor{.dst = tile(out, third), .src0 = tile(in, first), .src1 = tile(in, second), .op = op};
}
Operands affine(DType type) {
  return TensorScalar{.dst = tile(type, third),
                      .src = tile(type, first),
                      .op0 = AluOp::mult,
                      .scalar0 = 1.25F,
                      .op1 = AluOp::add,
                      .scalar1 = 0.5F};
}
Operands reduction(AluOp op) {
  return TensorReduce{.dst = tile(DType::f32, third, 1), .src = tile(DType::f32, first), .op = op};
}
Operands activation(ActivationFunction func, DType type) {
  return Activation{.dst = tile(type, third), .src = tile(type, first), .func = func};
}

#define NCEMU_PAIR(opcode, engine, loop, type, ...)                                                     \
  BENCHMARK_CAPTURE(instruction, loop, Opcode::opcode, Engine::engine, __VA_ARGS__, type);              \
  void plain_##loop(const void* a, const void* b, void* out) { HWY_DYNAMIC_DISPATCH(loop)(a, b, out); } \
  BENCHMARK_CAPTURE(plain, loop, plain_##loop, type)

HWY_EXPORT(copy_f32_bf16);
HWY_EXPORT(copy_bf16_f32);
HWY_EXPORT(copy_f8_bf16);
HWY_EXPORT(copy_i32_f32);
HWY_EXPORT(add_f32_f32);
HWY_EXPORT(add_bf16_bf16);
HWY_EXPORT(add_f32_bf16);
HWY_EXPORT(mult_bf16_f32);
HWY_EXPORT(max_f32_f32);
HWY_EXPORT(affine_f32_f32);
HWY_EXPORT(affine_bf16_bf16);
HWY_EXPORT(relu_bf16_bf16);
HWY_EXPORT(sum_f32);
HWY_EXPORT(max_f32);

NCEMU_PAIR(tensor_copy, vector, copy_f32_bf16, DType::f32, copy(DType::bf16, DType::f32));
NCEMU_PAIR(tensor_copy, vector, copy_bf16_f32, DType::bf16, copy(DType::f32, DType::bf16));
NCEMU_PAIR(tensor_copy, vector, copy_f8_bf16, DType::f8e4m3, copy(DType::bf16, DType::f8e4m3));
NCEMU_PAIR(tensor_copy, vector, copy_i32_f32, DType::i32, copy(DType::f32, DType::i32));
NCEMU_PAIR(tensor_tensor, vector, add_f32_f32, DType::f32, pair(AluOp::add, DType::f32, DType::f32));
NCEMU_PAIR(tensor_tensor, vector, add_bf16_bf16, DType::bf16, pair(AluOp::add, DType::bf16, DType::bf16));
NCEMU_PAIR(tensor_tensor, vector, add_f32_bf16, DType::f32, pair(AluOp::add, DType::bf16, DType::f32));
NCEMU_PAIR(tensor_tensor, vector, mult_bf16_f32, DType::bf16, pair(AluOp::mult, DType::f32, DType::bf16));
NCEMU_PAIR(tensor_tensor, vector, max_f32_f32, DType::f32, pair(AluOp::max, DType::f32, DType::f32));
NCEMU_PAIR(tensor_scalar, vector, affine_f32_f32, DType::f32, affine(DType::f32));
NCEMU_PAIR(tensor_scalar, vector, affine_bf16_bf16, DType::bf16, affine(DType::bf16));
NCEMU_PAIR(activation, scalar, relu_bf16_bf16, DType::bf16,
           activation(ActivationFunction::relu, DType::bf16));
NCEMU_PAIR(tensor_reduce, vector, sum_f32, DType::f32, reduction(AluOp::add));
NCEMU_PAIR(tensor_reduce, vector, max_f32, DType::f32, reduction(AluOp::max));

#define NCEMU_ACTIVATION(func)                                             \
  BENCHMARK_CAPTURE(instruction, func, Opcode::activation, Engine::scalar, \
                    activation(ActivationFunction::func, DType::bf16), DType::bf16)
NCEMU_ACTIVATION(exp);
NCEMU_ACTIVATION(tanh);
NCEMU_ACTIVATION(gelu);
NCEMU_ACTIVATION(sigmoid);
NCEMU_ACTIVATION(rsqrt);

}  // namespace
}  // namespace ncemu
#endif  // HWY_ONCE
