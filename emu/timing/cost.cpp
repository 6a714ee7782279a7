#include "emu/timing/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "emu/timing/tensor_passes.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// The parts of a cost in cycles of the engine.
struct Parts {
  Cycles interval = 0, stream = 0, latency = 0;
};

// An engine does nothing for a part of a cycle.
Cycles whole(double cycles) { return static_cast<Cycles>(std::ceil(cycles - 1e-9)); }

// Bytes from one element to the next in the fastest dimension that has a next one; 0 if none has.
std::int64_t distance(const AccessPattern& p) {
  for (const Dim& d : p.dims) {
    if (d.count > 1) return std::int64_t{d.step} * size_of(p.dtype);
  }
  return 0;
}

bool adjacent(const AccessPattern& p) { return p.elements() == 1 || distance(p) == size_of(p.dtype); }
bool is_sbuf(const AccessPattern& p) { return p.space == Space::sbuf; }
bool is_16bit_float(const AccessPattern& p) { return p.dtype == DType::bf16 || p.dtype == DType::f16; }

// What the operands' shapes say for every instruction alike.
struct Streams {
  std::int64_t elements = 0;
  double stride_factor = 1;
  bool only_reads_apart = false;  // the factor comes from operands that are read
  bool pointer = false;           // a [P,1] operand is fetched before the stream
  bool result = false;            // a [P,1] result is read out of the accumulators after the stream
  bool dynamic = false;           // an operand's address is in a register
};

Streams streams(const Instruction& instruction, const MachineConfig& m) {
  Streams s;
  bool writes_apart = false;
  const auto look = [&](const AccessPattern& pattern, Role role) {
    s.elements = std::max(s.elements, pattern.elements());
    if (std::abs(distance(pattern)) > m.stream.stride_bytes) {
      s.stride_factor = m.stream.stride_factor;
      writes_apart = writes_apart || role == Role::write;
    }
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
  s.only_reads_apart = s.stride_factor != 1 && !writes_apart;
  return s;
}

// Measured: interval = stream + gap. Documented: max(minimum, stream). Datasheet 6.0.2.
Cycles interval_of(Cycles stream, Cycles gap, Cycles minimum, const MachineConfig& m) {
  return m.timing.mode == TimingMode::measured ? stream + gap : std::max(minimum, stream);
}

Cycles saving(int partitions, std::int64_t few, Cycles by, Cycles latency) {
  return partitions <= few ? std::min(by, latency) : 0;
}

// ---- vector engine --------------------------------------------------------------------------

// Datasheet 6.0.5; v2 has 1 everywhere.
double copy_k(const AccessPattern& dst, const AccessPattern& src, const MachineConfig& m) {
  const bool both_16bit = is_16bit_float(dst) && is_16bit_float(src);
  const bool both_adjacent = adjacent(dst) && adjacent(src);
  if (is_sbuf(dst) && is_sbuf(src)) {
    if (both_16bit) return both_adjacent ? m.vector.sbuf_16bit_k : m.vector.sbuf_16bit_apart_k;
    return both_adjacent ? m.vector.sbuf_other_k : 1;
  }
  const bool one_in_psum = is_sbuf(dst) != is_sbuf(src);
  return one_in_psum && both_16bit && both_adjacent ? m.vector.psum_16bit_k : 1;
}

// Two SBUF operands share a read port on v2 (datasheet 6.0.4, 6.5.2).
double pair_k(const TensorTensor& i, const MachineConfig& m) {
  if (!is_sbuf(i.src0) || !is_sbuf(i.src1)) return 1;
  const bool simple = i.op == AluOp::add || i.op == AluOp::subtract || i.op == AluOp::mult;
  bool bf16 = true;
  for (const AccessPattern* p : {&i.dst, &i.src0, &i.src1}) {
    bf16 = bf16 && p->dtype == DType::bf16 && adjacent(*p);
  }
  return simple && bf16 ? m.vector.pair_sbuf_bf16_k : m.vector.pair_sbuf_k;
}

double reduce_k(const TensorReduce& i, const MachineConfig& m) {
  const bool bf16 = i.src.dtype == DType::bf16 && i.dst.dtype == DType::bf16;
  return bf16 && (i.op == AluOp::add || i.op == AluOp::max) ? m.vector.reduce_bf16_k : 1;
}

// One input only runs at full rate: a fill, or a source beside its predicate in another memory (datasheet
// 6.3.2, 6.6.8).
double predicated_k(const Operands& operands, const MachineConfig& m) {
  const auto in_sbuf = [](const AccessPattern& a, const AccessPattern& b) {
    return is_sbuf(a) && is_sbuf(b);
  };
  if (const auto* copy = std::get_if<CopyPredicated>(&operands)) {
    return copy->src && in_sbuf(*copy->src, copy->predicate) ? m.vector.pair_sbuf_k : 1;
  }
  const auto& select = std::get<SelectReduce>(operands);
  return in_sbuf(select.on_true, select.predicate) ? m.vector.pair_sbuf_k : 1;
}

// Datasheet 6.5.3; the fast form takes pairs of elements.
double scalar_pair_k(const ScalarTensorTensor& i, const MachineConfig& m) {
  if (!is_sbuf(i.src0) || !is_sbuf(i.src1)) return 1;
  const bool bf16 = i.src0.dtype == DType::bf16 && i.src1.dtype == DType::bf16;
  const bool fast = bf16 && i.op0 == AluOp::subtract && i.op1 == AluOp::mult && i.src0.elements() % 2 == 0;
  return fast ? m.vector.pair_sbuf_bf16_k : m.vector.pair_sbuf_k;
}

double memset_k(const Memset& i, const MachineConfig& m) {
  const auto* real = std::get_if<float>(&i.value);
  const auto* whole_number = std::get_if<std::int32_t>(&i.value);
  const bool zero = (real != nullptr && *real == 0) || (whole_number != nullptr && *whole_number == 0);
  return zero && is_16bit_float(i.dst) ? m.vector.memset_zero_k : m.vector.memset_k;
}

Parts on_vector(const Streams& s, double k, int partitions, const MachineConfig& m) {
  // Measured reads of elements far apart cost v3 its performance mode and nothing more.
  const bool measured_read = s.only_reads_apart && m.timing.mode == TimingMode::measured;
  const double stride_factor = measured_read ? m.vector.strided_read_factor : s.stride_factor;
  Parts p;
  p.stream = whole(k * static_cast<double>(s.elements) * stride_factor);
  p.interval =
      interval_of(p.stream, m.vector.ii_gap + (s.pointer ? m.vector.ptr_gap : 0), m.vector.min_ii, m);
  p.latency = m.vector.l0 + (s.pointer ? m.vector.ptr_l0 : 0);
  p.latency -= saving(partitions, m.vector.few_lanes, m.vector.few_lanes_saving, p.latency);
  if (s.result) {  // as one more instruction of one element (datasheet 6.0.2)
    const Cycles read_out = interval_of(1, m.vector.ii_gap, m.vector.min_ii, m);
    p.interval += read_out;
    p.latency += read_out;
  }
  return p;
}

// Mask, match values and seed: a few words, whatever the shape.
Parts load_lane_registers(const MachineConfig& m) {
  return {.interval = m.vector.register_load, .stream = 0, .latency = m.vector.register_load};
}

Parts memset_on_vector(const Memset& i, const Streams& s, const MachineConfig& m) {
  const bool sbuf = is_sbuf(i.dst);
  Parts p;
  p.stream = whole(memset_k(i, m) * static_cast<double>(s.elements) * s.stride_factor);
  p.interval =
      interval_of(p.stream, sbuf ? m.vector.memset_gap : m.vector.memset_psum_gap, m.vector.min_ii, m);
  p.latency = sbuf ? m.vector.memset_l0 : m.vector.memset_psum_l0;
  return p;
}

// ---- scalar engine --------------------------------------------------------------------------

Parts on_scalar(const AccessPattern& dst, const AccessPattern& src, bool sets_up_operands, const Streams& s,
                const MachineConfig& m) {
  Parts p;
  p.stream = whole(static_cast<double>(s.elements) * s.stride_factor);
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
  p.stream = whole(k * static_cast<double>(s.elements) * s.stride_factor);
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
  const Cycles one = std::max(m.tensor.load_min, whole(k * static_cast<double>(columns)));
  Parts p;
  p.stream = loads(i, m.target.generation) * one;
  p.interval = p.stream;
  p.latency = wide ? m.tensor.load_fp32_l0 : m.tensor.load_l0;
  return p;
}

// fp32 is two matmuls in the engine, each of which streams its data twice (datasheet 6.1).
Parts matmul(const Matmul& i, const Streams& s, const MachineConfig& m) {
  // double_row takes both rows of moving in the time of one.
  const std::int64_t row = i.moving.elements() / (i.double_row ? 2 : 1);
  const double elements = static_cast<double>(row) * s.stride_factor;
  const Cycles gap = m.timing.mode == TimingMode::measured ? m.tensor.ii_gap : 0;
  const Passes pass = passes(i, m.target.generation);
  const Cycles one = whole(pass.streams * elements);
  const Cycles one_interval = std::max(m.tensor.mm_init, one) + gap;
  Parts p;
  p.stream = (pass.matmuls - 1) * one_interval + one;
  p.interval = pass.matmuls * one_interval;
  p.latency = m.tensor.l0;
  return p;
}

// ---- control --------------------------------------------------------------------------------

Cost control(const Instruction& instruction, const MachineConfig& m) {
  const Ticks cycle = ticks_per_core_cycle(m);
  const Ticks issue = m.control.issue * cycle;
  const auto memory = [&](const MemoryOperand& operand) {
    return std::holds_alternative<HbmPattern>(operand) ? ticks_from_ns(m, m.control.register_hbm_ns)
                                                       : m.control.register_memory * cycle;
  };
  if (const auto* load = std::get_if<RegisterLoad>(&instruction.operands)) {
    // The next instruction may use the register, so the sequencer waits.
    return {.interval = memory(load->src), .stream = 0, .latency = memory(load->src)};
  }
  if (const auto* store = std::get_if<RegisterStore>(&instruction.operands)) {
    return {.interval = issue, .stream = 0, .latency = memory(store->dst)};
  }
  if (instruction.opcode == Opcode::compare_branch) {
    const Ticks branch = m.control.branch * cycle;
    return {.interval = branch, .stream = 0, .latency = branch};
  }
  return {.interval = issue, .stream = 0, .latency = issue};
}

// The address is read before the copy can start (datasheet 6.3.1), so the interval's minimum delays
// the result as well.
void apply_dynamic_minimum(Parts& p, const MachineConfig& m) {
  const Cycles late = std::max<Cycles>(0, m.stream.dynamic_min_ii - p.interval);
  p.interval += late;
  p.latency += late;
}

}  // namespace

Cost cost(const Instruction& instruction, Engine engine, const MachineConfig& m) {
  const Streams s = streams(instruction, m);
  const Operands& operands = instruction.operands;
  Parts p;
  switch (info(instruction.opcode).cost) {
    case CostClass::control: return control(instruction, m);
    case CostClass::dma: {
      const Ticks issue = m.control.issue * ticks_per_core_cycle(m);
      return {.interval = issue, .stream = 0, .latency = issue};
    }
    case CostClass::table_load: {
      const Ticks load = ticks_from_ns(m, m.scalar.table_load_ns);
      return {.interval = load, .stream = 0, .latency = load};
    }
    case CostClass::load_weights: p = load_weights(std::get<LoadStationary>(operands), m); break;
    case CostClass::matmul: p = matmul(std::get<Matmul>(operands), s, m); break;
    case CostClass::activation: {
      const auto& i = std::get<Activation>(operands);
      p = on_scalar(i.dst, i.src, true, s, m);
      break;
    }
    case CostClass::read_acc:
      p = engine == Engine::vector ? on_vector(s, 1, lanes(operands), m)
                                   : read_accumulator(std::get<Destination>(operands), m);
      break;
    case CostClass::copy: {
      const auto& i = std::get<Unary>(operands);
      p = engine == Engine::gpsimd   ? on_gpsimd(s, m.gpsimd.k, m)
          : engine == Engine::scalar ? on_scalar(i.dst, i.src, false, s, m)
                                     : on_vector(s, copy_k(i.dst, i.src, m), i.dst.partitions, m);
      if (s.dynamic) apply_dynamic_minimum(p, m);
      break;
    }
    case CostClass::memset: {
      const auto& i = std::get<Memset>(operands);
      p = engine == Engine::gpsimd ? on_gpsimd(s, m.gpsimd.k, m) : memset_on_vector(i, s, m);
      break;
    }
    case CostClass::tensor_scalar: {
      const auto& i = std::get<TensorScalar>(operands);
      p = engine == Engine::gpsimd   ? on_gpsimd(s, gpsimd_k(i.op0, i.op1, m.gpsimd.k, m), m)
          : engine == Engine::scalar ? on_scalar(i.dst, i.src, true, s, m)
                                     : on_vector(s, copy_k(i.dst, i.src, m), i.dst.partitions, m);
      break;
    }
    case CostClass::tensor_tensor: {
      const auto& i = std::get<TensorTensor>(operands);
      p = engine == Engine::gpsimd ? on_gpsimd(s, gpsimd_k(i.op, i.op, m.gpsimd.pair_k, m), m)
                                   : on_vector(s, pair_k(i, m), i.dst.partitions, m);
      break;
    }
    case CostClass::reduce: {
      const auto& i = std::get<TensorReduce>(operands);
      p = on_vector(s, reduce_k(i, m), i.dst.partitions, m);
      break;
    }
    case CostClass::pair: {
      const auto& i = std::get<ScalarTensorTensor>(operands);
      p = on_vector(s, scalar_pair_k(i, m), i.dst.partitions, m);
      break;
    }
    case CostClass::predicated: p = on_vector(s, predicated_k(operands, m), lanes(operands), m); break;
    case CostClass::scan: p = on_vector(s, m.vector.scan_k, lanes(operands), m); break;
    case CostClass::lane_stream:  // of gpsimd: rng
      p = engine == Engine::gpsimd ? on_gpsimd(s, m.gpsimd.k, m) : on_vector(s, 1, lanes(operands), m);
      break;
    case CostClass::aggregate: p = on_vector(s, m.vector.aggregate_k, lanes(operands), m); break;
    case CostClass::lane_registers: p = load_lane_registers(m); break;
    case CostClass::gpsimd_stream: p = on_gpsimd(s, m.gpsimd.k, m); break;
    case CostClass::gpsimd_gather: p = n_gather(std::get<Gather>(operands), m); break;
    case CostClass::gpsimd_local_gather:
      p = gpsimd_cycles(local_gather_cycles(std::get<LocalGather>(operands), m), 1, m);
      break;
    case CostClass::gpsimd_partitions: {
      const double cycles = m.gpsimd.partition_reduce_k * static_cast<double>(s.elements) * s.stride_factor;
      p = gpsimd_cycles(cycles, m.gpsimd.partition_starts, m);
      break;
    }
    case CostClass::gpsimd_bounds: {
      const auto n = static_cast<double>(std::get<Unary>(operands).src.elements());
      p = gpsimd_cycles(m.gpsimd.bounds_k * n * s.stride_factor, 1, m);
      break;
    }
    case CostClass::gpsimd_nonzero: {
      const auto n = static_cast<double>(std::get<NonzeroWithCount>(operands).src.elements());
      p = gpsimd_cycles(m.gpsimd.nonzero_k * n * s.stride_factor, 1, m);
      break;
    }
    case CostClass::gpsimd_topk: {
      const auto& i = std::get<TopK>(operands);
      p = gpsimd_cycles(m.gpsimd.topk_k * i.n + m.gpsimd.topk_result_k * i.k, 1, m);
      break;
    }
    case CostClass::reciprocal: p = on_vector(s, m.vector.reciprocal_k, lanes(operands), m); break;
  }
  const Ticks cycle = ticks_per_cycle(m, engine);
  return {.interval = p.interval * cycle, .stream = p.stream * cycle, .latency = p.latency * cycle};
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
