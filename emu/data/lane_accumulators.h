#pragma once

// The accumulator registers of the vector engine, one fp32 per lane, as the instructions that share them use
// them (datasheet 5.2, 6.6). The hardware may change them on `idle`; here idle leaves them, so a program that
// starts each chain with reset_reduce has the same results on both.

#include <array>

#include "emu/data/operand.h"

namespace ncemu {

// What a chain of `op` starts from.
float reduction_identity(AluOp op);

class LaneAccumulators {
 public:
  // Those of `dst`'s lanes, reset if the command says so. load_reduce is a Fault(program): its initial value
  // is the instruction's business (use load).
  LaneAccumulators(std::string_view mnemonic, AluOp op, ReduceCommand command, const Operand& dst,
                   State& state);

  // acc = acc op value for each value of a lane in stream order, if the command accumulates.
  void add(const Block& block, const float* values);
  // Writes the registers to a [P,1] result if there is one; `negate` changes the result, not the registers.
  void read_out(const ScalarOperand& result, bool negate) const;

 private:
  std::string_view mnemonic_;
  AluOp op_;
  bool accumulates_;
  int lanes_;
  float* registers_;
  State* state_;
};

}  // namespace ncemu
