#include "emu/timing/ports.h"

#include <algorithm>
#include <bit>

#include "emu/timing/cost.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

using Switches = MachineConfig::PortParameters;

constexpr std::uint32_t most_banks = 8;  // that PortBits tells apart; more would share the last bit

// What it is that two engines do not use at once.
enum class Shared : std::uint8_t {
  memory,    // any of it
  bank,      // the same bank of it
  fast_bus,  // a performance mode of the first engine takes the path of the second, which waits; never the
             // reverse
};

struct Exclusion {
  std::int64_t Switches::*enabled;
  Engine a, b;
  Space space;
  Shared shared;
  unsigned first_bit;  // those of side a, then those of side b
};

// clang-format off
constexpr Exclusion exclusions[] = {
  // switch,                        engine,         engine,         memory,      shared,           bits
  {&Switches::vector_gpsimd_sbuf, Engine::vector, Engine::gpsimd, Space::sbuf, Shared::memory,   0},
  {&Switches::vector_scalar_psum, Engine::vector, Engine::scalar, Space::psum, Shared::memory,   2},
  {&Switches::fast_vector_gpsimd, Engine::vector, Engine::gpsimd, Space::sbuf, Shared::fast_bus, 4},
  {&Switches::vector_scalar_bank, Engine::vector, Engine::scalar, Space::psum, Shared::bank,     8},  // first_bank_bit
};
// clang-format on

// The memories an instruction touches; of PSUM the banks, a bit each.
struct Touched {
  bool sbuf = false;
  PortBits banks = 0;
};

// The banks of [begin, end) of each partition. What lies outside of PSUM is refused before it runs.
PortBits banks_of(const Extent& reach, const Target& target) {
  const std::int64_t last = std::min(target.psum_banks, most_banks) - 1, bytes = target.psum_bank_bytes;
  const std::int64_t from = std::clamp<std::int64_t>(reach.begin / bytes, 0, last);
  const std::int64_t to = std::clamp<std::int64_t>((reach.end - 1) / bytes, from, last);
  return (PortBits{2} << to) - (PortBits{1} << from);
}

Touched touched(const Instruction& instruction, const Target& target) {
  Touched t;
  for_each_access(instruction, [&](const auto& pattern, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (pattern.space != Space::psum) {
        t.sbuf = true;
      } else if (pattern.index.present()) {
        t.banks |= banks_of({0, std::int64_t{target.psum_banks} * target.psum_bank_bytes}, target);
      } else {
        t.banks |= banks_of(extent(pattern), target);
      }
    }
  });
  return t;
}

PortUse use_of(const Exclusion& x, const Touched& t, bool is_a, const Instruction& instruction,
               const MachineConfig& machine) {
  const bool here = x.space == Space::psum ? t.banks != 0 : t.sbuf;
  if (!here) return {};
  const PortBits a = PortBits{1} << x.first_bit, b = a << 1;
  switch (x.shared) {
    case Shared::memory: return is_a ? PortUse{a, b} : PortUse{b, a};
    case Shared::fast_bus:
      if (!is_a) return {0, a};
      return in_performance_mode(instruction, machine) ? PortUse{a, 0} : PortUse{};
    case Shared::bank: {
      const PortBits banks_a = t.banks << x.first_bit, banks_b = banks_a << most_banks;
      return is_a ? PortUse{banks_a, banks_b} : PortUse{banks_b, banks_a};
    }
  }
  return {};
}

}  // namespace

PortUse port_use(const Instruction& instruction, Engine engine, const MachineConfig& machine) {
  if (info(instruction.opcode).is_control() || info(instruction.opcode).is_dma()) return {};
  if (engine != Engine::vector && engine != Engine::scalar && engine != Engine::gpsimd) return {};
  const Touched t = touched(instruction, machine.target);
  PortUse all;
  for (const Exclusion& x : exclusions) {
    if (machine.ports.*x.enabled == 0 || (engine != x.a && engine != x.b)) continue;
    const PortUse use = use_of(x, t, engine == x.a, instruction, machine);
    all.holds |= use.holds;
    all.waits |= use.waits;
  }
  return all;
}

Ticks Ports::free_at(const PortUse& use) const {
  Ticks at = 0;
  for (PortBits bits = use.waits; bits != 0; bits &= bits - 1)
    at = std::max(at, until_[static_cast<std::size_t>(std::countr_zero(bits))]);
  return at;
}

void Ports::claim(const PortUse& use, Ticks from, Ticks to) {
  ensure(from >= free_at(use), "a port is claimed only when the other engine has left it");
  for (PortBits bits = use.holds; bits != 0; bits &= bits - 1) {
    Ticks& until = until_[static_cast<std::size_t>(std::countr_zero(bits))];
    until = std::max(until, to);
  }
}

}  // namespace ncemu
