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

// The operators in doubles work in pieces through buffers.
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

HWY_INLINE float canonical(float value) { return value == value ? value : canonical_nan; }

// The result of an element may be stored where an operand of the same or an earlier one was, so that no
// iteration needs what another one stores (alu.h); the pragma says it to the compiler.
template <float (*op)(float, float)>
void row(const float* a, const float* b, float* out, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = canonical(op(a[i], b[i]));
}
template <float (*op)(float, float)>
void row_right(const float* a, float b, float* out, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = canonical(op(a[i], b));
}
template <float (*op)(float, float)>
void row_left(const float* a, float b, float* out, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = canonical(op(b, a[i]));
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

// An operator that works on pieces of two rows, for whole rows and for a row and a number.
using Piece = void (*)(const float*, const float*, float*, std::size_t);
template <Piece work>
void pieces(const float* a, const float* b, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; i += piece) work(a + i, b + i, out + i, std::min(piece, count - i));
}
template <Piece work, bool left>
void pieces_with(const float* a, float b, float* out, std::size_t count) {
  float repeated[piece];
  std::fill_n(repeated, std::min(piece, count), b);
  for (std::size_t i = 0; i < count; i += piece)
    work(left ? repeated : a + i, left ? a + i : repeated, out + i, std::min(piece, count - i));
}

void bypass_row(const float* a, const float*, float* out, std::size_t count) {
  std::memmove(out, a, count * sizeof(float));
}
void bypass_with(const float* a, float, float* out, std::size_t count) { bypass_row(a, a, out, count); }

// An operator on two rows, on a row and a number, and with the number as its first operand.
struct Rows {
  void (*pair)(const float*, const float*, float*, std::size_t);
  void (*right)(const float*, float, float*, std::size_t);
  void (*left)(const float*, float, float*, std::size_t);
};
template <float (*op)(float, float)>
constexpr Rows plain{row<op>, row_right<op>, row_left<op>};
template <Piece work>
constexpr Rows in_pieces{pieces<work>, pieces_with<work, false>, pieces_with<work, true>};

Rows rows_of(AluOp op) {
  switch (op) {
    // clang-format off
    case AluOp::bypass:      return {bypass_row, bypass_with, bypass_with};
    case AluOp::add:         return plain<add>;
    case AluOp::subtract:    return plain<subtract>;
    case AluOp::mult:        return plain<mult>;
    case AluOp::divide:      return plain<divide>;
    case AluOp::mod:         return plain<mod>;
    case AluOp::pow:         return in_pieces<power_row>;
    case AluOp::max:         return plain<max>;
    case AluOp::min:         return plain<min>;
    case AluOp::abs_max:     return plain<abs_max>;
    case AluOp::abs_min:     return plain<abs_min>;
    case AluOp::average:     return plain<add>;
    case AluOp::is_equal:    return plain<is_equal>;
    case AluOp::not_equal:   return plain<not_equal>;
    case AluOp::is_ge:       return plain<is_ge>;
    case AluOp::is_gt:       return plain<is_gt>;
    case AluOp::is_le:       return plain<is_le>;
    case AluOp::is_lt:       return plain<is_lt>;
    case AluOp::logical_and: return plain<logical_and>;
    case AluOp::logical_or:  return plain<logical_or>;
    case AluOp::logical_xor: return plain<logical_xor>;
    case AluOp::abs:         return plain<abs>;
    case AluOp::rsqrt:       return in_pieces<rsqrt_row>;
    case AluOp::reciprocal:  return plain<reciprocal>;
    case AluOp::square:      return plain<square>;
    case AluOp::relu:        return plain<relu>;
    case AluOp::bitwise_not: case AluOp::bitwise_and: case AluOp::bitwise_or: case AluOp::bitwise_xor:
    case AluOp::logical_shift_left: case AluOp::logical_shift_right: case AluOp::arith_shift_right: break;
      // clang-format on
  }
  throw Fault(FaultKind::internal, "ncemu", "internal error: {} is not an arithmetic operator", name(op));
}

void all_apply(AluOp op, const float* a, const float* b, float* out, std::size_t count) {
  rows_of(op).pair(a, b, out, count);
}

void all_apply_scalar(AluOp op, const float* a, float b, bool reversed, float* out, std::size_t count) {
  const Rows rows = rows_of(op);
  (reversed && !is_unary(op) ? rows.left : rows.right)(a, b, out, count);
}

// One after the other: every rounding of the stream order counts.
template <float (*op)(float, float)>
float reduce_in_order(const float* a, std::size_t count) {
  float result = a[0];
  for (std::size_t i = 1; i < count; ++i) result = op(result, a[i]);
  return result;
}

// For operators whose result does not depend on the order: several chains side by side.
template <float (*op)(float, float), std::size_t chains>
float reduce_in_chains(const float* a, std::size_t count) {
  float results[chains];
  std::copy_n(a, chains, results);
  std::size_t i = chains;
  for (; i + chains <= count; i += chains) {
    for (std::size_t chain = 0; chain < chains; ++chain) results[chain] = op(results[chain], a[i + chain]);
  }
  return op(reduce_in_order<op>(results, chains),
            i < count ? reduce_in_order<op>(a + i, count - i) : results[0]);
}
// Many chains hide the latency of a dozen instructions; short rows are over before they have begun.
template <float (*op)(float, float)>
float reduce_in_any_order(const float* a, std::size_t count) {
  constexpr std::size_t few = 32, many = 64;
  if (count < 2 * few) return reduce_in_order<op>(a, count);
  return count < 4 * many ? reduce_in_chains<op, few>(a, count) : reduce_in_chains<op, many>(a, count);
}

using Lanes = hn::ScalableTag<float>;
struct Larger {
  static HWY_INLINE hn::Vec<Lanes> of(hn::Vec<Lanes> a, hn::Vec<Lanes> b) { return hn::Max(a, b); }
};
struct Smaller {
  static HWY_INLINE hn::Vec<Lanes> of(hn::Vec<Lanes> a, hn::Vec<Lanes> b) { return hn::Min(a, b); }
};

// The largest or smallest of a row by the host's own instruction, which knows neither NaN nor the sign of
// zero: where one of them matters the row is gone through again.
template <typename Host, float (*op)(float, float)>
float extreme(const float* a, std::size_t count) {
  constexpr std::size_t chains = 4;
  const Lanes d;
  const std::size_t lanes = hn::Lanes(d), step = chains * lanes;
  if (count < step) return reduce_in_any_order<op>(a, count);
  hn::Vec<Lanes> best[chains];
  HWY_UNROLL(4)
  for (std::size_t c = 0; c < chains; ++c) best[c] = hn::LoadU(d, a);
  auto numbers = hn::Eq(best[0], best[0]);
  const auto take = [&](const float* from) HWY_ATTR {
    HWY_UNROLL(4)
    for (std::size_t c = 0; c < chains; ++c) {
      const auto value = hn::LoadU(d, from + c * lanes);
      best[c] = Host::of(best[c], value);
      numbers = hn::And(numbers, hn::Eq(value, value));
    }
  };
  for (std::size_t i = 0; i + step <= count; i += step) take(a + i);
  take(a + count - step);  // the rest, and some again: it changes nothing
  alignas(64) float lane[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(Host::of(Host::of(best[0], best[1]), Host::of(best[2], best[3])), d, lane);
  const float result = reduce_in_order<op>(lane, lanes);
  return !hn::AllTrue(d, numbers) || result == 0 ? reduce_in_any_order<op>(a, count) : result;
}

// Sums of several rows side by side, each in its order: eight rows in the lanes of a vector, four columns at
// a time through a transposition within blocks of four rows. Returns the columns done.
std::size_t add_columns(const float* a, std::size_t stride, std::size_t count, float* sums) {
#if HWY_MAX_BYTES >= 32
  const hn::CappedTag<float, 8> d8;
  const hn::CappedTag<float, 4> d4;
  if (hn::Lanes(d8) != 8) return 0;
  constexpr std::size_t groups = rows_together / 8;
  hn::Vec<decltype(d8)> sum[groups];
  for (std::size_t g = 0; g < groups; ++g) sum[g] = hn::LoadU(d8, sums + 8 * g);
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t g = 0; g < groups; ++g) {
      // Columns i to i + 3 of row r and, in the upper block, of row r + 4.
      const auto both = [&](std::size_t r) HWY_ATTR {
        const float* at = a + (8 * g + r) * stride + i;
        return hn::Combine(d8, hn::LoadU(d4, at + 4 * stride), hn::LoadU(d4, at));
      };
      const auto r0 = both(0), r1 = both(1), r2 = both(2), r3 = both(3);
      const auto low01 = hn::InterleaveLower(d8, r0, r2), low23 = hn::InterleaveLower(d8, r1, r3);
      const auto high01 = hn::InterleaveUpper(d8, r0, r2), high23 = hn::InterleaveUpper(d8, r1, r3);
      sum[g] = hn::Add(sum[g], hn::InterleaveLower(d8, low01, low23));
      sum[g] = hn::Add(sum[g], hn::InterleaveUpper(d8, low01, low23));
      sum[g] = hn::Add(sum[g], hn::InterleaveLower(d8, high01, high23));
      sum[g] = hn::Add(sum[g], hn::InterleaveUpper(d8, high01, high23));
    }
  }
  for (std::size_t g = 0; g < groups; ++g) hn::StoreU(sum[g], d8, sums + 8 * g);
  return i;
#else
  (void)a, (void)stride, (void)count, (void)sums;
  return 0;
#endif
}

void all_add_rows(const float* a, std::size_t stride, std::size_t rows, std::size_t count, float* sums) {
  std::size_t row = 0;
  for (; row + rows_together <= rows; row += rows_together) {
    const float* from = a + row * stride;
    const std::size_t done = add_columns(from, stride, count, sums + row);
    for (std::size_t i = done; i < count; ++i) {
      for (std::size_t r = 0; r < rows_together; ++r) sums[row + r] += from[r * stride + i];
    }
  }
  for (; row < rows; ++row) {
    float sum = sums[row];
    for (std::size_t i = 0; i < count; ++i) sum += a[row * stride + i];
    sums[row] = sum;
  }
}

float reduce_by(AluOp op, const float* a, std::size_t count) {
  switch (op) {
    // clang-format off
    case AluOp::add:         return reduce_in_order<add>(a, count);
    case AluOp::subtract:    return reduce_in_order<subtract>(a, count);
    case AluOp::mult:        return reduce_in_order<mult>(a, count);
    case AluOp::max:         return extreme<Larger, max>(a, count);
    case AluOp::min:         return extreme<Smaller, min>(a, count);
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
  for (std::size_t i = 1; i < count; ++i) rows_of(op).pair(&result, a + i, &result, 1);
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
HWY_EXPORT(all_add_rows);

void apply(AluOp op, const float* a, const float* b, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_apply)(op, a, b, out, count);
}

void apply_scalar(AluOp op, const float* a, float b, bool reversed, float* out, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_apply_scalar)(op, a, b, reversed, out, count);
}

void add_rows(const float* a, std::size_t stride, std::size_t rows, std::size_t count, float* sums) {
  HWY_DYNAMIC_DISPATCH(all_add_rows)(a, stride, rows, count, sums);
}

float reduce(AluOp op, const float* a, std::size_t count) {
  ensure(count > 0, "a reduction has at least one element");
  return HWY_DYNAMIC_DISPATCH(all_reduce)(op, a, count);
}

}  // namespace ncemu
#endif  // HWY_ONCE
