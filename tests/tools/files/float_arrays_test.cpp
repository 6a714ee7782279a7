#include "tools/files/float_arrays.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "isa/npy.h"
#include "isa/number.h"
#include "tools/files/checksum.h"

using namespace ncemu;

namespace {

template <typename T>
NpyArray array_of(const std::vector<T>& values) {
  NpyArray array;
  array.item_bytes = sizeof(T);
  array.shape = {static_cast<std::int64_t>(values.size())};
  array.data.resize(values.size() * sizeof(T));
  std::memcpy(array.data.data(), values.data(), array.data.size());
  return array;
}

constexpr DType float_types[] = {DType::f32,    DType::tf32,   DType::bf16,   DType::f16,
                                 DType::f8e5m2, DType::f8e4m3, DType::f8e3m4, DType::f8e4m3fn};

// Every exponent and sign, near the ends of each type's range, and what is no number; not a multiple of a
// block.
std::vector<float> awkward() {
  std::mt19937 random(7);
  std::vector<float> values;
  for (int i = 0; i < 10'007; ++i) {
    float value = 0;
    const auto bits = static_cast<std::uint32_t>(random());
    std::memcpy(&value, &bits, 4);
    values.push_back(value);
    values.push_back(
        std::ldexp(1.0F + static_cast<float>(random() % 4096) / 4096, static_cast<int>(i % 40) - 20));
  }
  for (const float v : {0.0F, -0.0F, 240.0F, 247.9F, 248.0F, 448.0F, 464.0F, 65504.0F, 65520.0F, 1e-45F}) {
    values.push_back(v);
    values.push_back(-v);
  }
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

}  // namespace

TEST_CASE("many floats at a time get the bits that one at a time gets") {
  const std::vector<float> singles = awkward();
  std::vector<double> doubles;
  for (const float v : singles) doubles.push_back(double{v} * (1 + 0x1p-30));
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (const NpyArray& array : {array_of(singles), array_of(doubles), array_of(halves)}) {
    for (const DType type : float_types) {
      const bool same_bytes = array.item_bytes == size_of(type) && (type == DType::f32 || type == DType::f16);
      if (same_bytes) continue;  // tensor_bytes() keeps the payload of a NaN there
      CHECK_MESSAGE(
          convert_floats(array.data, array.item_bytes, type).bytes == tensor_bytes(array, type, "x"),
          name(type), " from ", array.describe());
    }
  }
}

TEST_CASE("what the type cannot hold is counted, and what was infinite in the file is not") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(
      convert_floats(array_of<float>({300, -300, 240, infinity, NAN, 1}).data, 4, DType::f8e4m3).overflowed ==
      2);
  CHECK(convert_floats(array_of<float>({1e6F, -1e6F}).data, 4, DType::f16).overflowed == 2);
  CHECK(convert_floats(array_of<float>({3e38F}).data, 4, DType::f32).overflowed == 0);
  CHECK(convert_floats(array_of<double>({1e300, -1e300, HUGE_VAL, 1e30}).data, 8, DType::f32).overflowed ==
        2);
  CHECK(convert_floats(array_of<double>({1e300, 1e30}).data, 8, DType::f8e5m2).overflowed == 2);
}

TEST_CASE("XXH3 gives its published answers") {
  // xxHash's own sanity test, XXH3_64bits with seed 0: no bytes.
  CHECK(checksum({}) == 0x2D06800538D394C2);
}
