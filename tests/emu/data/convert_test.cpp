#include "emu/data/convert.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "isa/number.h"
#include "tests/emu/data/every_target.h"

namespace ncemu {
namespace {

std::vector<DType> all_types() {
  std::vector<DType> types;
  for (int i = 0; i < dtype_count; ++i) types.push_back(static_cast<DType>(i));
  return types;
}

// fp32 patterns where conversions turn: every exponent with mantissas around each type's rounding points,
// the neighbourhoods of integer bounds, and a million random ones.
std::vector<float> interesting_floats() {
  std::vector<std::uint32_t> patterns;
  for (std::uint32_t sign : {0U, 0x80000000U}) {
    for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
      for (int bit = 0; bit <= 23; ++bit) {
        for (std::uint32_t high : {0U, 1U, 2U, 3U, 7U, 0x7FU}) {
          const std::uint32_t middle = (high << bit) & 0x7FFFFFU;
          for (int delta = -1; delta <= 1; ++delta) {
            patterns.push_back(sign | ((exponent << 23 | middle) + static_cast<std::uint32_t>(delta)));
          }
        }
      }
    }
  }
  std::vector<float> values;
  for (std::uint32_t pattern : patterns) values.push_back(std::bit_cast<float>(pattern));
  for (double bound :
       {127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65535.0, 65536.0, 2147483648.0, 4294967296.0}) {
    for (double offset : {-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5}) {
      values.push_back(static_cast<float>(bound + offset));
      values.push_back(static_cast<float>(-bound + offset));
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  // Magnitudes near 1, where the narrow types live.
  std::normal_distribution<float> normal(0.0F, 30.0F);
  for (int i = 0; i < 200'000; ++i) values.push_back(normal(random));
  return values;
}

std::uint32_t element(const std::vector<std::byte>& bytes, std::size_t index, DType type) {
  const std::size_t size = static_cast<std::size_t>(size_of(type));
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

}  // namespace

TEST_CASE("every 8- and 16-bit pattern widens to the bits of the scalar definition on every target") {
  on_every_target([] {
    for (DType type : all_types()) {
      if (size_of(type) == 4) continue;
      CAPTURE(name(type));
      const std::size_t count = std::size_t{1} << (8 * size_of(type));
      std::vector<std::byte> codes(count * static_cast<std::size_t>(size_of(type)));
      for (std::uint32_t i = 0; i < count; ++i) {
        std::memcpy(codes.data() + i * static_cast<std::size_t>(size_of(type)), &i,
                    static_cast<std::size_t>(size_of(type)));
      }
      std::vector<float> values(count);
      to_f32(type, codes.data(), values.data(), count);
      for (std::uint32_t i = 0; i < count; ++i) {
        CAPTURE(i);
        REQUIRE(std::bit_cast<std::uint32_t>(values[i]) == std::bit_cast<std::uint32_t>(from_bits(type, i)));
      }
    }
  });
}

TEST_CASE("32-bit types widen to the bits of the scalar definition on every target") {
  const std::vector<float> patterns = interesting_floats();
  const std::byte* bytes = reinterpret_cast<const std::byte*>(patterns.data());
  on_every_target([&] {
    for (DType type : {DType::f32, DType::tf32, DType::i32, DType::u32}) {
      CAPTURE(name(type));
      std::vector<float> values(patterns.size());
      to_f32(type, bytes, values.data(), patterns.size());
      for (std::size_t i = 0; i < patterns.size(); ++i) {
        const std::uint32_t bits = std::bit_cast<std::uint32_t>(patterns[i]);
        CAPTURE(bits);
        REQUIRE(std::bit_cast<std::uint32_t>(values[i]) ==
                std::bit_cast<std::uint32_t>(from_bits(type, bits)));
      }
    }
  });
}

TEST_CASE("fp32 narrows to the bits of the scalar definition on every target") {
  const std::vector<float> values = interesting_floats();
  for (DType type : all_types()) {
    CAPTURE(name(type));
    std::vector<std::uint32_t> expected;
    for (float value : values) expected.push_back(to_bits(type, value));
    on_every_target([&] {
      std::vector<std::byte> codes(values.size() * static_cast<std::size_t>(size_of(type)));
      from_f32(type, values.data(), codes.data(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (element(codes, i, type) == expected[i]) continue;
        CAPTURE(values[i]);
        REQUIRE(element(codes, i, type) == expected[i]);
      }
    });
  }
}

TEST_CASE("rows of every length convert without touching their neighbours") {
  on_every_target([] {
    for (DType type : all_types()) {
      CAPTURE(name(type));
      const std::size_t size = static_cast<std::size_t>(size_of(type));
      for (std::size_t count = 0; count <= 67; ++count) {
        CAPTURE(count);
        // One element further on, so that nothing is aligned.
        std::vector<std::byte> codes((count + 2) * size, std::byte{0x31});
        std::vector<float> values(count + 2, -7.0F);
        to_f32(type, codes.data() + size, values.data() + 1, count);
        REQUIRE(values.front() == -7.0F);
        REQUIRE(values.back() == -7.0F);
        std::uint32_t sample = 0;
        std::memcpy(&sample, codes.data(), size);
        for (std::size_t i = 1; i <= count; ++i) REQUIRE(values[i] == from_bits(type, sample));

        std::vector<std::byte> back((count + 2) * size, std::byte{0xA5});
        from_f32(type, values.data() + 1, back.data() + size, count);
        for (std::size_t i = 0; i < back.size(); ++i) {
          const bool inside = i >= size && i < (count + 1) * size;
          if (!inside) REQUIRE(back[i] == std::byte{0xA5});
        }
      }
    }
  });
}

TEST_CASE("raw bits of integers extend by their sign and truncate on the way back") {
  on_every_target([] {
    const std::vector<std::byte> bytes = {std::byte{0x80}, std::byte{0xFF}, std::byte{0x7F}, std::byte{0x01},
                                          std::byte{0xFE}, std::byte{0xCA}, std::byte{0x00}, std::byte{0x90}};
    std::vector<std::uint32_t> wide(8);
    to_u32(DType::i8, bytes.data(), wide.data(), 8);
    CHECK(wide == std::vector<std::uint32_t>{0xFFFFFF80U, 0xFFFFFFFFU, 0x7F, 1, 0xFFFFFFFEU, 0xFFFFFFCAU, 0,
                                             0xFFFFFF90U});
    to_u32(DType::u8, bytes.data(), wide.data(), 8);
    CHECK(wide == std::vector<std::uint32_t>{0x80, 0xFF, 0x7F, 1, 0xFE, 0xCA, 0, 0x90});
    wide.resize(4);
    to_u32(DType::i16, bytes.data(), wide.data(), 4);
    CHECK(wide == std::vector<std::uint32_t>{0xFFFFFF80U, 0x017F, 0xFFFFCAFEU, 0xFFFF9000U});
    to_u32(DType::u16, bytes.data(), wide.data(), 4);
    CHECK(wide == std::vector<std::uint32_t>{0xFF80, 0x017F, 0xCAFE, 0x9000});
    wide.resize(2);
    to_u32(DType::u32, bytes.data(), wide.data(), 2);
    CHECK(wide == std::vector<std::uint32_t>{0x017FFF80U, 0x9000CAFEU});
    to_u32(DType::i32, bytes.data(), wide.data(), 2);
    CHECK(wide == std::vector<std::uint32_t>{0x017FFF80U, 0x9000CAFEU});

    for (DType type : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32}) {
      const std::size_t count = 8 / static_cast<std::size_t>(size_of(type));
      std::vector<std::uint32_t> values(count);
      std::vector<std::byte> back(8);
      to_u32(type, bytes.data(), values.data(), count);
      from_u32(type, values.data(), back.data(), count);
      CHECK(back == bytes);
    }
    const std::uint32_t large[] = {0x12345678U, 0xABCDEF01U};
    std::vector<std::byte> low(2);
    from_u32(DType::u8, large, low.data(), 2);
    CHECK(low == std::vector<std::byte>{std::byte{0x78}, std::byte{0x01}});
  });
}

TEST_CASE("an unknown vector target is refused with the known names") {
  try {
    restrict_vector_targets("sse9");
    FAIL("accepted");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    CHECK(fault.message() == "unknown vector target 'sse9'; known are scalar, avx2, avx3 and best");
  }
}

}  // namespace ncemu
