#include "emu/data/stochastic_rounding.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "isa/number.h"

using namespace ncemu;

namespace {

const DType narrow[] = {DType::tf32,   DType::bf16,   DType::f16,     DType::f8e5m2,
                        DType::f8e4m3, DType::f8e3m4, DType::f8e4m3fn};

float rounded(DType type, float value, std::uint64_t random) {
  return from_bits(type, to_bits_stochastic(type, value, random));
}

}  // namespace

TEST_CASE("a value of the type stays what it is, whatever the random bits") {
  std::mt19937_64 random(1);
  for (const DType type : narrow) {
    if (type == DType::tf32) continue;
    for (std::uint32_t bits = 0; bits < (1U << (8 * size_of(type))); ++bits) {
      const float value = from_bits(type, bits);
      CHECK(to_bits_stochastic(type, value, random()) == to_bits(type, value));
    }
  }
}

TEST_CASE("no random bits give the neighbour towards zero, all of them the one away from it") {
  std::mt19937_64 random(2);
  for (const DType type : narrow) {
    for (int trial = 0; trial < 20000; ++trial) {
      const float value =
          std::ldexp(static_cast<float>(random() >> 40), static_cast<int>(random() % 60) - 50);
      const float low = rounded(type, value, 0), high = rounded(type, value, ~std::uint64_t{0});
      if (std::isinf(high) || std::isnan(high)) continue;
      CHECK(low <= value);
      CHECK(high >= value);
      if (low == value) CHECK(high == value);
      // Neighbours: the nearest-even rounding is one of them.
      const float nearest = from_bits(type, to_bits(type, value));
      CHECK((nearest == low || nearest == high));
    }
  }
}

TEST_CASE("the chance to round up is the distance from below") {
  StochasticRounding rounding(42);
  rounding.begin(Engine::vector);
  struct Case {
    DType type;
    float value, low, high;
  };
  // A quarter of a step, a subnormal three quarters of the way, and one beyond the largest fp8.
  const Case cases[] = {{DType::bf16, 1.0F + std::ldexp(1.0F, -9), 1.0F, 1.0F + std::ldexp(1.0F, -7)},
                        {DType::f8e4m3, std::ldexp(1.75F, -9), std::ldexp(1.0F, -9), std::ldexp(1.0F, -8)},
                        {DType::f8e4m3, -244.0F, -240.0F, -std::numeric_limits<float>::infinity()}};
  const double chances[] = {0.25, 0.75, 0.25};
  constexpr int draws = 40000;
  for (std::size_t c = 0; c < std::size(cases); ++c) {
    const std::vector<float> source(draws, cases[c].value);
    std::vector<std::byte> out(draws * static_cast<std::size_t>(size_of(cases[c].type)));
    rounding.convert(cases[c].type, source.data(), out.data(), 0, 1, 0, draws);
    int up = 0;
    for (int i = 0; i < draws; ++i) {
      std::uint32_t bits = 0;
      std::copy_n(out.begin() + i * size_of(cases[c].type), size_of(cases[c].type),
                  reinterpret_cast<std::byte*>(&bits));
      const float value = from_bits(cases[c].type, bits);
      REQUIRE((value == cases[c].low || value == cases[c].high));
      up += value == cases[c].high ? 1 : 0;
    }
    // Five standard deviations of a binomial draw.
    const double sigma = std::sqrt(chances[c] * (1 - chances[c]) / draws);
    CHECK(std::abs(up / static_cast<double>(draws) - chances[c]) < 5 * sigma);
  }
}

TEST_CASE("NaN and infinity do not round") {
  for (const DType type : narrow) {
    CHECK(std::isnan(rounded(type, std::numeric_limits<float>::quiet_NaN(), 5)));
    CHECK(to_bits_stochastic(type, std::numeric_limits<float>::infinity(), 5) ==
          to_bits(type, std::numeric_limits<float>::infinity()));
  }
}

TEST_CASE("the bits depend on seed, engine, instruction, lane and element, not on how rows are cut") {
  const std::vector<float> source(64, 1.0F + std::ldexp(1.0F, -8));
  const auto bytes = [&](std::uint64_t seed, Engine engine, int skipped) {
    StochasticRounding rounding(seed);
    for (int i = 0; i <= skipped; ++i) rounding.begin(engine);
    std::vector<std::byte> out(128);
    rounding.convert(DType::bf16, source.data(), out.data(), 3, 2, 10, 32);
    return out;
  };
  const auto base = bytes(1, Engine::vector, 0);
  CHECK((bytes(1, Engine::vector, 0) == base));
  CHECK_FALSE((bytes(2, Engine::vector, 0) == base));
  CHECK_FALSE((bytes(1, Engine::scalar, 0) == base));
  CHECK_FALSE((bytes(1, Engine::vector, 1) == base));

  StochasticRounding rounding(1);
  rounding.begin(Engine::vector);
  std::vector<std::byte> pieces(128);
  for (int lane = 0; lane < 2; ++lane) {
    for (int piece = 0; piece < 4; ++piece) {
      rounding.convert(DType::bf16, source.data(), pieces.data() + lane * 64 + piece * 16, 3 + lane, 1,
                       10 + piece * 8, 8);
    }
  }
  CHECK((pieces == base));
}
