#include "emu/data/stochastic_rounding.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

// SplitMix64's finaliser: every bit of the result depends on every bit of the argument.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

constexpr FloatFormat fp32 = float_format(DType::f32);

}  // namespace

std::uint32_t to_bits_stochastic(DType type, float value, std::uint64_t random) {
  ensure(is_float(type), "only floats round stochastically");
  const FloatFormat format = float_format(type);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~fp32.sign_bit();
  if (magnitude >= fp32.infinity() || type == DType::f32) return to_bits(type, value);

  // value = significand * 2^(exponent - 23), both formats counting subnormals from their smallest exponent.
  const int biased = static_cast<int>(magnitude >> fp32.mantissa_bits);
  const std::uint32_t fraction = magnitude & ((1U << fp32.mantissa_bits) - 1);
  const std::uint64_t significand = biased == 0 ? fraction : fraction | (1U << fp32.mantissa_bits);
  const int exponent = std::max(biased, 1) - fp32.bias;
  const int smallest = 1 - format.bias;
  const int dropped = fp32.mantissa_bits - format.mantissa_bits + std::max(0, smallest - exponent);
  // Below 2^-63 of the smallest step the chance to round up is not worth a bit.
  constexpr int most_dropped = 63;
  std::uint64_t kept = 0;
  if (dropped <= most_dropped) {
    const std::uint64_t below = (std::uint64_t{1} << dropped) - 1;
    kept = (significand + (random & below)) >> dropped;
  }
  // `kept` counts steps of the type at max(exponent, smallest); adding the exponent field carries correctly.
  const std::int64_t field = std::max(exponent, smallest) - smallest;
  std::uint64_t code = kept + (static_cast<std::uint64_t>(field) << format.mantissa_bits);
  if (code > format.last_number()) code = format.overflow();
  std::uint32_t result = static_cast<std::uint32_t>(code);
  if ((bits & fp32.sign_bit()) != 0) result |= format.sign_bit();
  return type == DType::tf32 ? result << tf32_dropped_bits : result;
}

void StochasticRounding::begin(Engine engine) {
  const auto e = static_cast<std::size_t>(engine);
  key_ = mix(mix(seed_ + e) + instructions_[e]++);
}

void StochasticRounding::convert(DType type, const float* source, std::byte* destination, int lane, int lanes,
                                 std::int64_t first, std::int64_t count) const {
  const auto size = static_cast<std::size_t>(size_of(type));
  for (int l = lane; l < lane + lanes; ++l) {
    const std::uint64_t lane_key = mix(key_ + static_cast<std::uint64_t>(l));
    for (std::int64_t i = first; i < first + count; ++i) {
      const std::uint32_t bits =
          to_bits_stochastic(type, *source++, mix(lane_key + static_cast<std::uint64_t>(i)));
      std::memcpy(destination, &bits, size);
      destination += size;
    }
  }
}

}  // namespace ncemu
