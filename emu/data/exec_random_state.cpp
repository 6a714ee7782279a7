// The random generators of the gpsimd engine: their first state, rand_set_state, rand_get_state (datasheet
// 6.9). rng draws from them.

#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "emu/data/xorwow.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a bijection, so that no two lanes start alike.
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

void check(std::string_view mnemonic, const Operand& operand) {
  if (operand.dtype() == DType::u32 && operand.elements() == Xorwow::words) return;
  throw Fault(FaultKind::program, "", "{}: {} has {} elements per partition of {}, expected {} of u32",
              mnemonic, operand.name(), operand.elements(), name(operand.dtype()), Xorwow::words);
}

using Words = std::array<std::uint32_t, Xorwow::words>;

}  // namespace

std::array<Xorwow, 128> initial_generators() {
  std::array<Xorwow, 128> generators;
  std::uint64_t counter = 0;
  for (Xorwow& g : generators) {
    Words words;
    for (std::size_t i = 0; i < words.size(); i += 2) {
      const std::uint64_t bits = mix(counter += 0x9E3779B97F4A7C15);
      words[i] = static_cast<std::uint32_t>(bits) | 1U;
      words[i + 1] = static_cast<std::uint32_t>(bits >> 32);
    }
    g = Xorwow::from(words);
  }
  return generators;
}

void exec::rand_set_state(const Source& f, Engine, State& state) {
  const Operand src("rand_set_state", "src", f.src, state);
  check("rand_set_state", src);
  for (int lane = 0; lane < src.lanes(); ++lane) {
    Words words;
    src.read(Block{lane, 1, 0, Xorwow::words}, reinterpret_cast<std::byte*>(words.data()));
    state.gpsimd_generators[static_cast<std::size_t>(f.src.partition + lane)] = Xorwow::from(words);
  }
}

void exec::rand_get_state(const Destination& f, Engine, State& state) {
  Operand dst("rand_get_state", "dst", f.dst, state);
  check("rand_get_state", dst);
  for (int lane = 0; lane < dst.lanes(); ++lane) {
    const Words words = state.gpsimd_generators[static_cast<std::size_t>(f.dst.partition + lane)].state();
    dst.write(Block{lane, 1, 0, Xorwow::words}, reinterpret_cast<const std::byte*>(words.data()));
  }
  leave_groups(f.dst, state);
}

}  // namespace ncemu
