#include "emu/data/matmul_kernel.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "isa/number.h"
#include "tests/emu/data/every_target.h"

namespace ncemu {
namespace {

// The definition: one chain per result, k ascending, one rounding per step.
std::vector<float> plain_sum(const std::vector<float>& stationary, const std::vector<float>& moving,
                             std::size_t k_count, std::size_t m_count, std::size_t n_count) {
  std::vector<float> result(m_count * n_count);
  for (std::size_t k = 0; k < k_count; ++k) {
    for (std::size_t m = 0; m < m_count; ++m) {
      for (std::size_t n = 0; n < n_count; ++n) {
        float& sum = result[m * n_count + n];
        sum = std::fma(stationary[k * m_count + m], moving[k * n_count + n], sum);
      }
    }
  }
  for (float& sum : result) {
    if (std::isnan(sum)) sum = std::numeric_limits<float>::quiet_NaN();
  }
  return result;
}

// Magnitudes over 40 binades, so that every rounding shows.
std::vector<float> wide_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const float mantissa = 1.0F + static_cast<float>(random() & 0x7FFFFFU) * 0x1p-23F;
    value = std::ldexp(random() & 1U ? mantissa : -mantissa, static_cast<int>(random() % 40) - 20);
  }
  return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

void check_shape(std::size_t k, std::size_t m, std::size_t n) {
  CAPTURE(k);
  CAPTURE(m);
  CAPTURE(n);
  const std::vector<float> stationary = wide_values(k * m, 1), moving = wide_values(k * n, 2);
  const std::vector<float> expected = plain_sum(stationary, moving, k, m, n);
  on_every_target([&] {
    PackingRoom room;
    // A guard behind the result: the last tile must not write past it.
    std::vector<float> found(m * n + 64, 12345.0F);
    matmul_sum({stationary.data(), m}, moving_of({moving.data(), n}), {k, m, n}, {found.data(), n}, room);
    for (std::size_t i = m * n; i < found.size(); ++i) REQUIRE(found[i] == 12345.0F);
    found.resize(m * n);
    REQUIRE(same_bits(found, expected));

    // Added to a part of a wider matrix, whose other columns stay.
    const std::size_t stride = n + 5;
    const std::vector<float> before = wide_values(m * stride, 3);
    std::vector<float> sums = before, wanted = before;
    for (std::size_t i = 0; i < m * n; ++i) wanted[i / n * stride + i % n] += expected[i];
    matmul_add({stationary.data(), m}, moving_of({moving.data(), n}), {k, m, n}, {sums.data(), stride}, room);
    REQUIRE(same_bits(sums, wanted));
  });
}

}  // namespace

TEST_CASE("every result is one chain of fused multiply-adds with k ascending, for awkward sizes") {
  for (std::size_t k : {1, 2, 3, 17, 31, 127, 128}) {
    for (std::size_t m : {1, 2, 3, 17, 31, 127, 128}) {
      for (std::size_t n : {1, 2, 3, 17, 31}) check_shape(k, m, n);
    }
  }
  for (std::size_t n : {127, 128, 511, 512}) {
    check_shape(128, 128, n);
    check_shape(127, 31, n);
    check_shape(1, 1, n);
  }
}

TEST_CASE("chains longer than a block of k and stationaries wider than a block of rows stay one chain") {
  for (std::size_t k : {129, 255, 256, 511, 512}) {
    check_shape(k, 5, 33);
    check_shape(k, 130, 7);
  }
  check_shape(3, 511, 512);
  check_shape(300, 257, 65);
}

TEST_CASE("a moving operand of any float type, its rows apart, is what its values are") {
  const std::size_t k = 130, m = 9, n = 71;
  const std::vector<float> stationary = wide_values(k * m, 5), values = wide_values(k * n, 6);
  for (const DType type : {DType::f32, DType::tf32, DType::bf16, DType::f16, DType::f8e5m2, DType::f8e4m3,
                           DType::f8e3m4, DType::f8e4m3fn}) {
    CAPTURE(name(type));
    const auto size = static_cast<std::size_t>(size_of(type));
    const std::size_t stride = n * size + 3;
    std::vector<std::byte> rows(k * stride, std::byte{0xFF});
    std::vector<float> moving(k * n);
    for (std::size_t i = 0; i < k * n; ++i) {
      // Small enough that every type can hold it.
      const std::uint32_t bits = to_bits(type, std::ldexp(values[i], -18));
      std::memcpy(rows.data() + i / n * stride + i % n * size, &bits, size);
      moving[i] = from_bits(type, bits);
    }
    const std::vector<float> expected = plain_sum(stationary, moving, k, m, n);
    on_every_target([&] {
      PackingRoom room;
      std::vector<float> found(m * n);
      CHECK(matmul_sum({stationary.data(), m}, {type, rows.data(), stride}, {k, m, n}, {found.data(), n},
                       room));
      CHECK(same_bits(found, expected));
    });
  }
}

TEST_CASE("finite results are known to be, and a sum that overflows on its way to memory is not") {
  const std::vector<float> one = {1.0F}, largest = {std::numeric_limits<float>::max()};
  on_every_target([&] {
    PackingRoom room;
    float result = 0;
    CHECK(matmul_sum({one.data(), 1}, moving_of({largest.data(), 1}), {1, 1, 1}, {&result, 1}, room));
    CHECK_FALSE(matmul_add({one.data(), 1}, moving_of({largest.data(), 1}), {1, 1, 1}, {&result, 1}, room));
    CHECK(std::isinf(result));
  });
}

TEST_CASE("products are not rounded before they are added") {
  // 1 + 2^-12 squared is 1 + 2^-11 + 2^-24, whose last bit only a fused step keeps.
  const std::vector<float> stationary = {-1.0F, 1.0F + 0x1p-12F}, moving = {1.0F + 0x1p-11F, 1.0F + 0x1p-12F};
  on_every_target([&] {
    PackingRoom room;
    float result = 0;
    matmul_sum({stationary.data(), 1}, moving_of({moving.data(), 1}), {2, 1, 1}, {&result, 1}, room);
    CHECK(result == 0x1p-24F);
  });
}

TEST_CASE("infinities and NaNs spread to their own results only, as the canonical NaN") {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> stationary(128 * 20, 0.0F), moving(128 * 50, 1.0F);
  for (std::size_t i = 0; i < 20; ++i) stationary[i * 20 + i] = 1.0F;
  moving[3 * 50 + 7] = infinity;                            // 0 x infinity in column 7 of every other row
  moving[5 * 50 + 40] = std::bit_cast<float>(0xFFFFABCDU);  // a NaN with sign and payload
  const std::vector<float> expected = plain_sum(stationary, moving, 128, 20, 50);
  CHECK(expected[3 * 50 + 7] == infinity);
  CHECK(std::isnan(expected[4 * 50 + 7]));
  CHECK(expected[4 * 50 + 8] == 1.0F);
  on_every_target([&] {
    PackingRoom room;
    std::vector<float> found(20 * 50);
    CHECK_FALSE(matmul_sum({stationary.data(), 20}, moving_of({moving.data(), 50}), {128, 20, 50},
                           {found.data(), 50}, room));
    CHECK(same_bits(found, expected));
    CHECK(std::bit_cast<std::uint32_t>(found[0 * 50 + 40]) == 0x7FC00000U);
  });
}

TEST_CASE("subnormal products and sums are kept") {
  const std::vector<float> stationary = {0x1p-100F, 0x1p-100F}, moving = {0x1p-40F, 0x1p-45F};
  on_every_target([&] {
    PackingRoom room;
    float result = 0;
    matmul_sum({stationary.data(), 1}, moving_of({moving.data(), 1}), {2, 1, 1}, {&result, 1}, room);
    CHECK(result == 0x1p-140F + 0x1p-145F);
  });
}

}  // namespace ncemu
