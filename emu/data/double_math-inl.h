// Elementary functions on vectors of doubles, compiled once per Highway target: our own, so that results do
// not depend on the host's libm. Only operations that IEEE 754 rounds exactly are used, never a fused
// multiply-add, so every target computes the same bits. Series are Taylor's unless a comment says otherwise:
// the reduced arguments are small enough, and anybody can check the coefficients. Errors are some 2^-50 of
// the result; callers round to fp32.

// Included once per target, hence this guard (see <hwy/foreach_target.h>).
#if defined(NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
#undef NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
#else
#define NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "emu/data/large_angle.h"

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::ScalableTag<double>;
using DoubleVector = hn::Vec<Doubles>;
using Longs = hn::RebindToSigned<Doubles>;
using LongVector = hn::Vec<Longs>;
using NarrowFloats = hn::Rebind<float, Doubles>;  // as many floats as a vector has doubles

HWY_INLINE DoubleVector doubles(double value) { return hn::Set(Doubles(), value); }
HWY_INLINE LongVector longs(std::int64_t value) { return hn::Set(Longs(), value); }

HWY_INLINE DoubleVector load_doubles(const float* source) {
  return hn::PromoteTo(Doubles(), hn::LoadU(NarrowFloats(), source));
}

// Rounds once to fp32, to nearest even; too large numbers become infinite.
HWY_INLINE void store_floats(DoubleVector value, float* destination) {
#if NCEMU_PLAIN_TARGET
  for (std::size_t i = 0; i < hn::Lanes(Doubles()); ++i) {
    // Out of the range of fp32 a cast is undefined. From half a step above the largest number on, numbers
    // round to infinity, below to the largest.
    constexpr double overflow = 0x1.ffffffp127, largest = std::numeric_limits<float>::max();
    const double number = hn::ExtractLane(value, i);
    const double magnitude = std::fabs(number);
    float rounded = magnitude >= overflow ? std::numeric_limits<float>::infinity()
                    : magnitude > largest ? std::numeric_limits<float>::max()
                                          : static_cast<float>(magnitude);
    destination[i] = std::copysign(rounded, static_cast<float>(std::copysign(1.0, number)));
  }
#else
  hn::StoreU(hn::DemoteTo(NarrowFloats(), value), NarrowFloats(), destination);
#endif
}

// coefficients[0] + x * (coefficients[1] + x * ...), highest first in time.
template <std::size_t count>
HWY_INLINE DoubleVector polynomial(DoubleVector x, const double (&coefficients)[count]) {
  DoubleVector sum = doubles(coefficients[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) sum = hn::Add(hn::Mul(sum, x), doubles(coefficients[i]));
  return sum;
}

// Adding this to a small number rounds it to an integer, which the low bits of the sum then hold.
constexpr double round_magic = 0x1.8p52;
constexpr std::int64_t round_magic_bits = 0x4338000000000000;

// ln 2 in two parts; the high one has 32 bits, so that products with small integers are exact.
constexpr double ln2_high = 0x1.62e42fee00000p-1, ln2_low = 0x1.a39ef35793c76p-33;

// e^x = scale * (1 + fraction), scale a power of two.
struct Exponential {
  DoubleVector scale, fraction;
};

// 1/1!, 1/2!, ...: the remainder is below 2^-56 for |r| <= ln 2 / 2.
constexpr double exp_series[] = {
    1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,       1.0 / 720,        1.0 / 5040,
    1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800,
};

HWY_INLINE Exponential exponential(DoubleVector x) {
  // Past these bounds every result of interest has become 0 or infinite in fp32.
  x = hn::Min(hn::Max(x, doubles(-700.0)), doubles(700.0));
  const DoubleVector shifted = hn::Add(hn::Mul(x, doubles(0x1.71547652b82fep+0)), doubles(round_magic));
  const DoubleVector n = hn::Sub(shifted, doubles(round_magic));
  const DoubleVector r = hn::Sub(hn::Sub(x, hn::Mul(n, doubles(ln2_high))), hn::Mul(n, doubles(ln2_low)));
  const LongVector exponent = hn::ShiftLeft<52>(hn::BitCast(Longs(), shifted));
  const DoubleVector scale = hn::BitCast(Doubles(), hn::Add(exponent, longs(0x3FF0000000000000)));
  return {scale, hn::Mul(r, polynomial(r, exp_series))};
}

HWY_INLINE DoubleVector exp(DoubleVector x) {
  const Exponential e = exponential(x);
  return hn::Add(e.scale, hn::Mul(e.scale, e.fraction));
}

// e^x - 1 without cancellation near 0.
HWY_INLINE DoubleVector expm1(DoubleVector x) {
  const Exponential e = exponential(x);
  return hn::Add(hn::Sub(e.scale, doubles(1.0)), hn::Mul(e.scale, e.fraction));
}

// ln(m) = 2 atanh(s), s = (m - 1) / (m + 1): s^2 <= 0.0295 for m within a factor of sqrt 2 of 1.
constexpr double atanh_series[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                   1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};

// Of normal positive numbers; accurate near 1 too.
HWY_INLINE DoubleVector log_of_normal(DoubleVector x) {
  // x = 2^k m, m from sqrt 1/2 to sqrt 2.
  const LongVector bits = hn::BitCast(Longs(), x);
  const LongVector k = hn::ShiftRight<52>(hn::Sub(bits, longs(0x3FE6A09E667F3BCD)));
  const DoubleVector m = hn::BitCast(Doubles(), hn::Sub(bits, hn::ShiftLeft<52>(k)));
  const DoubleVector k_double =
      hn::Sub(hn::BitCast(Doubles(), hn::Add(k, longs(round_magic_bits))), doubles(round_magic));
  const DoubleVector f = hn::Sub(m, doubles(1.0));
  const DoubleVector s = hn::Div(f, hn::Add(f, doubles(2.0)));
  const DoubleVector series = polynomial(hn::Mul(s, s), atanh_series);
  const DoubleVector log_m = hn::Mul(hn::Add(s, s), series);
  return hn::Add(hn::Mul(k_double, doubles(ln2_high)), hn::Add(log_m, hn::Mul(k_double, doubles(ln2_low))));
}

// Of any number that is fp32: those are normal doubles but for 0 and infinity.
HWY_INLINE DoubleVector log(DoubleVector x) {
  const DoubleVector infinity = doubles(std::numeric_limits<double>::infinity());
  DoubleVector result = log_of_normal(x);
  result = hn::IfThenElse(hn::Eq(x, infinity), infinity, result);
  result = hn::IfThenElse(hn::Eq(x, doubles(0.0)), hn::Neg(infinity), result);
  return hn::IfThenElse(hn::Lt(x, doubles(0.0)), doubles(std::numeric_limits<double>::quiet_NaN()), result);
}

// ln(1 + t) for 0 <= t <= 1; the part of t that 1 + t drops is added back.
HWY_INLINE DoubleVector log1p(DoubleVector t) {
  const DoubleVector u = hn::Add(t, doubles(1.0));
  const DoubleVector dropped = hn::Sub(t, hn::Sub(u, doubles(1.0)));
  return hn::Add(log_of_normal(u), hn::Div(dropped, u));
}

// G(a) of normal_tail. H(t) = (a + 4) G(a) as a polynomial of t = (a - 4) / (a + 4), by interpolation at the
// Chebyshev points of 0 <= a <= 16 in 200-bit arithmetic; error 2^-53.7.
// clang-format off
constexpr double scaled_tail_series[] = {
    0x1.82b4bb8c94dcep-1,   -0x1.373e3a893c28ep-1,  0x1.8c6dbf2cfc20dp-2,  -0x1.7dff2bff67c7dp-3,
    0x1.eec4cc3e61f25p-5,   -0x1.ee2761062be44p-8,  -0x1.c81719f60650ep-9,  0x1.ab82600c0624fp-10,
    0x1.17a4c8779fb18p-13,  -0x1.e4a42bc2caeedp-13, -0x1.004dd00a2fabfp-19, 0x1.26cf64053fa77p-15,
    0x1.83c6c2eef4593p-21,  -0x1.8cee185c7ade3p-18, -0x1.58c4c6c1e8197p-21, 0x1.0ce4861de736ep-20,
    0x1.2ec4c3ccd04d7p-22,  -0x1.03c56963b754dp-23, -0x1.46057baf49573p-24, -0x1.29e28f8aa7263p-27,
    0x1.6b8bae0bbf233p-30,
};
// clang-format on

// The largest a the series is for. Beyond it, the tail is below 2^-190: 0 in fp32.
constexpr double largest_tail = 16;

// G(a) = e^(a^2 / 2) Phi(-a) for 0 <= a <= 16, Phi the normal distribution: the tail without its steep
// factor.
HWY_INLINE DoubleVector scaled_tail(DoubleVector a) {
  const DoubleVector sum = hn::Add(a, doubles(4.0));
  const DoubleVector t = hn::Div(hn::Sub(a, doubles(4.0)), sum);
  return hn::Div(polynomial(t, scaled_tail_series), sum);
}

// An angle as whole quarter turns and a rest of at most an eighth of a turn.
struct QuarterTurns {
  LongVector quadrant;  // of which only the low two bits count
  DoubleVector rest;
};

// (-1)^n / (2n + 1)! and (-1)^n / (2n)!: remainders below 2^-60 for |r| <= pi / 4.
constexpr double sin_series[] = {1.0,
                                 -1.0 / 6,
                                 1.0 / 120,
                                 -1.0 / 5040,
                                 1.0 / 362880,
                                 -1.0 / 39916800,
                                 1.0 / 6227020800,
                                 -1.0 / 1307674368000,
                                 1.0 / 355687428096000};
constexpr double cos_series[] = {1.0,
                                 -1.0 / 2,
                                 1.0 / 24,
                                 -1.0 / 720,
                                 1.0 / 40320,
                                 -1.0 / 3628800,
                                 1.0 / 479001600,
                                 -1.0 / 87178291200,
                                 1.0 / 20922789888000};

// pi / 2 in three parts. The first two have 33 bits, so that their products with n are exact.
constexpr double half_pi_1 = 0x1.921fb54400000p+0, half_pi_2 = 0x1.0b4611a600000p-34,
                 half_pi_3 = 0x1.3198a2e037073p-69;

HWY_INLINE QuarterTurns quarter_turns(DoubleVector x) {
  const DoubleVector shifted = hn::Add(hn::Mul(x, doubles(0x1.45f306dc9c883p-1)), doubles(round_magic));
  const DoubleVector n = hn::Sub(shifted, doubles(round_magic));
  DoubleVector rest = hn::Sub(x, hn::Mul(n, doubles(half_pi_1)));
  rest = hn::Sub(hn::Sub(rest, hn::Mul(n, doubles(half_pi_2))), hn::Mul(n, doubles(half_pi_3)));
  QuarterTurns turns{hn::BitCast(Longs(), shifted), rest};
  const auto large = hn::Gt(hn::Abs(x), doubles(largest_small_angle));
  if (HWY_UNLIKELY(!hn::AllFalse(Doubles(), large))) {
    alignas(64) double angles[hn::MaxLanes(Doubles())], rests[hn::MaxLanes(Doubles())];
    alignas(64) std::int64_t quadrants[hn::MaxLanes(Doubles())];
    hn::Store(x, Doubles(), angles);
    hn::Store(turns.rest, Doubles(), rests);
    hn::Store(turns.quadrant, Longs(), quadrants);
    for (std::size_t i = 0; i < hn::Lanes(Doubles()); ++i) {
      if (!(std::fabs(angles[i]) > largest_small_angle) || std::isinf(angles[i])) continue;
      const LargeAngle reduced = reduce_large_angle(static_cast<float>(angles[i]));
      quadrants[i] = reduced.quadrant;
      rests[i] = reduced.rest;
    }
    turns = {hn::Load(Longs(), quadrants), hn::Load(Doubles(), rests)};
  }
  return turns;
}

// Of any number that is fp32.
HWY_INLINE DoubleVector sin(DoubleVector x) {
  const QuarterTurns turns = quarter_turns(x);
  const DoubleVector square = hn::Mul(turns.rest, turns.rest);
  const DoubleVector sine = hn::Mul(turns.rest, polynomial(square, sin_series));
  const DoubleVector cosine = polynomial(square, cos_series);
  const auto odd = hn::RebindMask(Doubles(), hn::TestBit(turns.quadrant, longs(1)));
  const LongVector sign = hn::ShiftLeft<62>(hn::And(turns.quadrant, longs(2)));
  const DoubleVector result = hn::IfThenElse(odd, cosine, sine);
  return hn::Xor(result, hn::BitCast(Doubles(), sign));
}

// (-1)^n / (2n + 1): the remainder is below 2^-51 for |t| <= tan(pi / 8).
constexpr double atan_series[] = {1.0,      -1.0 / 3,  1.0 / 5,  -1.0 / 7,  1.0 / 9,  -1.0 / 11,
                                  1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23,
                                  1.0 / 25, -1.0 / 27, 1.0 / 29, -1.0 / 31, 1.0 / 33, -1.0 / 35};

HWY_INLINE DoubleVector atan(DoubleVector x) {
  constexpr double quarter_pi = 0x1.921fb54442d18p-1;
  const DoubleVector a = hn::Abs(x);
  // atan a = pi/4 + atan((a - 1) / (a + 1)) = pi/2 + atan(-1 / a).
  const auto middle = hn::Gt(a, doubles(0x1.a827999fcef32p-2));  // tan(pi / 8)
  const auto far = hn::Gt(a, doubles(0x1.3504f333f9de6p+1));     // tan(3 pi / 8)
  DoubleVector numerator = hn::IfThenElse(middle, hn::Sub(a, doubles(1.0)), a);
  DoubleVector denominator = hn::IfThenElse(middle, hn::Add(a, doubles(1.0)), doubles(1.0));
  DoubleVector base = hn::IfThenElseZero(middle, doubles(quarter_pi));
  numerator = hn::IfThenElse(far, doubles(-1.0), numerator);
  denominator = hn::IfThenElse(far, a, denominator);
  base = hn::IfThenElse(far, doubles(2 * quarter_pi), base);
  const DoubleVector t = hn::Div(numerator, denominator);
  return hn::CopySign(hn::Add(base, hn::Mul(t, polynomial(hn::Mul(t, t), atan_series))), x);
}

}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NCEMU_EMU_DATA_DOUBLE_MATH_INL_H_
