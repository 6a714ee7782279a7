#pragma once

// Memory ports that two engines cannot use at the same time (design: exclusions; datasheet 3.4). The
// pairs are rows of a table in ports.cpp. An instruction claims all its exclusive ports atomically for
// [start, start + stream]; only the other engine of a pair is kept out.

#include <array>
#include <cstdint>

#include "emu/timing/ticks.h"
#include "isa/instruction.h"

namespace ncemu {

// One bit for each side of each pair.
using PortBits = std::uint8_t;

// What the instruction claims; 0 when it shares nothing that is exclusive.
PortBits exclusive_ports(const Instruction& instruction, Engine engine, int generation);

class Ports {
 public:
  // From when on no other engine holds a port that excludes `bits`.
  Ticks free_at(PortBits bits) const;
  // Holds the ports in [from, to). `from` must not lie before free_at(bits).
  void claim(PortBits bits, Ticks from, Ticks to);

 private:
  std::array<Ticks, 8> until_{};  // per bit
};

}  // namespace ncemu
