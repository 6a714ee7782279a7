// The arithmetic class. Most operators are plain loops that the compiler vectorises for each target; pow and
// the square root use the room's own functions.

#include "emu/data/alu.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/alu.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "emu/data/double_math-inl.h"
#include "isa/fault.h"

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
namespace {

// Rows are worked on in pieces through a buffer, which tells the compiler that nothing overlaps.
constexpr std::size_t piece = 256;

constexpr float canonical_nan = std::numeric_limits<float>::quiet_NaN();

HWY_INLINE std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
HWY_INLINE float truth(bool holds) { return holds ? 1.0F : 0.0F; }

// clang-format off
HWY_INLINE float add(float a, float b) { return a + b; }
HWY_INLINE float subtract(float a, float b) { return a - b; }
HWY_INLINE float mult(float a, float b) { return a * b; }
HWY_INLINE float divide(float a, float b) { return a / b; }
HWY_INLINE float is_equal(float a, float b) { return truth(a == b); }
HWY_INLINE float not_equal(float a, float b) { return truth(a != b); }
HWY_INLINE float is_ge(float a, float b) { return truth(a >= b); }
HWY_INLINE float is_gt(float a, float b) { return truth(a > b); }
HWY_INLINE float is_le(float a, float b) { return truth(a <= b); }
HWY_INLINE float is_lt(float a, float b) { return truth(a < b); }
HWY_INLINE float logical_and(float a, float b) { return truth((a != 0) & (b != 0)); }
HWY_INLINE float logical_or(float a, float b) { return truth((a != 0) | (b != 0)); }
HWY_INLINE float logical_xor(float a, float b) { return truth((a != 0) != (b != 0)); }
HWY_INLINE float abs(float a, float) { return std::fabs(a); }
HWY_INLINE float reciprocal(float a, float) { return 1.0F / a; }
HWY_INLINE float square(float a, float) { return a * a; }
HWY_INLINE float relu(float a, float) { return a <= 0 ? 0.0F : a; }
// clang-format on

// Equal numbers differ at most in the sign of zero: the conjunction of their bits is +0 unless both are -0.
// So order does not matter, and reductions may go several ways at once.
HWY_INLINE float max(float a, float b) {
  const float larger = (a > b) | (b != b) ? a : b;
  return a == b ? std::bit_cast<float>(bits_of(a) & bits_of(b)) : larger;
}

HWY_INLINE float min(float a, float b) {
  const float smaller = (a < b) | (b != b) ? a : b;
  return a == b ? std::bit_cast<float>(bits_of(a) | bits_of(b)) : smaller;
}

HWY_INLINE float abs_max(float a, float b) { return (std::fabs(a) > std::fabs(b)) | (b != b) ? a : b; }
HWY_INLINE float abs_min(float a, float b) { return (std::fabs(a) < std::fabs(b)) | (b != b) ? a : b; }

// The remainder with the divisor's sign, as in Python. fmod is exact, so that it has one result only.
HWY_INLINE float mod(float a, float b) {
  const float remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0F, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <float (*op)(float, float)>
HWY_INLINE void row(const float* a, const float* b, float* out, std::size_t count) {
  float result[piece];
  for (std::size_t i = 0; i < count; ++i) {
    const float value = op(a[i], b[i]);
    result[i] = value == value ? value : canonical_nan;
  }
  std::memcpy(out, result, count * sizeof(float));
}

// Applies `kernel` to a piece, in whole vectors of doubles.
template <typename Kernel>
HWY_INLINE void double_row(const float* a, const float* b, float* out, std::size_t count, Kernel kernel) {
  alignas(64) float left[piece], right[piece], result[piece];
  // The vectors may reach past `count`; what they find there is 1.
  std::fill_n(std::copy_n(a, count, left), piece - count, 1.0F);
  std::fill_n(std::copy_n(b, count, right), piece - count, 1.0F);
  const std::size_t lanes = hn::Lanes(Doubles());
  for (std::size_t i = 0; i < count; i += lanes) {
    store_floats(kernel(load_doubles(left + i), load_doubles(right + i)), result + i);
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = result[i] == result[i] ? result[i] : canonical_nan;
}

struct RsqrtKernel {
  HWY_INLINE DoubleVector operator()(DoubleVector a, DoubleVector) const {
    return hn::Div(doubles(1.0), hn::Sqrt(a));
  }
};

// |a|^b, wrong only where 0 x infinity appears or an operand is NaN.
struct MagnitudePowerKernel {
  HWY_INLINE DoubleVector operator()(DoubleVector a, DoubleVector b) const {
    return exp(hn::Mul(b, log(hn::Abs(a))));
  }
};

// The cases of C's pow, given the power of the magnitude.
float signed_power(float a, float b, float magnitude) {
  if (b == 0 || a == 1) return 1;
  if (std::isnan(a) || std::isnan(b)) return canonical_nan;
  if (std::fabs(a) == 1 && std::isinf(b)) return 1;
  if (!std::signbit(a)) return magnitude;
  const bool whole = std::isinf(b) || b == std::trunc(b);
  if (!whole) return a == 0 || std::isinf(a) ? magnitude : canonical_nan;
  const bool odd = !std::isinf(b) && std::fmod(b, 2.0F) != 0;
  return odd ? -magnitude : magnitude;
}

void power_row(const float* a, const float* b, float* out, std::size_t count) {
  float magnitudes[piece];
  double_row(a, b, magnitudes, count, MagnitudePowerKernel());
  for (std::size_t i = 0; i < count; ++i) out[i] = signed_power(a[i], b[i], magnitudes[i]);
}

void rsqrt_row(const float* a, const float* b, float* out, std::size_t count) {
  double_row(a, b, out, count, RsqrtKernel());
}

void bypass_row(const float* a, const float*, float* out, std::size_t count) {
  std::memmove(out, a, count * sizeof(float));
}

using Row = void (*)(const float*, const float*, float*, std::size_t);

Row row_of(AluOp op) {
  switch (op) {
    // clang-format off
    case AluOp::bypass:      return bypass_row;
    case AluOp::add:         return row<add>;
    case AluOp::subtract:    return row<subtract>;
    case AluOp::mult:        return row<mult>;
    case AluOp::divide:      return row<divide>;
    case AluOp::mod:         return row<mod>;
    case AluOp::pow:         return power_row;
    case AluOp::max:         return row<max>;
    case AluOp::min:         return row<min>;
    case AluOp::abs_max:     return row<abs_max>;
    case AluOp::abs_min:     return row<abs_min>;
    case AluOp::average:     return row<add>;
    case AluOp::is_equal:    return row<is_equal>;
    case AluOp::not_equal:   return row<not_equal>;
    case AluOp::is_ge:       return row<is_ge>;
    case AluOp::is_gt:       return row<is_gt>;
    case AluOp::is_le:       return row<is_le>;
    case AluOp::is_lt:       return row<is_lt>;
    case AluOp::logical_and: return row<logical_and>;
    case AluOp::logical_or:  return row<logical_or>;
    case AluOp::logical_xor: return row<logical_xor>;
    case AluOp::abs:         return row<abs>;
    case AluOp::rsqrt:       return rsqrt_row;
    case AluOp::reciprocal:  return row<reciprocal>;
    case AluOp::square:      return row<square>;
    case AluOp::relu:        return row<relu>;
    case AluOp::bitwise_not: case AluOp::bitwise_and: case AluOp::bitwise_or: case AluOp::bitwise_xor:
    case AluOp::logical_shift_left: case AluOp::logical_shift_right: case AluOp::arith_shift_right: break;
      // clang-format on
  }
  throw Fault(FaultKind::internal, "ncemu", "internal error: {} is not an arithmetic operator", name(op));
}

void all_apply(AluOp op, const float* a, const float* b, float* out, std::size_t count) {
  const Row kernel = row_of(op);
  for (std::size_t i = 0; i < count; i += piece) kernel(a + i, b + i, out + i, std::min(piece, count - i));
}

void all_apply_scalar(AluOp op, const float* a, float b, bool reversed, float* out, std::size_t count) {
  const Row kernel = row_of(op);
  float repeated[piece];
  std::fill_n(repeated, std::min(piece, count), b);
  const bool swap = reversed && !is_unary(op);
  for (std::size_t i = 0; i < count; i += piece) {
    const float* first = swap ? repeated : a + i;
    const float* second = swap ? a + i : repeated;
    kernel(first, second, out + i, std::min(piece, count - i));
  }
}

// One after the other: every rounding of the stream order counts.
template <float (*op)(float, float)>
float reduce_in_order(const float* a, std::size_t count) {
  float result = a[0];
  for (std::size_t i = 1; i < count; ++i) result = op(result, a[i]);
  return result;
}

// For operators whose result does not depend on the order: several chains side by side.
template <float (*op)(float, float)>
float reduce_in_any_order(const float* a, std::size_t count) {
  constexpr std::size_t chains = 32;
  if (count < 2 * chains) return reduce_in_order<op>(a, count);
  float results[chains];
  std::copy_n(a, chains, results);
  std::size_t i = chains;
  for (; i + chains <= count; i += chains) {
    for (std::size_t chain = 0; chain < chains; ++chain) results[chain] = op(results[chain], a[i + chain]);
  }
  return op(reduce_in_order<op>(results, chains),
            i < count ? reduce_in_order<op>(a + i, count - i) : results[0]);
}

float reduce_by(AluOp op, const float* a, std::size_t count) {
  switch (op) {
    // clang-format off
    case AluOp::add:         return reduce_in_order<add>(a, count);
    case AluOp::subtract:    return reduce_in_order<subtract>(a, count);
    case AluOp::mult:        return reduce_in_order<mult>(a, count);
    case AluOp::max:         return reduce_in_any_order<max>(a, count);
    case AluOp::min:         return reduce_in_any_order<min>(a, count);
    case AluOp::abs_max:     return reduce_in_order<abs_max>(a, count);
    case AluOp::abs_min:     return reduce_in_order<abs_min>(a, count);
    case AluOp::average:     return reduce_in_order<add>(a, count);
    case AluOp::logical_and: return reduce_in_order<logical_and>(a, count);
    case AluOp::logical_or:  return reduce_in_order<logical_or>(a, count);
    case AluOp::logical_xor: return reduce_in_order<logical_xor>(a, count);
    case AluOp::bypass: case AluOp::divide: case AluOp::mod: case AluOp::pow:
    case AluOp::is_equal: case AluOp::not_equal: case AluOp::is_ge: case AluOp::is_gt:
    case AluOp::is_le: case AluOp::is_lt:
    case AluOp::abs: case AluOp::rsqrt: case AluOp::reciprocal: case AluOp::square: case AluOp::relu:
    case AluOp::bitwise_not: case AluOp::bitwise_and: case AluOp::bitwise_or: case AluOp::bitwise_xor:
    case AluOp::logical_shift_left: case AluOp::logical_shift_right: case AluOp::arith_shift_right: break;
      // clang-format on
  }
  // Legality is the rules' business; what they might let through is still computed as written.
  float result = a[0];
  for (std::size_t i = 1; i < count; ++i) row_of(op)(&result, a + i, &result, 1);
  return result;
}

float all_reduce(AluOp op, const float* a, std::size_t count) {
  const float result = reduce_by(op, a, count);
  return result == result ? result : canonical_nan;
}

}  // namespace
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {

HWY_EXPORT(all_apply);
HWY_EXPORT(all_apply_scalar);
HWY_EXPORT(all_reduce);

void apply(AluOp op, const float* a, const float* b, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_apply)(op, a, b, out, count);
}

void apply_scalar(AluOp op, const float* a, float b, bool reversed, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_apply_scalar)(op, a, b, reversed, out, count);
}

float reduce(AluOp op, const float* a, std::size_t count) {
  ensure(count > 0, "a reduction has at least one element");
  return HWY_DYNAMIC_DISPATCH(all_reduce)(op, a, count);
}

}  // namespace ncemu
#endif  // HWY_ONCE
