#include "emu/data/lane_accumulators.h"

#include <limits>

#include "emu/data/alu.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// The running value stands before the next values, so that the order of the operations is that of the stream.
float continue_reduction(AluOp op, float value, const float* values, std::int64_t count) {
  std::array<float, 257> piece;
  constexpr std::int64_t most = static_cast<std::int64_t>(piece.size()) - 1;
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t n = std::min(most, count - done);
    piece[0] = value;
    std::copy_n(values + done, n, piece.data() + 1);
    value = reduce(op, piece.data(), static_cast<std::size_t>(n) + 1);
  }
  return value;
}

}  // namespace

float reduction_identity(AluOp op) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  if (op == AluOp::add || op == AluOp::subtract) return 0;
  if (op == AluOp::mult) return 1;
  if (op == AluOp::max) return -infinity;
  if (op == AluOp::min) return infinity;
  throw Fault(FaultKind::program, "", "{} does not accumulate, expected add, subtract, mult, max or min",
              name(op));
}

LaneAccumulators::LaneAccumulators(std::string_view mnemonic, AluOp op, ReduceCommand command,
                                   const Operand& dst, State& state)
    : mnemonic_(mnemonic),
      op_(op),
      accumulates_(command == ReduceCommand::reduce || command == ReduceCommand::reset_reduce),
      lanes_(dst.lanes()),
      registers_(state.vector_accumulators.data() + dst.pattern().partition),
      state_(&state) {
  if (command == ReduceCommand::load_reduce) {
    throw Fault(FaultKind::program, "", "{}: reduce_cmd = load_reduce has no initial value to load",
                mnemonic);
  }
  const float identity = reduction_identity(op);
  if (command == ReduceCommand::reset || command == ReduceCommand::reset_reduce) {
    std::fill_n(registers_, lanes_, identity);
  }
}

void LaneAccumulators::add(const Block& block, const float* values) {
  if (!accumulates_) return;
  for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
    registers_[lane] = continue_reduction(op_, registers_[lane], values, block.count);
    values += block.count;
  }
}

void LaneAccumulators::read_out(const ScalarOperand& result, bool negate) const {
  if (std::holds_alternative<std::monostate>(result)) return;
  const auto* pointer = std::get_if<PointerOperand>(&result);
  if (pointer == nullptr) {
    throw Fault(FaultKind::program, "", "{}: reduce_res is a number, expected a [P, 1] tile", mnemonic_);
  }
  const AccessPattern pattern = as_pattern(*pointer, lanes_);
  Operand to(mnemonic_, "reduce_res", pattern, *state_);
  std::array<float, 128> values;
  for (int lane = 0; lane < lanes_; ++lane) {
    values[static_cast<std::size_t>(lane)] = negate ? -registers_[lane] : registers_[lane];
  }
  BlockBytes raw;
  to.write(Block{0, lanes_, 0, 1}, values.data(), raw);
  leave_groups(pattern, *state_);
}

}  // namespace ncemu
