#include "emu/data/activation_functions.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/emu/data/every_target.h"

namespace ncemu {
namespace {

using F = ActivationFunction;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float slope = 0.25F;

std::vector<F> all_functions() {
  std::vector<F> result;
  for (std::size_t i = 0; i < names<F>().size(); ++i) result.push_back(static_cast<F>(i));
  return result;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

std::int64_t ulps(float a, float b) {
  const auto place = [](float value) {
    const std::int64_t magnitude = bits(value) & 0x7FFFFFFFU;
    return std::signbit(value) ? -magnitude : magnitude;
  };
  return std::abs(place(a) - place(b));
}

// The formulas of datasheet 5.3 in the host's 80-bit arithmetic, written so that they do not cancel.
long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double upper_tail(long double x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }
long double density(long double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L)); }
long double sigmoid_slope(long double z) { return sigmoid(z) * (1 + z * sigmoid(-z)); }

long double reference(F function, long double x) {
  switch (function) {
    // clang-format off
    case F::copy:                  return x;
    case F::square:                return x * x;
    case F::relu:                  return x > 0 ? x : 0;
    case F::prelu:                 return x > 0 ? x : slope * x;
    case F::abs:                   return std::abs(x);
    case F::sign:                  return x > 0 ? 1 : x < 0 ? -1 : 0;
    case F::exp:                   return std::exp(x);
    case F::log:                   return std::log(x);
    case F::sqrt:                  return std::sqrt(x);
    case F::rsqrt:                 return 1 / std::sqrt(x);
    case F::reciprocal:            return 1 / x;
    case F::sigmoid:               return sigmoid(x);
    case F::gelu:                  return x * upper_tail(-x);
    case F::gelu_dx:               return upper_tail(-x) + x * density(x);
    case F::gelu_apprx_tanh:       return x * sigmoid(2 * std::sqrt(2 / std::acos(-1.0L)) * (x + 0.044715L * x * x * x));
    case F::gelu_apprx_sigmoid:    return x * sigmoid(1.702L * x);
    case F::gelu_apprx_sigmoid_dx: return sigmoid_slope(1.702L * x);
    case F::silu:                  return x * sigmoid(x);
    case F::silu_dx:               return sigmoid_slope(x);
    case F::tanh:                  return std::tanh(x);
    case F::softplus:              return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
    case F::mish:                  return x > 5000 ? x : x * std::tanh(std::log1p(std::exp(x)));
    case F::erf:                   return std::erf(x);
    case F::erf_dx:                return 2 / std::sqrt(std::acos(-1.0L)) * std::exp(-x * x);
    case F::sin:                   return std::sin(x);
    case F::arctan:                return std::atan(x);
      // clang-format on
  }
  return nan;
}

// A million bit patterns over all of fp32, a hundred thousand numbers from -20 to 20, the neighbourhoods of
// the zeros of the derivatives, of multiples of pi and of powers of two.
std::vector<float> samples() {
  std::vector<float> values;
  for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << 32; pattern += 4297) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
  }
  for (int i = -50'000; i <= 50'000; ++i) values.push_back(static_cast<float>(i) * 0.0004F);
  const auto around = [&](float center) {
    for (std::uint32_t step = 0; step <= 200; ++step)
      values.push_back(std::bit_cast<float>(bits(center) + step - 100));
  };
  for (float zero : {-0.7517916F, -1.2784645F, -0.7511518F}) around(zero);
  for (int turns = 1; turns < 200; ++turns) around(static_cast<float>(turns * std::acos(-1.0) / 2));
  for (int exponent = -148; exponent <= 127; ++exponent) {
    around(std::ldexp(1.0F, exponent));
    around(-std::ldexp(1.0F, exponent));
  }
  // sin: the fp32 number nearest to a multiple of pi/2 for its size, and the end of the first reduction.
  for (float hard : {16367173.0F * 0x1p72F, 1048575.9F, 1048576.0F, 1048576.1F, 3e9F, 3.4028235e38F})
    around(hard);
  for (float edge : {88.72284F, -87.33655F, -103.97208F, 0.5F, 0.41421357F, 2.4142135F}) around(edge);
  return values;
}

float one(F function, float x) {
  float out = 0;
  apply(function, slope, &x, &out, 1);
  return out;
}

}  // namespace

TEST_CASE(
    "every function is within one ulp of the correctly rounded value, and nearly always it is that value") {
  const std::vector<float> values = samples();
  restrict_vector_targets("best");
  for (F function : all_functions()) {
    CAPTURE(name(function));
    std::vector<float> out(values.size());
    apply(function, slope, values.data(), out.data(), out.size());
    std::size_t not_nearest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float x = values[i];
      if (std::isnan(x) || std::isinf(x)) continue;
      const float expected = static_cast<float>(reference(function, x));
      const bool both_nan = std::isnan(expected) && bits(out[i]) == bits(nan);
      const std::int64_t distance = both_nan ? 0 : ulps(out[i], expected);
      if (std::isnan(out[i]) != std::isnan(expected) || distance > 1) {
        CAPTURE(x);
        CAPTURE(out[i]);
        CAPTURE(expected);
        REQUIRE(distance <= 1);
        REQUIRE(std::isnan(out[i]) == std::isnan(expected));
      }
      not_nearest += distance != 0;
    }
    CHECK(not_nearest <= 3);
  }
}

TEST_CASE("every target computes the same bits") {
  const std::vector<float> values = samples();
  for (F function : all_functions()) {
    CAPTURE(name(function));
    std::vector<float> first;
    on_every_target([&] {
      std::vector<float> out(values.size());
      apply(function, slope, values.data(), out.data(), out.size());
      if (first.empty()) first = out;
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (bits(out[i]) == bits(first[i])) continue;
        CAPTURE(values[i]);
        REQUIRE(bits(out[i]) == bits(first[i]));
      }
    });
  }
}

TEST_CASE("infinities give the limits") {
  struct Limit {
    F function;
    float at_minus, at_plus;
  };
  const float half_pi = static_cast<float>(std::acos(-1.0) / 2);
  // clang-format off
  const Limit limits[] = {
      {F::copy, -infinity, infinity},      {F::square, infinity, infinity},  {F::relu, 0, infinity},
      {F::prelu, -infinity, infinity},     {F::abs, infinity, infinity},     {F::sign, -1, 1},
      {F::exp, 0, infinity},               {F::log, nan, infinity},          {F::sqrt, nan, infinity},
      {F::rsqrt, nan, 0},                  {F::reciprocal, -0.0F, 0},        {F::sigmoid, 0, 1},
      {F::gelu, -0.0F, infinity},          {F::gelu_dx, -0.0F, 1},           {F::gelu_apprx_tanh, -0.0F, infinity},
      {F::gelu_apprx_sigmoid, -0.0F, infinity}, {F::gelu_apprx_sigmoid_dx, -0.0F, 1},
      {F::silu, -0.0F, infinity},          {F::silu_dx, -0.0F, 1},           {F::tanh, -1, 1},
      {F::softplus, 0, infinity},          {F::mish, -0.0F, infinity},       {F::erf, -1, 1},
      {F::erf_dx, 0, 0},                   {F::sin, nan, nan},               {F::arctan, -half_pi, half_pi},
  };
  // clang-format on
  CHECK(std::size(limits) == all_functions().size());
  on_every_target([&] {
    for (const Limit& limit : limits) {
      CAPTURE(name(limit.function));
      CHECK(bits(one(limit.function, -infinity)) == bits(limit.at_minus));
      CHECK(bits(one(limit.function, infinity)) == bits(limit.at_plus));
    }
  });
}

TEST_CASE("NaN of any payload gives the canonical NaN") {
  on_every_target([] {
    for (F function : all_functions()) {
      if (function == F::copy) continue;  // keeps the bits
      CAPTURE(name(function));
      for (std::uint32_t pattern : {0x7FC00000U, 0xFFFFFFFFU, 0x7F800001U}) {
        CHECK(bits(one(function, std::bit_cast<float>(pattern))) == bits(nan));
      }
    }
  });
}

TEST_CASE("exact values are exact") {
  on_every_target([] {
    CHECK(bits(one(F::exp, 0.0F)) == bits(1.0F));
    CHECK(bits(one(F::exp, -0.0F)) == bits(1.0F));
    CHECK(bits(one(F::log, 1.0F)) == bits(0.0F));
    CHECK(bits(one(F::log, 0.0F)) == bits(-infinity));
    CHECK(bits(one(F::log, -0.0F)) == bits(-infinity));
    CHECK(bits(one(F::reciprocal, 0.0F)) == bits(infinity));
    CHECK(bits(one(F::reciprocal, -0.0F)) == bits(-infinity));
    CHECK(bits(one(F::rsqrt, 0.0F)) == bits(infinity));
    CHECK(bits(one(F::rsqrt, 4.0F)) == bits(0.5F));
    CHECK(bits(one(F::sigmoid, 0.0F)) == bits(0.5F));
    CHECK(bits(one(F::prelu, -8.0F)) == bits(-2.0F));
    CHECK(bits(one(F::sign, -0.0F)) == bits(0.0F));
    CHECK(bits(one(F::relu, -0.0F)) == bits(0.0F));
    for (F odd : {F::tanh, F::erf, F::sin, F::arctan, F::sqrt, F::gelu, F::silu}) {
      CAPTURE(name(odd));
      CHECK(bits(one(odd, 0.0F)) == bits(0.0F));
      CHECK(bits(one(odd, -0.0F)) == bits(-0.0F));
    }
    // Datasheet A.1: the reference formula also outside the hardware's range.
    CHECK(one(F::sin, 9.0F) == doctest::Approx(0.41211849).epsilon(1e-7));
  });
}

TEST_CASE("rows of every length work in place and leave their neighbours alone") {
  on_every_target([] {
    for (F function : all_functions()) {
      CAPTURE(name(function));
      for (std::size_t count = 0; count <= 35; ++count) {
        std::vector<float> row(count + 2, 0.75F);
        apply(function, slope, row.data() + 1, row.data() + 1, count);
        REQUIRE(row.front() == 0.75F);
        REQUIRE(row.back() == 0.75F);
        const float expected = one(function, 0.75F);
        for (std::size_t i = 1; i <= count; ++i) REQUIRE(row[i] == expected);
      }
    }
  });
}

TEST_CASE("valid ranges are the datasheet's") {
  CHECK(valid_range(F::exp).low == -infinity);
  CHECK(valid_range(F::exp).high == infinity);
  CHECK_FALSE(valid_range(F::exp).magnitude);
  CHECK(valid_range(F::log).low == std::ldexp(1.0F, -64));
  CHECK(valid_range(F::log).high == std::ldexp(1.0F, 64));
  CHECK(valid_range(F::sqrt).low == std::ldexp(1.0F, -116));
  CHECK(valid_range(F::sqrt).high == std::ldexp(1.0F, 118));
  CHECK(valid_range(F::rsqrt).low == std::ldexp(1.0F, -87));
  CHECK(valid_range(F::rsqrt).high == std::ldexp(1.0F, 97));
  CHECK(valid_range(F::reciprocal).magnitude);
  CHECK(valid_range(F::reciprocal).high == std::ldexp(1.0F, 42));
  CHECK(valid_range(F::sin).high == static_cast<float>(std::acos(-1.0)));
  CHECK(valid_range(F::arctan).low == static_cast<float>(-std::acos(-1.0) / 2));
}

}  // namespace ncemu
