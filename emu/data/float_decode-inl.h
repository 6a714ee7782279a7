// Elements of the float types as vectors of fp32, bit for bit those of isa/number.h. Everything happens in
// 32-bit lanes. Only on targets with vectors: NCEMU_PLAIN_TARGET has the definition itself.

// Included once per target, hence this guard (see <hwy/foreach_target.h>).
#if defined(NCEMU_EMU_DATA_FLOAT_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NCEMU_EMU_DATA_FLOAT_DECODE_INL_H_
#undef NCEMU_EMU_DATA_FLOAT_DECODE_INL_H_
#else
#define NCEMU_EMU_DATA_FLOAT_DECODE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "emu/data/highway_targets.h"
#include "isa/number.h"
#include "isa/types.h"

#if !NCEMU_PLAIN_TARGET
HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Uints = hn::RebindToUnsigned<Floats>;
using FloatVector = hn::Vec<Floats>;
using IntVector = hn::Vec<Ints>;
using UintVector = hn::Vec<Uints>;

constexpr std::uint32_t sign_mask = 0x80000000U;
constexpr std::uint32_t magnitude_mask = 0x7FFFFFFFU;
constexpr std::uint32_t f32_infinity = 0x7F800000U;
constexpr std::uint32_t f32_nan = 0x7FC00000U;

HWY_INLINE IntVector ints(std::uint32_t bits) { return hn::Set(Ints(), static_cast<std::int32_t>(bits)); }

// Elements of 1, 2 or 4 bytes in 32-bit lanes; narrow ones sign-extended.
template <DType type>
HWY_INLINE IntVector load_signed(const std::byte* source) {
  if constexpr (size_of(type) == 4) {
    return hn::LoadU(Ints(), reinterpret_cast<const std::int32_t*>(source));
  } else if constexpr (size_of(type) == 2) {
    return hn::PromoteTo(
        Ints(), hn::LoadU(hn::Rebind<std::int16_t, Ints>(), reinterpret_cast<const std::int16_t*>(source)));
  } else {
    return hn::PromoteTo(
        Ints(), hn::LoadU(hn::Rebind<std::int8_t, Ints>(), reinterpret_cast<const std::int8_t*>(source)));
  }
}

template <DType type>
HWY_INLINE IntVector load_unsigned(const std::byte* source) {
  if constexpr (size_of(type) == 4) {
    return hn::LoadU(Ints(), reinterpret_cast<const std::int32_t*>(source));
  } else if constexpr (size_of(type) == 2) {
    return hn::PromoteTo(
        Ints(), hn::LoadU(hn::Rebind<std::uint16_t, Ints>(), reinterpret_cast<const std::uint16_t*>(source)));
  } else {
    return hn::PromoteTo(
        Ints(), hn::LoadU(hn::Rebind<std::uint8_t, Ints>(), reinterpret_cast<const std::uint8_t*>(source)));
  }
}

// Moves sign, exponent and mantissa to their places in fp32 and corrects the exponent's bias. No operation
// meets a subnormal operand unless the result is one: some hosts are a hundred times slower on those.
template <DType type>
HWY_INLINE FloatVector decode(const std::byte* source) {
  constexpr FloatFormat format = float_format(type);
  constexpr int shift = 23 - format.mantissa_bits;
  constexpr std::uint32_t bias_step = static_cast<std::uint32_t>(127 - format.bias) << 23;
  const Floats df;
  const IntVector loaded = load_signed<type>(source);
  const IntVector sign = hn::And(loaded, ints(sign_mask));
  const IntVector placed = type == DType::tf32 ? loaded : hn::ShiftLeft<shift>(loaded);
  const IntVector magnitude = hn::And(placed, ints((format.sign_bit() - 1) << shift));
  IntVector bits = hn::Add(magnitude, ints(bias_step));
  if constexpr (bias_step != 0) {
    // A subnormal number is (1 + fraction) x smallest normal - smallest normal.
    constexpr std::uint32_t smallest_normal = bias_step + (1U << 23);
    const FloatVector with_one = hn::BitCast(df, hn::Add(magnitude, ints(smallest_normal)));
    const FloatVector subnormal = hn::Sub(with_one, hn::BitCast(df, ints(smallest_normal)));
    bits = hn::IfThenElse(hn::Lt(magnitude, ints(1U << 23)), hn::BitCast(Ints(), subnormal), bits);
  }
  bits = hn::Or(bits, sign);
  const auto special =
      hn::Gt(magnitude,
             ints(((format.last_number() - (format.has_infinity ? 1 : 0)) << shift) | ((1U << shift) - 1)));
  if (HWY_UNLIKELY(!hn::AllFalse(Ints(), special))) {
    if constexpr (format.has_infinity) bits = hn::IfThenElse(special, hn::Or(ints(f32_infinity), sign), bits);
    const auto is_nan = hn::Gt(magnitude, ints(format.last_number() << shift));
    bits = hn::IfThenElse(is_nan, ints(f32_nan), bits);
  }
  return hn::BitCast(df, bits);
}

// bf16 is the upper half of fp32; only NaNs change.
HWY_INLINE FloatVector decode_bf16(const std::byte* source) {
  const IntVector bits = hn::ShiftLeft<16>(load_unsigned<DType::bf16>(source));
  const auto is_nan = hn::Gt(hn::And(bits, ints(magnitude_mask)), ints(f32_infinity));
  return hn::BitCast(Floats(), hn::IfThenElse(is_nan, ints(f32_nan), bits));
}

// The same for types inside f16, which hosts widen in one instruction, subnormals included: moved to f16's
// fields a number is off by the difference of the biases only, and a product with a power of two is exact.
template <DType type>
HWY_INLINE FloatVector decode_through_f16(const std::byte* source) {
  constexpr FloatFormat format = float_format(type);
  constexpr int shift = 10 - format.mantissa_bits;
  const Floats df;
  const hn::Rebind<std::int16_t, Floats> d16;
  hn::Vec<decltype(d16)> bits;
  if constexpr (type == DType::f16) {
    bits = hn::LoadU(d16, reinterpret_cast<const std::int16_t*>(source));
  } else {
    const hn::Rebind<std::int8_t, Floats> d8;
    const auto loaded = hn::PromoteTo(d16, hn::LoadU(d8, reinterpret_cast<const std::int8_t*>(source)));
    bits = hn::And(hn::ShiftLeft<shift>(loaded),
                   hn::Set(d16, static_cast<std::int16_t>(0x8000U | (0x7FU << shift))));
  }
  // f16's own infinities are right; NaNs must become canonical.
  constexpr bool has_f16_exponent = format.exponent_bits == 5;
  constexpr std::uint32_t last_plain =
      format.last_number() - (format.has_infinity && !has_f16_exponent ? 1 : 0);
  const auto magnitude = hn::And(bits, hn::Set(d16, std::int16_t{0x7FFF}));
  const auto special = hn::Gt(magnitude, hn::Set(d16, static_cast<std::int16_t>(last_plain << shift)));
  if (HWY_UNLIKELY(!hn::AllFalse(d16, special))) return decode<type>(source);
  const FloatVector wide = hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, Floats>(), bits));
  if constexpr (has_f16_exponent) return wide;
  return hn::Mul(wide, hn::Set(df, static_cast<float>(1 << (15 - format.bias))));
}

// As many elements as a vector has lanes. fp32 keeps the payload of a NaN.
template <DType type>
HWY_INLINE FloatVector decode_float(const std::byte* source) {
  if constexpr (type == DType::f32) {
    return hn::LoadU(Floats(), reinterpret_cast<const float*>(source));
  } else if constexpr (is_fp8(type) || type == DType::f16) {
    return decode_through_f16<type>(source);
  } else if constexpr (type == DType::bf16) {
    return decode_bf16(source);
  } else {
    return decode<type>(source);
  }
}

}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // !NCEMU_PLAIN_TARGET

#endif  // NCEMU_EMU_DATA_FLOAT_DECODE_INL_H_
