#include "emu/timing/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "emu/timing/cost_parts.h"
#include "emu/timing/tensor_passes.h"
#include "isa/fault.h"

namespace ncemu {

std::int64_t cost_parts::distance(const AccessPattern& p) {
  for (const Dim& d : p.dims) {
    if (d.count > 1) return std::int64_t{d.step} * size_of(p.dtype);
  }
  return 0;
}

cost_parts::Streams cost_parts::streams(const Instruction& instruction, const MachineConfig& m) {
  Streams s;
  const auto look = [&](const AccessPattern& pattern, Role role) {
    s.elements = std::max(s.elements, pattern.elements());
    if (std::abs(distance(pattern)) > m.stream.stride_bytes)
      (role == Role::write ? s.writes_apart : s.reads_apart) = true;
    s.dynamic = s.dynamic || pattern.index.present();
  };
  for_each_field(instruction.operands, [&](std::string_view, const auto& field, Role role) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, AccessPattern>) {
      look(field, role);
    }
    if constexpr (std::is_same_v<Field, std::optional<AccessPattern>>) {
      if (field) look(*field, role);
    }
    if constexpr (std::is_same_v<Field, ScalarOperand>) {
      bool& pointer = role == Role::write ? s.result : s.pointer;
      pointer = pointer || std::holds_alternative<PointerOperand>(field);
    }
  });
  return s;
}

namespace {

using namespace cost_parts;

// ---- scalar engine --------------------------------------------------------------------------

Parts on_scalar(const AccessPattern& dst, const AccessPattern& src, bool sets_up_operands, const Streams& s,
                const MachineConfig& m) {
  Parts p;
  p.stream = whole(static_cast<double>(s.elements) * s.stride_factor(m));
  const Cycles gap = m.scalar.ii_gap + (sets_up_operands ? m.scalar.activate_gap : 0) +
                     (is_sbuf(src) ? m.scalar.sbuf_source_gap : 0);
  p.interval = interval_of(p.stream, gap, m.scalar.min_ii, m);
  p.latency = m.scalar.l0 + (sets_up_operands ? m.scalar.activate_l0 : 0) +
              (is_sbuf(src) && is_sbuf(dst) ? m.scalar.sbuf_to_sbuf_l0 : 0);
  p.latency -= saving(dst.partitions, m.scalar.few_lanes, m.scalar.few_lanes_saving, p.latency);
  return p;
}

Parts read_accumulator(const Destination& i, const MachineConfig& m) {
  Parts p;
  p.stream = i.dst.elements();
  p.interval = interval_of(p.stream, m.scalar.ii_gap, m.scalar.min_ii, m);
  p.latency = m.scalar.read_accumulator_l0;
  return p;
}

// ---- gpsimd ---------------------------------------------------------------------------------

// One instruction at a time: the interval is the latency (datasheet 6.0.2).
Parts on_gpsimd(const Streams& s, double k, const MachineConfig& m) {
  Parts p;
  p.stream = whole(k * static_cast<double>(s.elements) * s.stride_factor(m));
  p.latency = m.gpsimd.start;
  p.interval = p.latency + p.stream;
  return p;
}

// The start is paid once in the latency; further ones belong to the stream.
Parts gpsimd_cycles(double cycles, std::int64_t starts, const MachineConfig& m) {
  Parts p;
  p.stream = (starts - 1) * m.gpsimd.start + whole(cycles);
  p.latency = m.gpsimd.start;
  p.interval = p.latency + p.stream;
  return p;
}

// Datasheet 6.8.3: the elements, stretched by the overhead of each index and by how many elements fit a
// word of 32 bits.
double local_gather_cycles(const LocalGather& i, const MachineConfig& m) {
  const double run = i.num_elem_per_idx;
  const double elements = static_cast<double>(i.valid_indices()) * run;
  const double busy = m.gpsimd.local_gather_rate * std::max(1.0, run);
  const double stretch = (m.gpsimd.local_gather_overhead + busy) / busy;
  const double together = std::min(4.0 / size_of(i.dst.dtype), std::max(1.0, run));
  return m.gpsimd.local_gather_divides != 0 ? elements * together / stretch : elements * stretch / together;
}

Parts n_gather(const Gather& i, const MachineConfig& m) {
  const std::int64_t elements = i.dst.elements();
  const std::int64_t groups = (elements + m.gpsimd.n_gather_group - 1) / m.gpsimd.n_gather_group;
  return gpsimd_cycles(m.gpsimd.n_gather_k * static_cast<double>(elements), groups, m);
}

double gpsimd_k(AluOp op0, AluOp op1, double otherwise, const MachineConfig& m) {
  if (op0 == AluOp::pow || op1 == AluOp::pow) return m.gpsimd.pow_k;
  if (op0 == AluOp::rsqrt || op1 == AluOp::rsqrt) return m.gpsimd.rsqrt_k;
  return otherwise;
}

// ---- tensor engine --------------------------------------------------------------------------

// fp32 weights are loaded twice, as high and low parts; tf32 once, at the same rate (datasheet 6.1).
Parts load_weights(const LoadStationary& i, const MachineConfig& m) {
  const bool wide = is_fp32_like(i.src.dtype);
  const bool apart = std::abs(distance(i.src)) > size_of(i.src.dtype);
  const double k = wide ? (apart ? m.tensor.load_fp32_strided_k : m.tensor.load_fp32_k)
                        : (apart ? m.tensor.load_strided_k : m.tensor.load_k);
  const std::int64_t columns = i.src.elements() / (i.double_row ? 2 : 1);  // both rows at once
  Cycles one = whole(k * static_cast<double>(columns));
  // The printed interval of a pair is that of the matmul: the load is behind it, however short.
  if (!is_measured(m)) one = std::min({one, columns, m.tensor.mm_init});
  Parts p;
  p.stream = loads(i, m.target.generation) * one;
  p.interval = is_measured(m) ? loads(i, m.target.generation) * std::max(m.tensor.load_min, one) : p.stream;
  p.latency = wide ? m.tensor.load_fp32_l0 : apart ? m.tensor.load_strided_l0 : m.tensor.load_l0;
  return p;
}

// fp32 is two matmuls in the engine, each of which streams its data twice (datasheet 6.1).
Parts matmul(const Matmul& i, const Streams& s, const MachineConfig& m) {
  // double_row takes both rows of moving in the time of one.
  const std::int64_t row = i.moving.elements() / (i.double_row ? 2 : 1);
  const double elements = static_cast<double>(row) * s.stride_factor(m);
  // A result of less than a group of columns takes longer to be written (measured rows).
  const bool few = is_measured(m) && i.dst.partitions <= m.tensor.few_columns;
  const Cycles gap = is_measured(m) ? m.tensor.ii_gap + (few ? m.tensor.few_columns_gap : 0) : 0;
  const Passes pass = passes(i, m.target.generation);
  const Cycles one = whole(pass.streams * elements);
  const Cycles one_interval = std::max(m.tensor.mm_init, one) + gap;
  Parts p;
  p.stream = (pass.matmuls - 1) * one_interval + one;
  p.interval = pass.matmuls * one_interval;
  p.latency = m.tensor.l0 + (few ? m.tensor.few_columns_l0 : 0);
  return p;
}

// The address is read before the copy can start (datasheet 6.3.1), so the interval's minimum delays
// the result as well.
void apply_dynamic_minimum(Parts& p, const MachineConfig& m) {
  const Cycles late = std::max<Cycles>(0, m.stream.dynamic_min_ii - p.interval);
  p.interval += late;
  p.latency += late;
}

// Of an instruction that some other engine could also do.
Parts parts_of(const Instruction& instruction, Engine engine, const Streams& s, const MachineConfig& m) {
  const Operands& operands = instruction.operands;
  switch (info(instruction.opcode).cost) {
    case CostClass::control:
    case CostClass::dma:
    case CostClass::table_load: break;
    case CostClass::load_weights: return load_weights(std::get<LoadStationary>(operands), m);
    case CostClass::matmul: return matmul(std::get<Matmul>(operands), s, m);
    case CostClass::activation: {
      const auto& i = std::get<Activation>(operands);
      return on_scalar(i.dst, i.src, true, s, m);
    }
    case CostClass::read_acc:
      if (engine == Engine::scalar) return read_accumulator(std::get<Destination>(operands), m);
      break;
    case CostClass::copy: {
      const auto& i = std::get<Unary>(operands);
      if (engine == Engine::gpsimd) return on_gpsimd(s, m.gpsimd.k, m);
      if (engine == Engine::scalar) return on_scalar(i.dst, i.src, false, s, m);
      break;
    }
    case CostClass::tensor_scalar: {
      const auto& i = std::get<TensorScalar>(operands);
      if (engine == Engine::gpsimd) return on_gpsimd(s, gpsimd_k(i.op0, i.op1, m.gpsimd.k, m), m);
      if (engine == Engine::scalar) return on_scalar(i.dst, i.src, true, s, m);
      break;
    }
    case CostClass::tensor_tensor: {
      const auto& i = std::get<TensorTensor>(operands);
      if (engine == Engine::gpsimd) return on_gpsimd(s, gpsimd_k(i.op, i.op, m.gpsimd.pair_k, m), m);
      break;
    }
    case CostClass::memset:
    case CostClass::lane_stream:  // of gpsimd: rng
      if (engine == Engine::gpsimd) return on_gpsimd(s, m.gpsimd.k, m);
      break;
    case CostClass::reduce:
    case CostClass::pair:
    case CostClass::predicated:
    case CostClass::scan:
    case CostClass::aggregate:
    case CostClass::reciprocal: break;
    case CostClass::lane_registers:
      // Mask, match values and seed: a few words, whatever the shape.
      return {.interval = m.vector.register_load, .latency = m.vector.register_load};
    case CostClass::gpsimd_stream: return on_gpsimd(s, m.gpsimd.k, m);
    case CostClass::gpsimd_gather: return n_gather(std::get<Gather>(operands), m);
    case CostClass::gpsimd_local_gather:
      return gpsimd_cycles(local_gather_cycles(std::get<LocalGather>(operands), m), 1, m);
    case CostClass::gpsimd_partitions: {
      const double cycles = m.gpsimd.partition_reduce_k * static_cast<double>(s.elements);
      return gpsimd_cycles(cycles * s.stride_factor(m), m.gpsimd.partition_starts, m);
    }
    case CostClass::gpsimd_bounds: {
      const auto n = static_cast<double>(std::get<Unary>(operands).src.elements());
      return gpsimd_cycles(m.gpsimd.bounds_k * n * s.stride_factor(m), 1, m);
    }
    case CostClass::gpsimd_nonzero: {
      const auto n = static_cast<double>(std::get<NonzeroWithCount>(operands).src.elements());
      return gpsimd_cycles(m.gpsimd.nonzero_k * n * s.stride_factor(m), 1, m);
    }
    case CostClass::gpsimd_topk: {
      const auto& i = std::get<TopK>(operands);
      return gpsimd_cycles(m.gpsimd.topk_k * i.n + m.gpsimd.topk_result_k * i.k, 1, m);
    }
  }
  return on_vector(instruction, s, m);
}

// Streams and intervals of documented mode; latencies are printed nowhere.
void apply_printed(Parts& p, const std::optional<Printed>& printed, Engine engine) {
  if (!printed) return;
  p.interval = printed->interval;
  p.stream = printed->stream;
  if (engine != Engine::gpsimd) return;
  // One instruction at a time.
  p.latency = std::min(p.latency, p.interval);
  p.stream = p.interval - p.latency;
}

}  // namespace

Cost cost(const Instruction& instruction, Engine engine, const MachineConfig& m) {
  const InstructionInfo& row = info(instruction.opcode);
  if (row.is_control() || row.is_dma()) return control(instruction, engine, m);
  if (row.cost == CostClass::table_load) {
    const Ticks load = ticks_from_ns(m, m.scalar.table_load_ns);
    return {.interval = load, .stream = 0, .latency = load};
  }
  const Streams s = streams(instruction, m);
  Parts p = parts_of(instruction, engine, s, m);
  if (s.dynamic && row.cost == CostClass::copy) apply_dynamic_minimum(p, m);
  if (!is_measured(m)) apply_printed(p, printed_cost(instruction, engine, s, m), engine);
  const Ticks cycle = ticks_per_cycle(m, engine);
  return {.interval = p.interval * cycle,
          .stream = p.stream * cycle,
          .latency = p.latency * cycle,
          .write = p.write * cycle,
          .write_ahead = p.write_ahead * cycle};
}

Ticks wake_up(Engine waiter, Engine producer, const MachineConfig& m) {
  if (waiter == producer) return m.semaphore.turn * ticks_per_cycle(m, waiter);
  return ticks_from_ns(m, m.semaphore.cross_ns);
}

Ticks branch_miss(std::uint32_t from, std::uint32_t to, const MachineConfig& m) {
  const std::int64_t distance = std::abs(std::int64_t{to} - std::int64_t{from});
  const bool buffered = distance < m.fetch.buffer_bytes / m.fetch.instruction_bytes;
  return buffered ? 0 : ticks_from_ns(m, m.fetch.miss_ns);
}

}  // namespace ncemu
