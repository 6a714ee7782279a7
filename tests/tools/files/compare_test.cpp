#include "tools/files/compare.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace ncemu;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Difference difference(const std::vector<float>& got, const std::vector<double>& want,
                      const Tolerance& tolerance = {}) {
  return compare(DType::f32, bytes_of(got), want, tolerance);
}

}  // namespace

TEST_CASE("equal values are equal, also -0 and 0, NaN and NaN, and the same infinity") {
  const auto d = difference({1.5F, -0.0F, std::numeric_limits<float>::quiet_NaN(), static_cast<float>(inf)},
                            {1.5, 0.0, not_a_number, inf});
  CHECK(d.equal());
  CHECK(d.count == 4);
}

TEST_CASE("the tolerance is absolute plus relative to the reference, ends included") {
  CHECK(difference({1.25F}, {1.0}, {.relative = 0, .absolute = 0.25}).equal());
  CHECK(!difference({1.25F}, {1.0}, {.relative = 0, .absolute = 0.2499}).equal());
  CHECK(difference({150.0F}, {100.0}, {.relative = 0.5, .absolute = 0}).equal());
  CHECK(!difference({100.0F}, {150.0}, {.relative = 0.33, .absolute = 0}).equal());
  CHECK(difference({101.5F}, {100.0}, {.relative = 0.01, .absolute = 0.5}).equal());
}

TEST_CASE("the worst element is the one with the largest error, the first of several") {
  const auto d = difference({0, 3, 0, -3, 1}, {0, 0, 0, 0, 0});
  CHECK(d.different == 3);
  CHECK(d.worst == 1);
  CHECK(d.error == 3);
  CHECK(describe(d, std::vector<std::int64_t>{5}) ==
        "3 of 5 elements differ; worst at [1]: got 3, expected 0 (error 3)");
}

TEST_CASE("a NaN or an infinity on one side only differs by infinity whatever the tolerance") {
  const Tolerance wide{.relative = 10, .absolute = 1e30};
  CHECK(difference({std::numeric_limits<float>::quiet_NaN()}, {1}, wide).error == inf);
  CHECK(difference({1}, {not_a_number}, wide).error == inf);
  CHECK(difference({1}, {inf}, wide).different == 1);
  CHECK(difference({static_cast<float>(-inf)}, {inf}, wide).different == 1);
  CHECK(difference({0, 9, std::numeric_limits<float>::quiet_NaN()}, {0, 0, 1}).worst == 2);
}

TEST_CASE("by bits -0 and 0 differ and so do NaNs of different payload") {
  const std::vector<std::byte> a = {std::byte{0x80}, std::byte{0x7F}}, b = {std::byte{0x00}, std::byte{0x7E}};
  const auto d = compare_bits(DType::f8e5m2, a, b);
  CHECK(d.different == 2);
  CHECK(d.got_bits == 0x80);
  CHECK(d.want_bits == 0x00);
  CHECK(compare_bits(DType::f8e5m2, a, a).equal());
  CHECK(describe(d, std::vector<std::int64_t>{2}) ==
        "2 of 2 elements differ; worst at [0]: got -0, expected 0 (bits 0x80, expected 0x0)");
}

TEST_CASE("integers compare exactly beyond what a float holds") {
  const std::int32_t got = 16777217;
  std::vector<std::byte> bytes(4);
  std::memcpy(bytes.data(), &got, 4);
  CHECK(compare(DType::i32, bytes, std::vector<double>{16777217}, Tolerance{}).equal());
  CHECK(!compare(DType::i32, bytes, std::vector<double>{16777216}, Tolerance{}).equal());
}

TEST_CASE("an index is written slowest dimension first") {
  const std::vector<std::int64_t> shape = {2, 3, 4};
  CHECK(index_text(0, shape) == "[0, 0, 0]");
  CHECK(index_text(23, shape) == "[1, 2, 3]");
  CHECK(index_text(13, shape) == "[1, 0, 1]");
  CHECK(index_text(0, {}) == "[]");
  CHECK(shape_text(shape) == "[2, 3, 4]");
}
