#pragma once

// Test data made from a few words: `random`, `uniform:lo=-1,hi=1`, `zeros`, `ones`, `iota`. Element i
// is a pure function of (seed, tensor name, i): the order of work and the host do not matter.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/types.h"

namespace ncemu {

enum class GeneratorKind : std::uint8_t { random, uniform, zeros, ones, iota };

struct Generator {
  GeneratorKind kind = GeneratorKind::zeros;
  double lo = 0, hi = 1;   // uniform
  std::uint64_t seed = 0;  // random and uniform
  bool seeded() const { return kind == GeneratorKind::random || kind == GeneratorKind::uniform; }
};

// Absent if the text does not begin with a generator's name. Throws Fault(input, where, ...) for a generator
// with parameters that it does not have or cannot read.
std::optional<Generator> parse_generator(std::string_view text, const std::string& where);

// "random:seed=3": what parse_generator reads back.
std::string describe(const Generator& generator);

// `count` elements of the type, for the tensor of this name. Values are computed in double, rounded to fp32
// and converted like any data (integers: nearest even, saturating). Throws Fault(input, name, ...) when iota
// runs past the largest value of the type.
std::vector<std::byte> generate(const Generator& generator, std::string_view name, DType dtype,
                                std::size_t count);

}  // namespace ncemu
