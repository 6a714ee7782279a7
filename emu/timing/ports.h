#pragma once

// What two engines cannot use of a memory at the same time (design: exclusions; datasheet 3.4). The pairs are
// rows of a table in ports.cpp, each switched by a parameter of the machine. An instruction claims what it
// uses at once for [start, start + stream].

#include <array>
#include <cstdint>

#include "emu/machine_config.h"
#include "emu/timing/ticks.h"
#include "isa/instruction.h"

namespace ncemu {

// One bit for each side of each pair; of a pair that shares banks one for each side of each bank.
using PortBits = std::uint32_t;

struct PortUse {
  PortBits holds = 0;  // while the instruction streams
  PortBits waits = 0;  // it does not start while another holds any of these
  bool nothing() const { return (holds | waits) == 0; }
  // Not the same for all instructions of a shape: it matters where their operands begin.
  bool of_banks() const { return (holds | waits) >= first_bank_bit; }
  static constexpr PortBits first_bank_bit = 1U << 8;
  friend bool operator==(const PortUse&, const PortUse&) = default;
};

// An operand whose address is in a register may be in any bank.
PortUse port_use(const Instruction& instruction, Engine engine, const MachineConfig& machine);

class Ports {
 public:
  // From when on no other engine holds what keeps `use` waiting.
  Ticks free_at(const PortUse& use) const;
  // Holds the ports in [from, to). `from` must not lie before free_at(use).
  void claim(const PortUse& use, Ticks from, Ticks to);

 private:
  std::array<Ticks, 32> until_{};  // per bit
};

}  // namespace ncemu
