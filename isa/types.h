#pragma once

// The small closed vocabularies of the instruction set: engines, memories, element types,
// operators. Every name is spelled once, in the table beside its enumeration (types.cpp), and is
// the spelling of the assembly language, of messages and of reports.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ncemu {

enum class Engine : std::uint8_t { tensor, vector, scalar, gpsimd, sync };
inline constexpr int engine_count = 5;

enum class Space : std::uint8_t { sbuf, psum, hbm };

// clang-format off
enum class DType : std::uint8_t {
  f32, tf32, bf16, f16, f8e5m2, f8e4m3, f8e3m4, f8e4m3fn, i8, i16, i32, u8, u16, u32
};
// clang-format on
inline constexpr int dtype_count = 14;

// clang-format off

// Datasheet 5.1. The bitvec class works on raw bits, the arithmetic class in fp32.
enum class AluOp : std::uint8_t {
  bypass,
  add, subtract, mult, divide, mod, pow, max, min, abs_max, abs_min, average,
  is_equal, not_equal, is_ge, is_gt, is_le, is_lt,
  logical_and, logical_or, logical_xor,
  abs, rsqrt, reciprocal, square, relu,
  bitwise_not, bitwise_and, bitwise_or, bitwise_xor,
  logical_shift_left, logical_shift_right, arith_shift_right,
};

// Datasheet 5.3.
enum class ActivationFunction : std::uint8_t {
  copy, square, relu, prelu, abs, sign,
  exp, log,
  sqrt, rsqrt,
  reciprocal,
  sigmoid, gelu, gelu_dx, gelu_apprx_tanh, gelu_apprx_sigmoid, gelu_apprx_sigmoid_dx,
  silu, silu_dx, tanh, softplus, mish, erf, erf_dx,
  sin, arctan,
};
// clang-format on

// The function tables of the scalar engine (datasheet 6.4.4, grouping assumed). `any` marks the
// functions that every set contains; it is never loaded.
enum class TableSet : std::uint8_t { any, exp_log, sqrt_rsqrt, reciprocal, gelu, sin_arctan };

// What `activation` does with the accumulator register of each lane (datasheet 6.4.1, 6.6).
enum class ReduceCommand : std::uint8_t { idle, reset, reduce, reset_reduce, load_reduce };

// Whether the threshold of `dropout` is the probability of dropping or of keeping an element.
enum class ThresholdType : std::uint8_t { drop_rate, keep_rate };

// The free dimensions a reduction consumes, from the fastest (datasheet 3.1).
enum class Axes : std::uint8_t { X, XY, XYZ, XYZW };

// Who builds a transfer's descriptors (datasheet 7.7).
enum class DgeMode : std::uint8_t { static_, software, hardware };

// What a transfer does with an address outside its tensor or tile (datasheet 6.10.1).
enum class Bounds : std::uint8_t { error, skip };

// How dma_compute joins its sources (datasheet 6.10.3).
enum class ComputeOp : std::uint8_t { add, min, max, fma };

enum class Comparison : std::uint8_t { always, lt, le, eq, ne, ge, gt };

// Datasheet 2.4.
enum class UpdateOperation : std::uint8_t {
  none,
  sem_inc,
  sem_dec,
  sem_add_imm,
  sem_sub_imm,
  sem_wr_imm,
  evt_set,
  evt_clr
};
enum class UpdateWhen : std::uint8_t { read, complete };

// All names of an enumeration, in order of its values.
template <typename E>
std::span<const std::string_view> names();

template <typename E>
std::string_view name(E value) {
  return names<E>()[static_cast<std::size_t>(value)];
}

template <typename E>
std::optional<E> find(std::string_view text) {
  const auto all = names<E>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// Bytes of one element.
constexpr int size_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::tf32:
    case DType::i32:
    case DType::u32: return 4;
    case DType::bf16:
    case DType::f16:
    case DType::i16:
    case DType::u16: return 2;
    case DType::f8e5m2:
    case DType::f8e4m3:
    case DType::f8e3m4:
    case DType::f8e4m3fn:
    case DType::i8:
    case DType::u8: return 1;
  }
  return 0;
}

constexpr bool is_integer(DType type) { return type >= DType::i8; }
constexpr bool is_float(DType type) { return !is_integer(type); }
constexpr bool is_fp8(DType type) { return type >= DType::f8e5m2 && type <= DType::f8e4m3fn; }
// fp32 and tf32 operands of the tensor engine go together (datasheet 6.1).
constexpr bool is_fp32_like(DType type) { return type == DType::f32 || type == DType::tf32; }

constexpr bool is_bitvec(AluOp op) { return op >= AluOp::bitwise_not; }
// Operators of one operand: the second is ignored.
constexpr bool is_unary(AluOp op) {
  return op == AluOp::bypass || op == AluOp::bitwise_not || (op >= AluOp::abs && op <= AluOp::relu);
}
// Legal as the operator of a reduction (datasheet 5.1, column "red").
bool is_reduction(AluOp op);

TableSet table_set(ActivationFunction function);

// A set of engines, as the instruction table writes it.
class EngineSet {
 public:
  constexpr EngineSet() = default;
  constexpr explicit EngineSet(std::uint8_t bits) : bits_(bits) {}
  constexpr EngineSet(Engine engine)
      : bits_(static_cast<std::uint8_t>(1U << static_cast<unsigned>(engine))) {}
  constexpr bool contains(Engine engine) const { return (bits_ >> static_cast<unsigned>(engine)) & 1U; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr std::uint8_t bits() const { return bits_; }
  friend constexpr EngineSet operator|(EngineSet a, EngineSet b) {
    return EngineSet(static_cast<std::uint8_t>(a.bits_ | b.bits_));
  }
  friend constexpr bool operator==(EngineSet, EngineSet) = default;

 private:
  std::uint8_t bits_ = 0;
};

inline constexpr Engine all_engines[engine_count] = {Engine::tensor, Engine::vector, Engine::scalar,
                                                     Engine::gpsimd, Engine::sync};

}  // namespace ncemu
