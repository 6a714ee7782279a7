#pragma once

// Random legal instructions for properties that hold for every instruction: filled in by visitors over the
// operand forms, made plausible, and kept if the rules have no objection.

#include <cstdint>
#include <random>

#include "isa/program.h"

namespace ncemu::test {

class RandomInstructions {
 public:
  RandomInstructions(std::uint64_t seed, const Target& target);

  struct Sample {
    Instruction instruction;
    Engine engine = Engine::tensor;
  };
  Sample next();
  // One of this row; the row must exist on the target's generation.
  Sample next(const InstructionInfo& row);

  // The tensors that HBM operands name; its streams have room for branch targets up to 64.
  const Program& program() const { return program_; }
  std::uint64_t tries() const { return tries_; }  // including those the rules rejected

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  bool chance(unsigned percent) { return below(100) < percent; }
  float any_float();  // any bits, with special values often

 private:
  struct Fill;
  void repair_array(bool& double_row, bool& transpose, ArrayPair& position, ArrayPair& size,
                    AccessPattern& source);
  void repair_copy(DmaCopy& copy);
  void repair_transpose(DmaTranspose& transpose);
  void repair_compute(DmaCompute& compute, Engine engine);
  void repair(Operands& operands, Engine engine);
  void repair(Opcode opcode, Operands& operands);
  void repair_vector(Opcode opcode, Operands& operands);
  void add_semaphores(Instruction& instruction, bool dma);

  std::mt19937_64 random_;
  Program program_;
  std::uint64_t tries_ = 0;
};

}  // namespace ncemu::test
