#include "emu/timing/ports.h"

#include <algorithm>

#include "isa/fault.h"

namespace ncemu {
namespace {

struct Exclusion {
  int generation;
  Engine a, b;
  Space space;
};

// clang-format off
constexpr Exclusion exclusions[] = {
  // generation, engine,         engine,         memory         datasheet 3.4
  {2,            Engine::vector, Engine::gpsimd, Space::sbuf},
  {2,            Engine::vector, Engine::scalar, Space::psum},
};
// clang-format on
static_assert(std::size(exclusions) * 2 <= 8, "PortBits has one bit for each side of each exclusion");

// The bits of the other sides.
PortBits opponents(PortBits bits) {
  return static_cast<PortBits>(((bits & 0x55U) << 1) | ((bits & 0xAAU) >> 1));
}

}  // namespace

PortBits exclusive_ports(const Instruction& instruction, Engine engine, int generation) {
  if (info(instruction.opcode).is_control() || info(instruction.opcode).is_dma()) return 0;
  bool uses_sbuf = false;
  bool uses_psum = false;
  for_each_access(instruction, [&](const auto& pattern, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      (pattern.space == Space::psum ? uses_psum : uses_sbuf) = true;
    }
  });
  PortBits bits = 0;
  for (unsigned row = 0; row < std::size(exclusions); ++row) {
    const Exclusion& x = exclusions[row];
    if (x.generation != generation || !(x.space == Space::psum ? uses_psum : uses_sbuf)) continue;
    if (engine == x.a) bits = static_cast<PortBits>(bits | 1U << (2 * row));
    if (engine == x.b) bits = static_cast<PortBits>(bits | 2U << (2 * row));
  }
  return bits;
}

Ticks Ports::free_at(PortBits bits) const {
  const PortBits against = opponents(bits);
  Ticks at = 0;
  for (unsigned bit = 0; bit < until_.size(); ++bit) {
    if (against >> bit & 1U) at = std::max(at, until_[bit]);
  }
  return at;
}

void Ports::claim(PortBits bits, Ticks from, Ticks to) {
  ensure(from >= free_at(bits), "a port is claimed only when the other engine has left it");
  for (unsigned bit = 0; bit < until_.size(); ++bit) {
    if (bits >> bit & 1U) until_[bit] = std::max(until_[bit], to);
  }
}

}  // namespace ncemu
