#pragma once

// The value an operator takes beside its stream (ScalarOperand), ready for use: the same for all
// lanes, or one per lane, read before the instruction writes anything.

#include <array>
#include <cstdint>
#include <string_view>

#include "emu/data/operand.h"

namespace ncemu {

template <typename T>
struct LaneValues {
  bool per_lane = false;
  std::array<T, 128> values{};  // only the first if not per lane
  T of(int lane) const { return per_lane ? values[static_cast<std::size_t>(lane)] : values[0]; }
};

// Arithmetic class: fp32; integers convert. Throws Fault(program) when `operand` is absent.
LaneValues<float> float_values(std::string_view mnemonic, std::string_view name, const ScalarOperand& operand,
                               int lanes, State& state);
// Bitvec class: raw bits. Throws Fault(program) when absent or not an integer.
LaneValues<std::uint32_t> bit_values(std::string_view mnemonic, std::string_view name,
                                     const ScalarOperand& operand, int lanes, State& state);

// out[i] = op(values[i], scalar of the lane), or with swapped operands. `expanded` is working storage.
void apply_lanes(AluOp op, const LaneValues<float>& scalar, bool reversed, const Block& block,
                 const float* values, float* out, BlockOf<float>& expanded);
// The same in place.
inline void apply_lanes(AluOp op, const LaneValues<float>& scalar, bool reversed, const Block& block,
                        float* values, BlockOf<float>& expanded) {
  apply_lanes(op, scalar, reversed, block, values, values, expanded);
}
void apply_lanes(AluOp op, const LaneValues<std::uint32_t>& scalar, bool reversed, int width,
                 const Block& block, std::uint32_t* values, BlockOf<std::uint32_t>& expanded);

}  // namespace ncemu
