#include "isa/number.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ncemu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Layout {
  DType type;
  int bits, mantissa_bits, bias;
  double max_finite;  // datasheet 4.2
};

// clang-format off
constexpr Layout small_floats[] = {
    {DType::bf16,     16,  7, 127, 3.3895313892515355e38},
    {DType::f16,      16, 10,  15, 65504},
    {DType::f8e5m2,    8,  2,  15, 57344},
    {DType::f8e4m3,    8,  3,   7, 240},
    {DType::f8e3m4,    8,  4,   3, 15.5},
    {DType::f8e4m3fn,  8,  3,   7, 448},
};
// clang-format on

// The value of a finite code, from the definition of a floating-point number.
double plain_value(const Layout& layout, std::uint32_t code) {
  const std::uint32_t magnitude = code & ((1U << (layout.bits - 1)) - 1);
  const double fraction = magnitude % (1U << layout.mantissa_bits) / std::pow(2.0, layout.mantissa_bits);
  const int field = static_cast<int>(magnitude >> layout.mantissa_bits);
  const double value = field == 0 ? fraction * std::pow(2.0, 1 - layout.bias)
                                  : (1 + fraction) * std::pow(2.0, field - layout.bias);
  return code >> (layout.bits - 1) ? -value : value;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

}  // namespace

TEST_CASE("conversions give the datasheet's vectors") {
  struct Vector {
    float value;
    DType type;
    std::uint32_t bits;
  };
  const std::vector<Vector> vectors = {
      {240.0F, DType::f8e4m3, 0x77},
      {247.9F, DType::f8e4m3, 0x77},
      {248.0F, DType::f8e4m3, 0x78},
      {448.0F, DType::f8e4m3, 0x78},
      {448.0F, DType::f8e4m3fn, 0x7E},
      {464.0F, DType::f8e4m3fn, 0x7E},
      {std::nextafter(464.0F, infinity), DType::f8e4m3fn, 0x7F},
      {0x1p-10F, DType::f8e4m3, 0x00},
      {0x1p-9F, DType::f8e4m3, 0x01},
      {61440.0F, DType::f8e5m2, 0x7C},
      {61439.0F, DType::f8e5m2, 0x7B},
      {65519.0F, DType::f16, 0x7BFF},
      {65520.0F, DType::f16, 0x7C00},
      {-3.4028235e38F, DType::f16, 0xFC00},
      {-3.4028235e38F, DType::bf16, 0xFF80},
      {-3.4028235e38F, DType::f8e5m2, 0xFC},
      {-3.4028235e38F, DType::f8e4m3, 0xF8},
      {-3.4028235e38F, DType::f8e3m4, 0xF0},
      {300.0F, DType::u8, 255},
      {-5.0F, DType::u8, 0},
      {200.0F, DType::i8, 0x7F},
      {-200.0F, DType::i8, 0x80},
      {1.00390625F, DType::bf16, 0x3F80},
      {1.01171875F, DType::bf16, 0x3F82},
  };
  for (const Vector& vector : vectors) {
    CAPTURE(vector.value);
    CAPTURE(name(vector.type));
    CHECK(to_bits(vector.type, vector.value) == vector.bits);
  }
  CHECK(from_bits(DType::i32, 16777217) == 16777216.0F);
  CHECK(from_bits(DType::f8e4m3, 0x77) == 240.0F);
  CHECK(from_bits(DType::f8e4m3fn, 0x7E) == 448.0F);
}

TEST_CASE("integers round to nearest even and saturate") {
  const float values[] = {0.5F, 1.5F, 2.5F, -0.5F, -1.5F, 126.5F, 300.0F, -300.0F, 1e10F};
  const int as_i8[] = {0, 2, 2, 0, -2, 126, 127, -128, 127};
  const std::int64_t as_i32[] = {0, 2, 2, 0, -2, 126, 300, -300, 2147483647};
  for (std::size_t i = 0; i < std::size(values); ++i) {
    CAPTURE(values[i]);
    CHECK(integer_from_bits(DType::i8, to_bits(DType::i8, values[i])) == as_i8[i]);
    CHECK(integer_from_bits(DType::i32, to_bits(DType::i32, values[i])) == as_i32[i]);
  }
  CHECK(to_bits(DType::u32, 4294967040.0F) == 0xFFFFFF00U);
  CHECK(to_bits(DType::u32, 4294967296.0F) == 0xFFFFFFFFU);
  CHECK(to_bits(DType::u32, -1.0F) == 0);
  CHECK(to_bits(DType::i32, -2147483648.0F) == 0x80000000U);
  CHECK(to_bits(DType::i32, 2147483520.0F) == 0x7FFFFF80U);
  for (DType type : {DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32}) {
    CAPTURE(name(type));
    CHECK(to_bits(type, nan) == 0);
    const std::int64_t high = integer_from_bits(type, to_bits(type, infinity));
    const std::int64_t low = integer_from_bits(type, to_bits(type, -infinity));
    CHECK(high - low + 1 == std::int64_t{1} << (8 * size_of(type)));
  }
}

TEST_CASE("integer literals saturate and every 8- and 16-bit integer comes back") {
  CHECK(integer_to_bits(DType::i8, 128) == 0x7F);
  CHECK(integer_to_bits(DType::i8, -129) == 0x80);
  CHECK(integer_to_bits(DType::u8, -1) == 0);
  CHECK(integer_to_bits(DType::u32, 0x1'0000'0000) == 0xFFFFFFFFU);
  CHECK(integer_from_bits(DType::u32, 0xFFFFFFFFU) == 4294967295);
  CHECK(integer_from_bits(DType::i32, 0xFFFFFFFFU) == -1);
  // Only the low bytes count.
  CHECK(integer_from_bits(DType::i8, 0xABCDEF80U) == -128);
  for (DType type : {DType::i8, DType::u8, DType::i16, DType::u16}) {
    for (std::uint32_t bits = 0; bits < 1U << (8 * size_of(type)); ++bits) {
      REQUIRE(to_bits(type, from_bits(type, bits)) == bits);
    }
  }
}

TEST_CASE("every 8- and 16-bit float has the value of its sign, exponent and mantissa and comes back") {
  for (const Layout& layout : small_floats) {
    CAPTURE(name(layout.type));
    int finite = 0, infinities = 0, nans = 0;
    double largest = 0;
    for (std::uint32_t code = 0; code < 1U << layout.bits; ++code) {
      CAPTURE(code);
      const float value = from_bits(layout.type, code);
      if (std::isnan(value)) {
        ++nans;
        REQUIRE(same_bits(value, nan));
        continue;
      }
      REQUIRE(to_bits(layout.type, value) == code);
      if (std::isinf(value)) {
        ++infinities;
        continue;
      }
      ++finite;
      largest = std::fmax(largest, value);
      REQUIRE(static_cast<double>(value) == plain_value(layout, code));
      REQUIRE(std::signbit(value) == (code >> (layout.bits - 1) != 0));
    }
    const bool ieee = layout.type != DType::f8e4m3fn;
    CHECK(infinities == (ieee ? 2 : 0));
    CHECK(nans == (ieee ? 2 * ((1 << layout.mantissa_bits) - 1) : 2));
    CHECK(finite + infinities + nans == 1 << layout.bits);
    CHECK(largest == doctest::Approx(layout.max_finite).epsilon(1e-12));
  }
}

TEST_CASE("values between two neighbours go to the nearer, halfway ones to the even code") {
  for (const Layout& layout : small_floats) {
    CAPTURE(name(layout.type));
    const std::uint32_t sign = 1U << (layout.bits - 1);
    for (std::uint32_t code = 0;; ++code) {
      const double low = plain_value(layout, code);
      const double high = plain_value(layout, code + 1);
      if (high > layout.max_finite * (1 + 1e-12)) break;
      // Exact in fp32: the midpoint has one more mantissa bit than the type. The smallest bf16 subnormals
      // too.
      const float middle = static_cast<float>((low + high) / 2);
      REQUIRE(static_cast<double>(middle) == (low + high) / 2);
      const std::uint32_t even = code % 2 == 0 ? code : code + 1;
      CAPTURE(code);
      REQUIRE(to_bits(layout.type, middle) == even);
      REQUIRE(to_bits(layout.type, -middle) == (even | sign));
      REQUIRE(to_bits(layout.type, std::nextafter(middle, 0.0F)) == code);
      REQUIRE(to_bits(layout.type, std::nextafter(middle, infinity)) == code + 1);
    }
  }
}

TEST_CASE("narrowing overflows to infinity half a step above the largest number, e4m3fn to NaN") {
  for (const Layout& layout : small_floats) {
    CAPTURE(name(layout.type));
    const bool ieee = layout.type != DType::f8e4m3fn;
    const std::uint32_t sign = 1U << (layout.bits - 1);
    const std::uint32_t last = to_bits(layout.type, static_cast<float>(layout.max_finite));
    const double step = plain_value(layout, last) - plain_value(layout, last - 1);
    const float limit = static_cast<float>(plain_value(layout, last) + step / 2);
    // The largest mantissa is odd in the IEEE formats and even (1110) in e4m3fn.
    CHECK(to_bits(layout.type, std::nextafter(limit, 0.0F)) == last);
    CHECK(to_bits(layout.type, limit) == (ieee ? last + 1 : last));
    CHECK(to_bits(layout.type, std::nextafter(limit, infinity)) == last + 1);
    CHECK(to_bits(layout.type, infinity) == last + 1);
    CHECK(to_bits(layout.type, -infinity) == (ieee ? (last + 1) | sign : last + 1));
  }
}

TEST_CASE("NaN becomes the type's quiet NaN whatever its payload and sign") {
  const std::uint32_t payloads[] = {0x7F800001U, 0x7FC00000U, 0xFFFFFFFFU, 0xFF812345U};
  for (std::uint32_t payload : payloads) {
    const float value = std::bit_cast<float>(payload);
    CHECK(to_bits(DType::f32, value) == 0x7FC00000U);
    CHECK(to_bits(DType::tf32, value) == 0x7FC00000U);
    CHECK(to_bits(DType::bf16, value) == 0x7FC0U);
    CHECK(to_bits(DType::f16, value) == 0x7E00U);
    CHECK(to_bits(DType::f8e5m2, value) == 0x7EU);
    CHECK(to_bits(DType::f8e4m3, value) == 0x7CU);
    CHECK(to_bits(DType::f8e3m4, value) == 0x78U);
    CHECK(to_bits(DType::f8e4m3fn, value) == 0x7FU);
  }
}

TEST_CASE("tf32 rounds when written and truncates when read") {
  const float above_one = std::bit_cast<float>(0x3F801000U);  // 1 + half a tf32 step
  CHECK(to_bits(DType::tf32, above_one) == 0x3F800000U);
  CHECK(to_bits(DType::tf32, std::nextafter(above_one, 2.0F)) == 0x3F802000U);
  CHECK(to_bits(DType::tf32, std::bit_cast<float>(0x3F803000U)) == 0x3F804000U);
  CHECK(to_bits(DType::tf32, std::numeric_limits<float>::max()) == 0x7F800000U);
  CHECK(same_bits(from_bits(DType::tf32, 0x3F801FFFU), 1.0F));
  CHECK(same_bits(from_bits(DType::tf32, 0x80001FFFU), -0.0F));
  CHECK(same_bits(from_bits(DType::tf32, 0x00002000U), std::bit_cast<float>(0x00002000U)));
}

TEST_CASE("fp32 passes unchanged, subnormals and signed zeros included") {
  std::uint32_t pattern = 1;
  for (int i = 0; i < 1'000'000; ++i) {
    pattern = pattern * 1664525U + 1013904223U;
    const float value = std::bit_cast<float>(pattern);
    if (std::isnan(value)) continue;
    REQUIRE(to_bits(DType::f32, value) == pattern);
    REQUIRE(std::bit_cast<std::uint32_t>(from_bits(DType::f32, pattern)) == pattern);
  }
  CHECK(to_bits(DType::f32, -0.0F) == 0x80000000U);
  CHECK(from_bits(DType::f32, 1) == std::numeric_limits<float>::denorm_min());
}

// The compiler's own half-precision type is an independent implementation of IEEE binary16.
#ifdef __FLT16_MANT_DIG__
TEST_CASE("f16 agrees with the compiler's half-precision type on a million random patterns") {
  std::uint32_t pattern = 7;
  for (int i = 0; i < 1'000'000; ++i) {
    pattern = pattern * 1664525U + 1013904223U;
    // Half of the samples inside the range of f16, exponents -27 to 16.
    const std::uint32_t sample =
        i % 2 == 0 ? pattern : (pattern & 0x807FFFFFU) | ((100U + (pattern >> 8) % 44U) << 23);
    const float value = std::bit_cast<float>(sample);
    if (std::isnan(value)) continue;
    REQUIRE(to_bits(DType::f16, value) == std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)));
  }
}
#endif

}  // namespace ncemu
