#include "emu/data/alu.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "isa/fault.h"
#include "tests/emu/data/every_target.h"

namespace ncemu {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

// Steps between two floats on the number line.
std::int64_t ulps(float a, float b) {
  const auto place = [](float value) {
    const std::int64_t magnitude = bits(value) & 0x7FFFFFFFU;
    return std::signbit(value) ? -magnitude : magnitude;
  };
  return std::abs(place(a) - place(b));
}

struct Pairs {
  std::vector<float> a, b;
};

// Every pair of special values, then random bit patterns and everyday numbers.
Pairs pairs() {
  const float special[] = {0.0F,     -0.0F,     1.0F,   -1.0F,   2.0F,   -2.0F,      0.5F,
                           -3.0F,    7.0F,      1e-45F, -1e-45F, 1e-38F, 3e38F,      -3e38F,
                           infinity, -infinity, nan,    2.5F,    -7.25F, 16777216.0F};
  Pairs result;
  for (float a : special) {
    for (float b : special) {
      result.a.push_back(a);
      result.b.push_back(b);
    }
  }
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0F, 4.0F);
  for (int i = 0; i < 20'000; ++i) {
    result.a.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    result.b.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    result.a.push_back(normal(random));
    result.b.push_back(normal(random));
    result.a.push_back(std::round(normal(random)));
    result.b.push_back(std::round(normal(random)));
  }
  return result;
}

double python_mod(double a, double b) {
  if (std::isnan(a) || std::isnan(b) || std::isinf(a) || b == 0) return nan;
  const double remainder = std::fmod(a, b);
  if (remainder == 0) return std::copysign(0.0, b);
  return (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

float larger(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

float smaller(float a, float b) { return -larger(-a, -b); }

// The operators as the datasheet words them, in double where that rounds once to the same result.
float reference(AluOp op, float a, float b) {
  const double x = a, y = b;
  switch (op) {
    // clang-format off
    case AluOp::bypass:      return a;
    case AluOp::add:         return static_cast<float>(x + y);
    case AluOp::average:     return static_cast<float>(x + y);
    case AluOp::subtract:    return static_cast<float>(x - y);
    case AluOp::mult:        return static_cast<float>(x * y);
    case AluOp::divide:      return static_cast<float>(x / y);
    case AluOp::mod:         return static_cast<float>(python_mod(x, y));
    case AluOp::pow:         return static_cast<float>(std::pow(static_cast<long double>(a), static_cast<long double>(b)));
    case AluOp::max:         return larger(a, b);
    case AluOp::min:         return smaller(a, b);
    case AluOp::abs_max:     return std::isnan(b) || std::abs(x) > std::abs(y) ? a : b;
    case AluOp::abs_min:     return std::isnan(b) || std::abs(x) < std::abs(y) ? a : b;
    case AluOp::is_equal:    return x == y ? 1 : 0;
    case AluOp::not_equal:   return x != y ? 1 : 0;
    case AluOp::is_ge:       return x >= y ? 1 : 0;
    case AluOp::is_gt:       return x > y ? 1 : 0;
    case AluOp::is_le:       return x <= y ? 1 : 0;
    case AluOp::is_lt:       return x < y ? 1 : 0;
    case AluOp::logical_and: return x != 0 && y != 0 ? 1 : 0;
    case AluOp::logical_or:  return x != 0 || y != 0 ? 1 : 0;
    case AluOp::logical_xor: return (x != 0) != (y != 0) ? 1 : 0;
    case AluOp::abs:         return static_cast<float>(std::abs(x));
    case AluOp::rsqrt:       return static_cast<float>(1 / std::sqrt(x));
    case AluOp::reciprocal:  return static_cast<float>(1 / x);
    case AluOp::square:      return static_cast<float>(x * x);
    case AluOp::relu:        return std::isnan(a) ? nan : a > 0 ? a : 0;
    // clang-format on
    default: FAIL("not an arithmetic operator");
  }
  return nan;
}

std::vector<AluOp> arithmetic_operators() {
  std::vector<AluOp> result;
  for (std::size_t i = 0; i < names<AluOp>().size(); ++i) {
    if (!is_bitvec(static_cast<AluOp>(i))) result.push_back(static_cast<AluOp>(i));
  }
  return result;
}

void check_value(AluOp op, float a, float b, float found) {
  const float expected = reference(op, a, b);
  // The power is computed in double by two roundings; the rest is exactly rounded.
  const std::int64_t allowed = op == AluOp::pow ? 1 : 0;
  const bool good = std::isnan(expected) ? bits(found) == bits(nan) || op == AluOp::bypass
                                         : !std::isnan(found) && ulps(found, expected) <= allowed &&
                                               std::signbit(found) == std::signbit(expected);
  if (good) return;
  CAPTURE(a);
  CAPTURE(b);
  CAPTURE(found);
  CAPTURE(expected);
  REQUIRE(good);
}

}  // namespace

TEST_CASE("every arithmetic operator gives the datasheet's value for special, random and everyday pairs") {
  const Pairs inputs = pairs();
  on_every_target([&] {
    for (AluOp op : arithmetic_operators()) {
      CAPTURE(name(op));
      std::vector<float> out(inputs.a.size());
      apply(op, inputs.a.data(), inputs.b.data(), out.data(), out.size());
      for (std::size_t i = 0; i < out.size(); ++i) check_value(op, inputs.a[i], inputs.b[i], out[i]);
    }
  });
}

TEST_CASE("every target computes the same bits") {
  const Pairs inputs = pairs();
  for (AluOp op : arithmetic_operators()) {
    CAPTURE(name(op));
    std::vector<float> first;
    on_every_target([&] {
      std::vector<float> out(inputs.a.size());
      apply(op, inputs.a.data(), inputs.b.data(), out.data(), out.size());
      if (first.empty()) first = out;
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (bits(out[i]) != bits(first[i])) REQUIRE(bits(out[i]) == bits(first[i]));
      }
    });
  }
}

TEST_CASE("powers of small integers are exact") {
  on_every_target([] {
    for (int base = -12; base <= 12; ++base) {
      for (int exponent = 0; exponent <= 6; ++exponent) {
        const float a = static_cast<float>(base), b = static_cast<float>(exponent);
        float out = 0;
        apply(AluOp::pow, &a, &b, &out, 1);
        int expected = 1;
        for (int i = 0; i < exponent; ++i) expected *= base;
        CAPTURE(base);
        CAPTURE(exponent);
        REQUIRE(out == static_cast<float>(expected));
      }
    }
  });
}

TEST_CASE("a reversed operator swaps its operands, for every length and in place") {
  on_every_target([] {
    for (std::size_t count : {1, 2, 3, 31, 255, 256, 257, 511, 513}) {
      std::vector<float> a(count);
      for (std::size_t i = 0; i < count; ++i) a[i] = static_cast<float>(i) + 0.5F;
      std::vector<float> forward(count), reversed = a, unary(count);
      apply_scalar(AluOp::subtract, a.data(), 10.0F, false, forward.data(), count);
      apply_scalar(AluOp::subtract, reversed.data(), 10.0F, true, reversed.data(), count);
      apply_scalar(AluOp::square, a.data(), 10.0F, true, unary.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        REQUIRE(forward[i] == a[i] - 10.0F);
        REQUIRE(reversed[i] == 10.0F - a[i]);
        REQUIRE(unary[i] == a[i] * a[i]);
      }
    }
  });
}

TEST_CASE("reductions run in stream order from the first element") {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0.0F, 1000.0F);
  on_every_target([&] {
    for (std::size_t count : {1, 2, 31, 63, 64, 65, 127, 128, 511, 512}) {
      CAPTURE(count);
      std::vector<float> a(count);
      for (float& value : a) value = normal(random);
      for (AluOp op : arithmetic_operators()) {
        if (!is_reduction(op)) continue;
        CAPTURE(name(op));
        float expected = a[0];
        for (std::size_t i = 1; i < count; ++i) expected = reference(op, expected, a[i]);
        REQUIRE(bits(reduce(op, a.data(), count)) == bits(expected));
      }
    }
  });
}

TEST_CASE("sums of rows side by side have the roundings of each row alone, for every number of rows") {
  std::mt19937 random(21);
  std::normal_distribution<float> normal(0.0F, 1000.0F);
  for (const std::size_t rows : {1U, 15U, 16U, 17U, 40U}) {
    for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 63U, 511U}) {
      const std::size_t stride = count + 3;
      std::vector<float> values(rows * stride), initial(rows);
      for (float& value : values) value = normal(random);
      for (float& value : initial) value = normal(random);
      std::vector<float> expected = initial;
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t i = 0; i < count; ++i) expected[r] += values[r * stride + i];
      }
      on_every_target([&] {
        CAPTURE(rows);
        CAPTURE(count);
        std::vector<float> sums = initial;
        add_rows(values.data(), stride, rows, count, sums.data());
        for (std::size_t r = 0; r < rows; ++r) CHECK(bits(sums[r]) == bits(expected[r]));
      });
    }
  }
}

TEST_CASE("results may lie before the operands that they are made of") {
  constexpr std::size_t count = 300;
  std::vector<float> values(count + 40);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 97) - 30.5F;
  on_every_target([&] {
    for (const std::size_t shift : {0U, 1U, 7U, 16U, 33U}) {
      CAPTURE(shift);
      std::vector<float> a = values, b = values;
      apply(AluOp::subtract, a.data() + shift, a.data() + shift, a.data(), count);
      apply_scalar(AluOp::mult, b.data() + shift, 3.0F, false, b.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        REQUIRE(a[i] == 0);
        REQUIRE(b[i] == values[i + shift] * 3.0F);
      }
    }
  });
}

TEST_CASE("the maximum of zeros and NaNs does not depend on where they stand") {
  on_every_target([] {
    for (std::size_t place = 0; place < 200; ++place) {
      std::vector<float> a(200, -0.0F);
      a[place] = 0.0F;
      a[(place + 37) % 200] = nan;
      CHECK(bits(reduce(AluOp::max, a.data(), a.size())) == bits(0.0F));
      for (float& value : a) value = -value;
      CHECK(bits(reduce(AluOp::min, a.data(), a.size())) == bits(-0.0F));
    }
    const std::vector<float> only_nan(100, nan);
    CHECK(std::isnan(reduce(AluOp::max, only_nan.data(), only_nan.size())));
  });
}

TEST_CASE(
    "the largest and the smallest of a row of any length are those of the definition, one after the other") {
  std::mt19937 random(11);
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {0.0F, -0.0F, nan, infinity, -infinity, 1e-40F, -1e-40F};
  for (std::size_t count = 1; count < 200; ++count) {
    for (const bool plain : {true, false}) {
      std::vector<float> a(count);
      for (float& value : a) {
        value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-20F;
        if (!plain && random() % 8 == 0) value = special[random() % std::size(special)];
      }
      for (const AluOp op : {AluOp::max, AluOp::min}) {
        float expected = a[0];
        for (std::size_t i = 1; i < count; ++i) expected = reference(op, expected, a[i]);
        on_every_target([&] { REQUIRE(bits(reduce(op, a.data(), count)) == bits(expected)); });
      }
    }
  }
}

TEST_CASE("bitvec operators work on the element's bits and shifts stop at its width") {
  const std::vector<std::uint32_t> a = {0x000000F0U, 0xFFFFFF80U, 0x00000055U, 0xFFFFFFFFU};
  const auto run = [&](AluOp op, std::uint32_t b, int width, bool reversed = false) {
    std::vector<std::uint32_t> out(a.size());
    apply_scalar(op, a.data(), b, reversed, width, out.data(), a.size());
    const std::uint32_t mask = ~0U >> (32 - width);
    for (std::uint32_t& value : out) value &= mask;
    return out;
  };
  using Values = std::vector<std::uint32_t>;
  CHECK(run(AluOp::bitwise_not, 0, 8) == Values{0x0F, 0x7F, 0xAA, 0x00});
  CHECK(run(AluOp::bitwise_and, 0x3C, 8) == Values{0x30, 0x00, 0x14, 0x3C});
  CHECK(run(AluOp::bitwise_or, 0x3C, 8) == Values{0xFC, 0xBC, 0x7D, 0xFF});
  CHECK(run(AluOp::bitwise_xor, 0x3C, 8) == Values{0xCC, 0xBC, 0x69, 0xC3});
  CHECK(run(AluOp::logical_shift_left, 2, 8) == Values{0xC0, 0x00, 0x54, 0xFC});
  CHECK(run(AluOp::logical_shift_right, 2, 8) == Values{0x3C, 0x20, 0x15, 0x3F});
  CHECK(run(AluOp::arith_shift_right, 2, 8) == Values{0xFC, 0xE0, 0x15, 0xFF});
  CHECK(run(AluOp::logical_shift_left, 8, 8) == Values{0, 0, 0, 0});
  CHECK(run(AluOp::logical_shift_right, 8, 8) == Values{0, 0, 0, 0});
  CHECK(run(AluOp::arith_shift_right, 100, 8) == Values{0xFF, 0xFF, 0x00, 0xFF});
  CHECK(run(AluOp::logical_shift_right, 4, 32) == Values{0xF, 0x0FFFFFF8U, 0x5, 0x0FFFFFFFU});
  CHECK(run(AluOp::logical_shift_left, 31, 32) == Values{0, 0, 0x80000000U, 0x80000000U});
  CHECK(run(AluOp::logical_shift_right, 32, 32) == Values{0, 0, 0, 0});
  CHECK(run(AluOp::bypass, 1, 32) == a);
  // Reversed: the immediate is shifted by the elements; a negative amount is a large one.
  CHECK(run(AluOp::logical_shift_left, 1, 16, true) == Values{0, 0, 0, 0});
  const std::uint32_t amounts[] = {0, 3, 15, 16};
  std::uint32_t shifted[4];
  apply_scalar(AluOp::logical_shift_left, amounts, 1, true, 16, shifted, 4);
  CHECK(Values(shifted, shifted + 4) == Values{1, 8, 0x8000, 0});
  CHECK(reduce(AluOp::bitwise_and, a.data(), 4) == 0);
  CHECK(reduce(AluOp::bitwise_or, a.data(), 4) == 0xFFFFFFFFU);
  CHECK(reduce(AluOp::bitwise_xor, a.data(), 4) == (0xF0U ^ 0xFFFFFF80U ^ 0x55U ^ 0xFFFFFFFFU));
}

TEST_CASE("registers wrap, compare as signed numbers and divide downwards") {
  constexpr std::int32_t low = std::numeric_limits<std::int32_t>::min();
  constexpr std::int32_t high = std::numeric_limits<std::int32_t>::max();
  CHECK(apply_register(AluOp::add, high, 1) == low);
  CHECK(apply_register(AluOp::subtract, low, 1) == high);
  CHECK(apply_register(AluOp::mult, 65536, 65536) == 0);
  CHECK(apply_register(AluOp::is_lt, -1, 0) == 1);
  CHECK(apply_register(AluOp::max, -1, 0) == 0);
  CHECK(apply_register(AluOp::divide, 7, 2) == 3);
  CHECK(apply_register(AluOp::divide, -7, 2) == -4);
  CHECK(apply_register(AluOp::divide, low, -1) == low);
  CHECK(apply_register(AluOp::mod, -7, 2) == 1);
  CHECK(apply_register(AluOp::mod, 7, -2) == -1);
  CHECK(apply_register(AluOp::mod, 6, 3) == 0);
  CHECK(apply_register(AluOp::abs, low, 0) == low);
  CHECK(apply_register(AluOp::abs_max, -5, 5) == 5);
  CHECK(apply_register(AluOp::logical_shift_right, -1, 28) == 15);
  CHECK(apply_register(AluOp::arith_shift_right, -16, 2) == -4);
  CHECK(apply_register(AluOp::logical_shift_left, 1, 32) == 0);
  CHECK(apply_register(AluOp::logical_shift_left, 1, -1) == 0);
  CHECK_THROWS_WITH_AS(apply_register(AluOp::divide, 5, 0), "register_alu divide: 5 is divided by zero",
                       Fault);
  CHECK_THROWS_WITH_AS(apply_register(AluOp::rsqrt, 4, 0),
                       "register_alu: 'rsqrt' is not an operation on integers", Fault);
}

}  // namespace ncemu
