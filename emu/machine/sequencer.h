#pragma once

// The control part of one engine: program counter, 64 registers, and the control instructions that touch
// nothing else (datasheet 2.1 to 2.3). It knows no time; it says whether a branch was taken, and the machine
// charges for it.

#include <cstdint>
#include <vector>

#include "emu/machine/resolve.h"
#include "isa/program.h"

namespace ncemu {

class Sequencer {
 public:
  explicit Sequencer(const std::vector<Instruction>& stream) : stream_(&stream), ended_(stream.empty()) {}

  bool ended() const { return ended_; }
  std::uint32_t index() const { return index_; }
  const Instruction& current() const { return (*stream_)[index_]; }
  const Registers& registers() const { return registers_; }
  void set(Register r, std::int32_t value);
  std::int32_t get(Register r) const;

  // Executes the current instruction as far as it concerns the sequencer and moves on; true when it took a
  // branch. The stream ends after its last instruction and at `halt`.
  bool step();

 private:
  std::int32_t value(const IntOperand& operand) const;

  const std::vector<Instruction>* stream_;
  std::uint32_t index_ = 0;
  bool ended_;
  Registers registers_{};
};

}  // namespace ncemu
