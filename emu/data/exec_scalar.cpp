// The scalar engine: activation, its accumulators and its tables (datasheet 6.4).

#include <cmath>

#include "emu/data/activation_functions.h"
#include "emu/data/exec.h"
#include "emu/data/lane_values.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Adds the block to the accumulators in stream order, one fp32 rounding each.
void accumulate(const Block& block, const float* values, float* accumulators) {
  for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
    float sum = accumulators[lane];
    for (std::int64_t i = 0; i < block.count; ++i) sum += values[i];
    accumulators[lane] = sum;
    values += block.count;
  }
}

// Reports the first input outside the function's valid range. NaN is nobody's fault here.
class DomainWatch {
 public:
  DomainWatch(ActivationFunction function, int partition, State& state)
      : range_(valid_range(function)),
        partition_(partition),
        state_(&state),
        watching_(bool{state.on_event}) {}

  void look(const Block& block, const float* inputs) {
    if (!watching_ || !any_outside(inputs, block.size())) return;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (!outside(inputs[i])) continue;
      const auto at = static_cast<std::int64_t>(i);
      state_->on_event({.kind = DataEvent::Kind::outside_domain,
                        .partition = partition_ + block.lane + static_cast<int>(at / block.count),
                        .element = block.first + at % block.count,
                        .value = inputs[i]});
      watching_ = false;
      return;
    }
  }

 private:
  bool outside(float x) const {
    const float v = range_.magnitude ? std::fabs(x) : x;
    return v < range_.low || v > range_.high;
  }
  bool any_outside(const float* inputs, std::size_t count) const {
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) any |= outside(inputs[i]);
    return any;
  }

  ValidRange range_;
  int partition_;
  State* state_;
  bool watching_;
};

void check_table(ActivationFunction function, const State& state) {
  const TableSet needed = table_set(function);
  if (needed == TableSet::any || state.resident_table == needed) return;
  throw Fault(FaultKind::program, "", "activation: {} needs table set {}, {} is loaded (datasheet 6.4.4)",
              name(function), name(needed), state.resident_table ? name(*state.resident_table) : "none");
}

bool given(const ScalarOperand& operand) { return !std::holds_alternative<std::monostate>(operand); }

}  // namespace

void exec::activation(const Activation& f, Engine, State& state) {
  Operand dst("activation", "dst", f.dst, state);
  const Operand src("activation", "src", f.src, state);
  check_same_stream("activation", dst, src);
  check_table(f.func, state);
  if (f.reduce_cmd == ReduceCommand::load_reduce) {
    throw Fault(FaultKind::program, "",
                "activation: reduce_cmd = load_reduce has no initial value to load; expected "
                "idle, reset, reduce or reset_reduce");
  }

  // An omitted scale or bias takes no part; a given one costs one rounding (datasheet 6.4.1: multiply,
  // then add, not fused [assumed]).
  LaneValues<float> scale, bias;
  if (given(f.scale)) scale = float_values("activation", "scale", f.scale, dst.lanes(), state);
  if (given(f.bias)) bias = float_values("activation", "bias", f.bias, dst.lanes(), state);

  float* accumulators = state.scalar_accumulators.data() + f.dst.partition;
  if (f.reduce_cmd == ReduceCommand::reset || f.reduce_cmd == ReduceCommand::reset_reduce) {
    std::fill_n(accumulators, dst.lanes(), 0.0F);
  }
  const bool reduces = f.reduce_cmd == ReduceCommand::reduce || f.reduce_cmd == ReduceCommand::reset_reduce;

  DomainWatch domain(f.func, f.dst.partition, state);
  BlockBytes raw;
  BlockOf<float> values, expanded;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    const float* from = src.values(block, values, raw);
    if (given(f.scale)) {
      apply_lanes(AluOp::mult, scale, false, block, from, values.data(), expanded);
      from = values.data();
    }
    if (given(f.bias)) {
      apply_lanes(AluOp::add, bias, false, block, from, values.data(), expanded);
      from = values.data();
    }
    domain.look(block, from);
    apply(f.func, f.imm, from, values.data(), block.size());
    if (reduces) accumulate(block, values.data(), accumulators);
    dst.write(block, values.data(), raw);
  });
  leave_groups(f.dst, state);
}

void exec::read_accumulator(const Destination& f, Engine engine, State& state) {
  Operand dst("read_accumulator", "dst", f.dst, state);
  if (dst.elements() != 1) {
    throw Fault(FaultKind::program, "", "read_accumulator: dst has {} elements per partition, expected 1",
                dst.elements());
  }
  const auto& accumulators = engine == Engine::vector ? state.vector_accumulators : state.scalar_accumulators;
  BlockBytes raw;
  dst.write(Block{0, dst.lanes(), 0, 1}, accumulators.data() + f.dst.partition, raw);
  leave_groups(f.dst, state);
}

void exec::act_table_load(const TableLoad& f, Engine, State& state) {
  if (f.table == TableSet::any) {
    throw Fault(FaultKind::program, "", "act_table_load: '{}' is part of every set, it cannot be loaded",
                name(f.table));
  }
  state.resident_table = f.table;
}

}  // namespace ncemu
