#include "emu/data/convert.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/convert.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "emu/data/float_decode-inl.h"
#include "isa/number.h"

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
#if NCEMU_PLAIN_TARGET

// The plain target is the definition itself, element by element.

template <typename Wide, typename Convert>
void widen(DType type, const std::byte* source, Wide* destination, std::size_t count, Convert convert) {
  const std::size_t size = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, source + i * size, size);
    destination[i] = convert(bits);
  }
}

template <typename Wide, typename Convert>
void narrow(DType type, const Wide* source, std::byte* destination, std::size_t count, Convert convert) {
  const std::size_t size = static_cast<std::size_t>(size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = convert(source[i]);
    std::memcpy(destination + i * size, &bits, size);
  }
}

void all_to_f32(DType type, const std::byte* source, float* destination, std::size_t count) {
  widen(type, source, destination, count, [type](std::uint32_t bits) { return from_bits(type, bits); });
}

void all_from_f32(DType type, const float* source, std::byte* destination, std::size_t count) {
  narrow(type, source, destination, count, [type](float value) { return to_bits(type, value); });
}

void all_to_u32(DType type, const std::byte* source, std::uint32_t* destination, std::size_t count) {
  widen(type, source, destination, count, [type](std::uint32_t bits) {
    return is_integer(type) ? static_cast<std::uint32_t>(integer_from_bits(type, bits)) : bits;
  });
}

void all_from_u32(DType type, const std::uint32_t* source, std::byte* destination, std::size_t count) {
  narrow(type, source, destination, count, [](std::uint32_t bits) { return bits; });
}

#else

// The low bytes of each lane.
template <DType type>
HWY_INLINE void store_low(IntVector bits, std::byte* destination) {
  const UintVector wide = hn::BitCast(Uints(), bits);
  if constexpr (size_of(type) == 4) {
    hn::StoreU(wide, Uints(), reinterpret_cast<std::uint32_t*>(destination));
  } else if constexpr (size_of(type) == 2) {
    const hn::Rebind<std::uint16_t, Uints> narrow;
    hn::StoreU(hn::TruncateTo(narrow, wide), narrow, reinterpret_cast<std::uint16_t*>(destination));
  } else {
    const hn::Rebind<std::uint8_t, Uints> narrow;
    hn::StoreU(hn::TruncateTo(narrow, wide), narrow, reinterpret_cast<std::uint8_t*>(destination));
  }
}

template <DType type>
HWY_INLINE IntVector encode(FloatVector value) {
  constexpr FloatFormat format = float_format(type);
  constexpr int shift = 23 - format.mantissa_bits;
  constexpr int width = 1 + format.exponent_bits + format.mantissa_bits;
  constexpr std::uint32_t bias_step = static_cast<std::uint32_t>(127 - format.bias) << 23;
  const Floats df;
  const IntVector bits = hn::BitCast(Ints(), value);
  const IntVector magnitude = hn::And(bits, ints(magnitude_mask));
  const auto is_nan = hn::Gt(magnitude, ints(f32_infinity));
  if constexpr (type == DType::f32) {
    return hn::IfThenElse(is_nan, ints(f32_nan), bits);
  } else if constexpr (type == DType::bf16) {
    // The upper half of fp32: the general rule below without what cannot happen.
    const UintVector wide = hn::BitCast(Uints(), bits);
    const UintVector odd = hn::And(hn::ShiftRight<16>(wide), hn::Set(Uints(), 1));
    const UintVector rounded = hn::Add(hn::Add(wide, odd), hn::Set(Uints(), 0x7FFF));
    return hn::IfThenElse(is_nan, ints(f32_nan >> 16U), hn::BitCast(Ints(), hn::ShiftRight<16>(rounded)));
  } else {
    // Half a step, a little less where the last kept bit is 0: ties go to even, carries into the exponent.
    const IntVector odd = hn::And(hn::ShiftRight<shift>(magnitude), ints(1));
    const IntVector rounded = hn::Add(hn::Add(magnitude, odd), ints((1U << (shift - 1)) - 1));
    IntVector code = hn::Sub(hn::ShiftRight<shift>(rounded), ints(bias_step >> shift));
    if constexpr (bias_step != 0) {
      // The sum with a number whose spacing is the type's smallest step rounds to that step.
      constexpr std::uint32_t smallest_normal = bias_step + (1U << 23);
      constexpr std::uint32_t magic = smallest_normal + (static_cast<std::uint32_t>(shift) << 23);
      const FloatVector sum = hn::Add(hn::BitCast(df, magnitude), hn::BitCast(df, ints(magic)));
      const IntVector subnormal = hn::Sub(hn::BitCast(Ints(), sum), ints(magic));
      code = hn::IfThenElse(hn::Lt(magnitude, ints(smallest_normal)), subnormal, code);
    }
    code = hn::Min(code, ints(format.overflow()));
    const IntVector sign =
        hn::BitCast(Ints(), hn::ShiftLeft<width - 1>(hn::ShiftRight<31>(hn::BitCast(Uints(), bits))));
    const auto no_number = format.has_infinity ? is_nan : hn::Eq(code, ints(format.overflow()));
    code = hn::IfThenElse(hn::Or(is_nan, no_number), ints(format.nan()), hn::Or(code, sign));
    if constexpr (type == DType::tf32) code = hn::ShiftLeft<tf32_dropped_bits>(code);
    return code;
  }
}

template <DType type>
HWY_INLINE FloatVector decode_integer(const std::byte* source) {
  const Floats df;
  if constexpr (type == DType::u32) {
    // Both halves are exact, so that the sum rounds once.
    const IntVector bits = load_unsigned<type>(source);
    const IntVector high = hn::BitCast(Ints(), hn::ShiftRight<16>(hn::BitCast(Uints(), bits)));
    const IntVector low = hn::And(bits, ints(0xFFFFU));
    return hn::Add(hn::Mul(hn::ConvertTo(df, high), hn::Set(df, 65536.0F)), hn::ConvertTo(df, low));
  } else if constexpr (type == DType::u8 || type == DType::u16) {
    return hn::ConvertTo(df, load_unsigned<type>(source));
  } else {
    return hn::ConvertTo(df, load_signed<type>(source));
  }
}

template <DType type>
HWY_INLINE IntVector encode_integer(FloatVector value) {
  const Floats df;
  value = hn::IfThenElseZero(hn::Eq(value, value), value);  // NaN to 0
  const FloatVector two_31 = hn::Set(df, 2147483648.0F);
  if constexpr (type == DType::u32) {
    // From 2^31 on every fp32 value is an integer, and subtracting 2^31 is exact.
    value = hn::Max(value, hn::Zero(df));
    const auto large = hn::Ge(value, two_31);
    const IntVector low = hn::NearestInt(hn::IfThenElse(large, hn::Sub(value, two_31), value));
    const IntVector bits = hn::IfThenElse(hn::RebindMask(Ints(), large), hn::Or(low, ints(sign_mask)), low);
    const auto too_large = hn::RebindMask(Ints(), hn::Ge(value, hn::Set(df, 4294967296.0F)));
    return hn::IfThenElse(too_large, ints(0xFFFFFFFFU), bits);
  } else if constexpr (type == DType::i32) {
    const IntVector bits = hn::NearestInt(hn::Max(value, hn::Neg(two_31)));
    return hn::IfThenElse(hn::RebindMask(Ints(), hn::Ge(value, two_31)), ints(magnitude_mask), bits);
  } else {
    // The bounds are integers: clamping first gives what rounding first would.
    constexpr bool is_signed = type == DType::i8 || type == DType::i16;
    constexpr int bits = 8 * size_of(type);
    constexpr float high = static_cast<float>((1 << (is_signed ? bits - 1 : bits)) - 1);
    constexpr float low = is_signed ? -high - 1 : 0;
    return hn::NearestInt(hn::Min(hn::Max(value, hn::Set(df, low)), hn::Set(df, high)));
  }
}

// One vector of each direction and class.

template <DType type>
struct ToFloat {
  using Wide = float;
  static HWY_INLINE void step(const std::byte* source, float* destination) {
    if constexpr (is_integer(type)) {
      hn::StoreU(decode_integer<type>(source), Floats(), destination);
    } else {
      hn::StoreU(decode_float<type>(source), Floats(), destination);
    }
  }
};

template <DType type>
struct FromFloat {
  using Wide = float;
  static HWY_INLINE void step(const float* source, std::byte* destination) {
    const FloatVector value = hn::LoadU(Floats(), source);
    if constexpr (is_integer(type)) {
      store_low<type>(encode_integer<type>(value), destination);
    } else {
      store_low<type>(encode<type>(value), destination);
    }
  }
};

template <DType type>
struct ToRaw {
  using Wide = std::uint32_t;
  static HWY_INLINE void step(const std::byte* source, std::uint32_t* destination) {
    constexpr bool is_signed = type == DType::i8 || type == DType::i16;
    const IntVector bits = is_signed ? load_signed<type>(source) : load_unsigned<type>(source);
    hn::StoreU(hn::BitCast(Uints(), bits), Uints(), destination);
  }
};

template <DType type>
struct FromRaw {
  using Wide = std::uint32_t;
  static HWY_INLINE void step(const std::uint32_t* source, std::byte* destination) {
    store_low<type>(hn::BitCast(Ints(), hn::LoadU(Uints(), source)), destination);
  }
};

constexpr std::size_t most_lanes = 16;
static_assert(HWY_MAX_BYTES / sizeof(float) <= most_lanes);

// Full vectors, then the rest through a buffer of one vector.
template <DType type, template <DType> class Kernel>
HWY_INLINE void widen(const std::byte* source, typename Kernel<type>::Wide* destination, std::size_t count) {
  constexpr std::size_t size = static_cast<std::size_t>(size_of(type));
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) Kernel<type>::step(source + i * size, destination + i);
  if (i == count) return;
  alignas(64) std::byte narrow[most_lanes * size] = {};
  alignas(64) typename Kernel<type>::Wide wide[most_lanes];
  std::memcpy(narrow, source + i * size, (count - i) * size);
  Kernel<type>::step(narrow, wide);
  std::memcpy(destination + i, wide, (count - i) * sizeof wide[0]);
}

template <DType type, template <DType> class Kernel>
HWY_INLINE void narrow(const typename Kernel<type>::Wide* source, std::byte* destination, std::size_t count) {
  constexpr std::size_t size = static_cast<std::size_t>(size_of(type));
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) Kernel<type>::step(source + i, destination + i * size);
  if (i == count) return;
  alignas(64) typename Kernel<type>::Wide wide[most_lanes] = {};
  alignas(64) std::byte narrow[most_lanes * size];
  std::memcpy(wide, source + i, (count - i) * sizeof wide[0]);
  Kernel<type>::step(wide, narrow);
  std::memcpy(destination + i * size, narrow, (count - i) * size);
}

template <template <DType> class Kernel, typename Wide>
void widen_any(DType type, const std::byte* source, Wide* destination, std::size_t count) {
  switch (type) {
    // clang-format off
    case DType::f32:      return widen<DType::f32,      Kernel>(source, destination, count);
    case DType::tf32:     return widen<DType::tf32,     Kernel>(source, destination, count);
    case DType::bf16:     return widen<DType::bf16,     Kernel>(source, destination, count);
    case DType::f16:      return widen<DType::f16,      Kernel>(source, destination, count);
    case DType::f8e5m2:   return widen<DType::f8e5m2,   Kernel>(source, destination, count);
    case DType::f8e4m3:   return widen<DType::f8e4m3,   Kernel>(source, destination, count);
    case DType::f8e3m4:   return widen<DType::f8e3m4,   Kernel>(source, destination, count);
    case DType::f8e4m3fn: return widen<DType::f8e4m3fn, Kernel>(source, destination, count);
    case DType::i8:       return widen<DType::i8,       Kernel>(source, destination, count);
    case DType::i16:      return widen<DType::i16,      Kernel>(source, destination, count);
    case DType::i32:      return widen<DType::i32,      Kernel>(source, destination, count);
    case DType::u8:       return widen<DType::u8,       Kernel>(source, destination, count);
    case DType::u16:      return widen<DType::u16,      Kernel>(source, destination, count);
    case DType::u32:      return widen<DType::u32,      Kernel>(source, destination, count);
      // clang-format on
  }
}

template <template <DType> class Kernel, typename Wide>
void narrow_any(DType type, const Wide* source, std::byte* destination, std::size_t count) {
  switch (type) {
    // clang-format off
    case DType::f32:      return narrow<DType::f32,      Kernel>(source, destination, count);
    case DType::tf32:     return narrow<DType::tf32,     Kernel>(source, destination, count);
    case DType::bf16:     return narrow<DType::bf16,     Kernel>(source, destination, count);
    case DType::f16:      return narrow<DType::f16,      Kernel>(source, destination, count);
    case DType::f8e5m2:   return narrow<DType::f8e5m2,   Kernel>(source, destination, count);
    case DType::f8e4m3:   return narrow<DType::f8e4m3,   Kernel>(source, destination, count);
    case DType::f8e3m4:   return narrow<DType::f8e3m4,   Kernel>(source, destination, count);
    case DType::f8e4m3fn: return narrow<DType::f8e4m3fn, Kernel>(source, destination, count);
    case DType::i8:       return narrow<DType::i8,       Kernel>(source, destination, count);
    case DType::i16:      return narrow<DType::i16,      Kernel>(source, destination, count);
    case DType::i32:      return narrow<DType::i32,      Kernel>(source, destination, count);
    case DType::u8:       return narrow<DType::u8,       Kernel>(source, destination, count);
    case DType::u16:      return narrow<DType::u16,      Kernel>(source, destination, count);
    case DType::u32:      return narrow<DType::u32,      Kernel>(source, destination, count);
      // clang-format on
  }
}

void all_to_f32(DType type, const std::byte* source, float* destination, std::size_t count) {
  if (type == DType::f32) {
    std::memcpy(destination, source, count * sizeof(float));
    return;
  }
  widen_any<ToFloat>(type, source, destination, count);
}

void all_from_f32(DType type, const float* source, std::byte* destination, std::size_t count) {
  narrow_any<FromFloat>(type, source, destination, count);
}

void all_to_u32(DType type, const std::byte* source, std::uint32_t* destination, std::size_t count) {
  widen_any<ToRaw>(type, source, destination, count);
}

void all_from_u32(DType type, const std::uint32_t* source, std::byte* destination, std::size_t count) {
  narrow_any<FromRaw>(type, source, destination, count);
}

#endif  // NCEMU_PLAIN_TARGET
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {

HWY_EXPORT(all_to_f32);
HWY_EXPORT(all_from_f32);
HWY_EXPORT(all_to_u32);
HWY_EXPORT(all_from_u32);

void to_f32(DType type, const std::byte* source, float* destination, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_to_f32)(type, source, destination, count);
}

void from_f32(DType type, const float* source, std::byte* destination, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_from_f32)(type, source, destination, count);
}

void to_u32(DType type, const std::byte* source, std::uint32_t* destination, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_to_u32)(type, source, destination, count);
}

void from_u32(DType type, const std::uint32_t* source, std::byte* destination, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(all_from_u32)(type, source, destination, count);
}

}  // namespace ncemu
#endif  // HWY_ONCE
