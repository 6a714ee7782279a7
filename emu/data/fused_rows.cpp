#include "emu/data/fused_rows.h"

#include <bit>
#include <cstdint>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/fused_rows.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
namespace {

// Plain loops that the compiler vectorises for each target.

constexpr std::uint32_t f32_nan = 0x7FC00000U;

struct F32 {
  using Bits = float;
  static HWY_INLINE float load(float value) { return value; }
  static HWY_INLINE float store(float value) {
    return value == value ? value : std::bit_cast<float>(f32_nan);
  }
};
// The upper half of fp32, rounded to nearest even.
struct BF16 {
  using Bits = std::uint16_t;
  static HWY_INLINE float load(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16U);
  }
  static HWY_INLINE std::uint16_t store(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16U & 1U);
    return static_cast<std::uint16_t>((value == value ? rounded : f32_nan) >> 16U);
  }
};

struct Add {
  static HWY_INLINE float of(float a, float b) { return a + b; }
};
struct Subtract {
  static HWY_INLINE float of(float a, float b) { return a - b; }
};
struct Mult {
  static HWY_INLINE float of(float a, float b) { return a * b; }
};
struct Bypass {
  static HWY_INLINE float of(float a, float) { return a; }
};

// No iteration needs what another one stores (fused_rows.h).
template <typename Op, typename A, typename B, typename Out>
void pair(const void* a, const void* b, void* out, std::size_t count) {
  const auto* x = static_cast<const typename A::Bits*>(a);
  const auto* y = static_cast<const typename B::Bits*>(b);
  auto* z = static_cast<typename Out::Bits*>(out);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) z[i] = Out::store(Op::of(A::load(x[i]), B::load(y[i])));
}
template <typename Op0, typename Op1, typename A, typename Out>
void scalars(const void* a, float s0, float s1, void* out, std::size_t count) {
  const auto* x = static_cast<const typename A::Bits*>(a);
  auto* z = static_cast<typename Out::Bits*>(out);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) z[i] = Out::store(Op1::of(Op0::of(A::load(x[i]), s0), s1));
}

using Pair = void (*)(const void*, const void*, void*, std::size_t);
using Scalars = void (*)(const void*, float, float, void*, std::size_t);

template <typename Op, typename A, typename B>
Pair choose_pair(bool out) {
  return out ? pair<Op, A, B, BF16> : pair<Op, A, B, F32>;
}
template <typename Op>
Pair choose_pair(bool a, bool b, bool out) {
  if (a) return b ? choose_pair<Op, BF16, BF16>(out) : choose_pair<Op, BF16, F32>(out);
  return b ? choose_pair<Op, F32, BF16>(out) : choose_pair<Op, F32, F32>(out);
}
template <typename Op0, typename Op1>
Scalars choose_scalars(bool a, bool out) {
  if (a) return out ? scalars<Op0, Op1, BF16, BF16> : scalars<Op0, Op1, BF16, F32>;
  return out ? scalars<Op0, Op1, F32, BF16> : scalars<Op0, Op1, F32, F32>;
}
template <typename Op0>
Scalars choose_scalars(AluOp op1, bool a, bool out) {
  if (op1 == AluOp::bypass) return choose_scalars<Op0, Bypass>(a, out);
  if (op1 == AluOp::add) return choose_scalars<Op0, Add>(a, out);
  if (op1 == AluOp::subtract) return choose_scalars<Op0, Subtract>(a, out);
  return op1 == AluOp::mult ? choose_scalars<Op0, Mult>(a, out) : nullptr;
}

bool all_pairs(AluOp op, PlainRow a, PlainRow b, PlainRow out, std::size_t count) {
  Pair work = nullptr;
  if (op == AluOp::add) work = choose_pair<Add>(a.is_bf16, b.is_bf16, out.is_bf16);
  if (op == AluOp::subtract) work = choose_pair<Subtract>(a.is_bf16, b.is_bf16, out.is_bf16);
  if (op == AluOp::mult) work = choose_pair<Mult>(a.is_bf16, b.is_bf16, out.is_bf16);
  if (work == nullptr) return false;
  work(a.at, b.at, const_cast<void*>(out.at), count);
  return true;
}

bool all_scalars(AluOp op0, float s0, AluOp op1, float s1, PlainRow a, PlainRow out, std::size_t count) {
  Scalars work = nullptr;
  if (op0 == AluOp::bypass) work = choose_scalars<Bypass>(op1, a.is_bf16, out.is_bf16);
  if (op0 == AluOp::add) work = choose_scalars<Add>(op1, a.is_bf16, out.is_bf16);
  if (op0 == AluOp::subtract) work = choose_scalars<Subtract>(op1, a.is_bf16, out.is_bf16);
  if (op0 == AluOp::mult) work = choose_scalars<Mult>(op1, a.is_bf16, out.is_bf16);
  if (work == nullptr) return false;
  work(a.at, s0, s1, const_cast<void*>(out.at), count);
  return true;
}

}  // namespace
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {

HWY_EXPORT(all_pairs);
HWY_EXPORT(all_scalars);

bool apply_fused(AluOp op, PlainRow a, PlainRow b, PlainRow out, std::size_t count) {
  if (a.at == nullptr || b.at == nullptr || out.at == nullptr) return false;
  return HWY_DYNAMIC_DISPATCH(all_pairs)(op, a, b, out, count);
}

bool apply_fused(AluOp op0, float scalar0, AluOp op1, float scalar1, PlainRow a, PlainRow out,
                 std::size_t count) {
  if (a.at == nullptr || out.at == nullptr) return false;
  return HWY_DYNAMIC_DISPATCH(all_scalars)(op0, scalar0, op1, scalar1, a, out, count);
}

}  // namespace ncemu
#endif  // HWY_ONCE
