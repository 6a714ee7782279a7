#include "emu/data/lane_values.h"

#include "emu/data/alu.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// One column, read like any other operand.
template <typename T>
LaneValues<T> column(std::string_view mnemonic, std::string_view name, const PointerOperand& pointer,
                     int lanes, State& state) {
  const AccessPattern pattern = as_pattern(pointer, lanes);
  LaneValues<T> result;
  result.per_lane = true;
  BlockBytes raw;
  Operand(mnemonic, name, pattern, state).read(Block{0, lanes, 0, 1}, result.values.data(), raw);
  return result;
}

[[noreturn]] void absent(std::string_view mnemonic, std::string_view name) {
  throw Fault(FaultKind::program, "", "{}: {} is missing, its operator takes two operands", mnemonic, name);
}

}  // namespace

LaneValues<float> float_values(std::string_view mnemonic, std::string_view name, const ScalarOperand& operand,
                               int lanes, State& state) {
  LaneValues<float> result;
  if (const auto* value = std::get_if<float>(&operand)) {
    result.values[0] = *value;
  } else if (const auto* integer = std::get_if<std::int32_t>(&operand)) {
    result.values[0] = static_cast<float>(*integer);
  } else if (const auto* pointer = std::get_if<PointerOperand>(&operand)) {
    return column<float>(mnemonic, name, *pointer, lanes, state);
  } else {
    ensure(!std::holds_alternative<Register>(operand),
           "an instruction's registers are resolved before it executes");
    absent(mnemonic, name);
  }
  return result;
}

LaneValues<std::uint32_t> bit_values(std::string_view mnemonic, std::string_view name,
                                     const ScalarOperand& operand, int lanes, State& state) {
  LaneValues<std::uint32_t> result;
  if (const auto* value = std::get_if<float>(&operand)) {
    throw Fault(FaultKind::program, "", "{}: {} is {}, a bitvec operator takes an integer", mnemonic, name,
                *value);
  } else if (const auto* integer = std::get_if<std::int32_t>(&operand)) {
    result.values[0] = static_cast<std::uint32_t>(*integer);
  } else if (const auto* pointer = std::get_if<PointerOperand>(&operand)) {
    if (!is_integer(pointer->dtype)) {
      throw Fault(FaultKind::program, "", "{}: {} is {}, a bitvec operator takes an integer type", mnemonic,
                  name, ncemu::name(pointer->dtype));
    }
    return column<std::uint32_t>(mnemonic, name, *pointer, lanes, state);
  } else {
    ensure(!std::holds_alternative<Register>(operand),
           "an instruction's registers are resolved before it executes");
    absent(mnemonic, name);
  }
  return result;
}

namespace {

// Calls whole(scalar) when one value serves the block, else pairs(values of each element).
template <typename T, typename Whole, typename Pairs>
void with_scalar(const LaneValues<T>& scalar, const Block& block, BlockOf<T>& expanded, Whole&& whole,
                 Pairs&& pairs) {
  if (!scalar.per_lane || block.lanes == 1) {
    whole(scalar.of(block.lane));
    return;
  }
  T* to = expanded.data();
  for (int lane = block.lane; lane < block.lane + block.lanes; ++lane)
    to = std::fill_n(to, block.count, scalar.of(lane));
  pairs(expanded.data());
}

}  // namespace

void apply_lanes(AluOp op, const LaneValues<float>& scalar, bool reversed, const Block& block,
                 const float* values, float* out, BlockOf<float>& expanded) {
  const std::size_t n = block.size();
  with_scalar(
      scalar, block, expanded, [&](float s) { apply_scalar(op, values, s, reversed, out, n); },
      [&](const float* s) { reversed ? apply(op, s, values, out, n) : apply(op, values, s, out, n); });
}

void apply_lanes(AluOp op, const LaneValues<std::uint32_t>& scalar, bool reversed, int width,
                 const Block& block, std::uint32_t* values, BlockOf<std::uint32_t>& expanded) {
  const std::size_t n = block.size();
  with_scalar(
      scalar, block, expanded,
      [&](std::uint32_t s) { apply_scalar(op, values, s, reversed, width, values, n); },
      [&](const std::uint32_t* s) {
        reversed ? apply(op, s, values, width, values, n) : apply(op, values, s, width, values, n);
      });
}

}  // namespace ncemu
