#pragma once

// Everything of one core that holds values: memories, the PSUM groups, the registers of the engines'
// data paths. It knows no time. Every byte starts as 0xFF.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "emu/data/memory.h"
#include "isa/program.h"

namespace ncemu {

// The stationary operand as the tensor engine holds it: fp32 values, row-major [k, m].
struct Stationary {
  int k = 0, m = 0;
  DType dtype = DType::f32;
  std::vector<float> values;
};

struct State {
  explicit State(const Program& program);

  int generation = 2;
  OnChipMemory sbuf, psum;
  HbmMemory hbm;
  Stationary stationary;
  PsumGroups groups;
  std::array<float, 128> scalar_accumulators{};  // datasheet 1.2
  std::optional<TableSet> resident_table;
};

// One instruction's effect on the state. `operands` must be resolved: no registers left in them.
// Throws Fault(program) for what cannot be executed (an activation whose table is not resident).
void execute(const Instruction& instruction, Engine engine, State& state);

// Reads and writes single elements, for register_load and register_store.
std::uint32_t load_element(const MemoryOperand& operand, const State& state);
void store_element(const MemoryOperand& operand, std::uint32_t bits, State& state);

}  // namespace ncemu
