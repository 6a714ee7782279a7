#include "emu/data/large_angle.h"

#include <bit>

namespace ncemu {
namespace {

using Wide = unsigned __int128;

// The first 256 binary digits of 2/pi behind the point, after one word of zeros.
constexpr std::uint32_t two_over_pi[] = {0x00000000U, 0xA2F9836EU, 0x4E441529U, 0xFC2757D1U, 0xF534DDC0U,
                                         0xDB629599U, 0x3C439041U, 0xFE5163ABU, 0xDEBBC561U};

// 128 digits from digit `first` on, counting from the word of zeros.
Wide digits_from(int first) {
  const std::uint32_t* word = two_over_pi + first / 32;
  const int shift = first % 32;
  Wide digits = 0;
  for (int i = 0; i < 4; ++i) digits = digits << 32 | word[i];
  return shift == 0 ? digits : digits << shift | word[4] >> (32 - shift);
}

}  // namespace

LargeAngle reduce_large_angle(float angle) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(angle);
  const std::uint32_t significand = (bits & 0x007FFFFFU) | 0x00800000U;
  const int exponent = static_cast<int>(bits >> 23 & 0xFFU) - 150;  // |angle| = significand * 2^exponent

  // 2^exponent * 2/pi modulo 4 with 126 digits behind the point: digits of more weight are whole turns.
  // The product is then good to 2^-102, while no fp32 number comes closer to a quarter turn than 2^-35.
  const Wide quarters = significand * digits_from(32 + exponent - 2);
  const Wide half = Wide{1} << 125;
  const std::int64_t quadrant = static_cast<std::int64_t>((quarters + half) >> 126);
  const __int128 fraction = static_cast<__int128>(quarters - (static_cast<Wide>(quadrant) << 126));
  const double rest = static_cast<double>(fraction) * 0x1p-126 * 0x1.921fb54442d18p+0;
  return bits >> 31 ? LargeAngle{-quadrant, -rest} : LargeAngle{quadrant, rest};
}

}  // namespace ncemu
