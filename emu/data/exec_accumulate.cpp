// The vector engine's reductions into its accumulator registers, and its scans (datasheet 6.6.2 to 6.6.4).

#include "emu/data/alu.h"
#include "emu/data/exec.h"
#include "emu/data/lane_accumulators.h"
#include "emu/data/lane_values.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Blocks of many lanes and few elements, in the order of the elements: a scan goes on in all lanes at once.
// One element at a time when a result may reach one that is still to be read.
template <typename Visit>
void for_each_step_block(int lanes, std::int64_t elements, bool safe, Visit&& visit) {
  const int together = safe ? lanes : 1;
  const std::int64_t most = safe ? block_elements / lanes : 1;
  for (int lane = 0; lane < lanes; lane += together) {
    for (std::int64_t first = 0; first < elements; first += most) {
      visit(Block{lane, together, first, std::min(most, elements - first)});
    }
  }
}

using LaneRow = std::array<float, 128>;

// Element i of each lane of a block, and back.
void column(const Block& block, const float* values, std::int64_t i, LaneRow& to) {
  for (int lane = 0; lane < block.lanes; ++lane)
    to[static_cast<std::size_t>(lane)] = values[lane * block.count + i];
}
void set_column(const Block& block, const float* from, std::int64_t i, float* values) {
  for (int lane = 0; lane < block.lanes; ++lane) values[lane * block.count + i] = from[lane];
}

void apply_in_order(AluOp op, bool reversed, const float* a, const float* b, float* out, int count) {
  const auto n = static_cast<std::size_t>(count);
  reversed ? apply(op, b, a, out, n) : apply(op, a, b, out, n);
}

void check_command(const TensorScalarCumulative& f) {
  if (f.reduce_cmd != ReduceCommand::idle && f.reduce_cmd != ReduceCommand::reset) return;
  throw Fault(FaultKind::program, "",
              "tensor_scalar_cumulative: reduce_cmd is {}, expected reduce, reset_reduce or load_reduce",
              name(f.reduce_cmd));
}

}  // namespace

void exec::tensor_scalar_reduce(const TensorScalarReduce& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "tensor_scalar_reduce";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src(mnemonic, "src", f.src, state);
  check_same_stream(mnemonic, dst, src);
  LaneValues<float> scalar;
  if (!is_unary(f.op0)) scalar = float_values(mnemonic, "scalar0", f.scalar0, dst.lanes(), state);
  LaneAccumulators accumulators(mnemonic, f.reduce_op, f.reduce_cmd, dst, state);
  BlockBytes raw;
  BlockOf<float> values, expanded;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    src.read(block, values.data(), raw);
    if (f.op0 != AluOp::bypass) apply_lanes(f.op0, scalar, false, block, values.data(), expanded);
    accumulators.add(block, values.data());
    dst.write(block, values.data(), raw);
  });
  leave_groups(f.dst, state);
  accumulators.read_out(f.reduce_res, f.negate);
}

void exec::tensor_scalar_cumulative(const TensorScalarCumulative& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "tensor_scalar_cumulative";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src(mnemonic, "src", f.src, state);
  check_same_stream(mnemonic, dst, src);
  check_command(f);
  LaneValues<float> scalar;
  if (!is_unary(f.op0)) scalar = float_values(mnemonic, "scalar0", f.scalar0, dst.lanes(), state);
  float* registers = state.vector_accumulators.data() + f.dst.partition;
  const float identity = reduction_identity(f.op1);
  if (f.reduce_cmd == ReduceCommand::load_reduce) {
    const LaneValues<float> initial = float_values(mnemonic, "scalar1", f.scalar1, dst.lanes(), state);
    for (int lane = 0; lane < dst.lanes(); ++lane) registers[lane] = initial.of(lane);
  } else if (f.reduce_cmd == ReduceCommand::reset_reduce) {
    std::fill_n(registers, dst.lanes(), identity);
  }
  BlockBytes raw;
  BlockOf<float> values, expanded;
  LaneRow row;
  const bool safe = block_limit(dst, src) > 1;
  for_each_step_block(dst.lanes(), dst.elements(), safe, [&](const Block& block) {
    src.read(block, values.data(), raw);
    if (f.op0 != AluOp::bypass) apply_lanes(f.op0, scalar, false, block, values.data(), expanded);
    float* lane_registers = registers + block.lane;
    for (std::int64_t i = 0; i < block.count; ++i) {
      column(block, values.data(), i, row);
      apply_in_order(f.op1, false, row.data(), lane_registers, lane_registers, block.lanes);
      set_column(block, lane_registers, i, values.data());
    }
    dst.write(block, values.data(), raw);
  });
  leave_groups(f.dst, state);
}

void exec::tensor_tensor_scan(const TensorTensorScan& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "tensor_tensor_scan";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src0(mnemonic, "src0", f.src0, state);
  const Operand src1(mnemonic, "src1", f.src1, state);
  check_same_stream(mnemonic, dst, src0);
  check_same_stream(mnemonic, dst, src1);
  const LaneValues<float> initial = float_values(mnemonic, "initial", f.initial, dst.lanes(), state);
  LaneRow running;
  for (int lane = 0; lane < dst.lanes(); ++lane) running[static_cast<std::size_t>(lane)] = initial.of(lane);
  BlockBytes raw;
  BlockOf<float> a, b;
  LaneRow row0, row1;
  const bool safe = std::min(block_limit(dst, src0), block_limit(dst, src1)) > 1;
  for_each_step_block(dst.lanes(), dst.elements(), safe, [&](const Block& block) {
    src0.read(block, a.data(), raw);
    src1.read(block, b.data(), raw);
    float* lane_state = running.data() + block.lane;
    for (std::int64_t i = 0; i < block.count; ++i) {
      column(block, a.data(), i, row0);
      column(block, b.data(), i, row1);
      apply_in_order(f.op0, f.reverse0, row0.data(), lane_state, row0.data(), block.lanes);
      apply_in_order(f.op1, f.reverse1, row0.data(), row1.data(), lane_state, block.lanes);
      set_column(block, lane_state, i, a.data());
    }
    dst.write(block, a.data(), raw);
  });
  leave_groups(f.dst, state);
}

}  // namespace ncemu
