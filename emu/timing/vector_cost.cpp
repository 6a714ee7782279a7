// Instructions of the vector engine (datasheet 6.3, 6.5 to 6.7): cycles per element by operands, and what
// stands around the stream.

#include <cstdlib>

#include "emu/timing/cost_parts.h"
#include "isa/fault.h"

namespace ncemu::cost_parts {
namespace {

bool is_16bit_float(const AccessPattern& p) { return p.dtype == DType::bf16 || p.dtype == DType::f16; }

// Datasheet 6.0.5; v2 has 1 everywhere. Elements of the source that are not adjacent come through the read
// port one by one: it limits a copy that would run faster.
double copy_k(const AccessPattern& dst, const AccessPattern& src, const Streams& s, const MachineConfig& m) {
  const bool both_16bit = is_16bit_float(dst) && is_16bit_float(src);
  const bool both_adjacent = adjacent(dst) && adjacent(src);
  if (is_sbuf(dst) && is_sbuf(src)) {
    if (both_adjacent) return both_16bit ? m.vector.sbuf_16bit_k : m.vector.sbuf_other_k;
    const double other = adjacent(dst) ? m.vector.sbuf_other_apart_k : 1;
    const double apart = both_16bit ? m.vector.sbuf_16bit_apart_k : other;
    return s.reads_apart ? std::max(apart, m.vector.sbuf_other_apart_k) : apart;
  }
  const bool one_in_psum = is_sbuf(dst) != is_sbuf(src);
  return one_in_psum && both_16bit && both_adjacent ? m.vector.psum_16bit_k : 1;
}

bool is_fast_pair(const TensorTensor& i) {
  const bool simple = i.op == AluOp::add || i.op == AluOp::subtract || i.op == AluOp::mult;
  bool bf16 = true;
  for (const AccessPattern* p : {&i.dst, &i.src0, &i.src1})
    bf16 = bf16 && p->dtype == DType::bf16 && adjacent(*p);
  return is_sbuf(i.src0) && is_sbuf(i.src1) && simple && bf16;
}

// Two SBUF operands share a read port on v2 (datasheet 6.0.4, 6.5.2).
double pair_k(const TensorTensor& i, const MachineConfig& m) {
  if (!is_sbuf(i.src0) || !is_sbuf(i.src1)) return 1;
  return is_fast_pair(i) ? m.vector.pair_sbuf_bf16_k : m.vector.pair_sbuf_k;
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

double cycles_per_element(const Instruction& instruction, const Streams& s, const MachineConfig& m) {
  const Operands& operands = instruction.operands;
  switch (info(instruction.opcode).cost) {
    case CostClass::copy: {
      const auto& i = std::get<Unary>(operands);
      return copy_k(i.dst, i.src, s, m);
    }
    case CostClass::tensor_scalar: {
      const auto& i = std::get<TensorScalar>(operands);
      return copy_k(i.dst, i.src, s, m);
    }
    case CostClass::memset: return memset_k(std::get<Memset>(operands), m);
    case CostClass::tensor_tensor: return pair_k(std::get<TensorTensor>(operands), m);
    case CostClass::reduce: return reduce_k(std::get<TensorReduce>(operands), m);
    case CostClass::pair: return scalar_pair_k(std::get<ScalarTensorTensor>(operands), m);
    case CostClass::predicated: return predicated_k(operands, m);
    case CostClass::scan: return m.vector.scan_k;
    case CostClass::aggregate: return m.vector.aggregate_k;
    case CostClass::reciprocal: return m.vector.reciprocal_k;
    case CostClass::read_acc:
    case CostClass::lane_stream: return 1;
    case CostClass::control:
    case CostClass::dma:
    case CostClass::table_load:
    case CostClass::load_weights:
    case CostClass::matmul:
    case CostClass::activation:
    case CostClass::lane_registers:
    case CostClass::gpsimd_stream:
    case CostClass::gpsimd_gather:
    case CostClass::gpsimd_local_gather:
    case CostClass::gpsimd_partitions:
    case CostClass::gpsimd_bounds:
    case CostClass::gpsimd_nonzero:
    case CostClass::gpsimd_topk: break;
  }
  ensure(false, "a streaming instruction of the vector engine has cycles per element");
  return 1;
}

const AccessPattern* destination_of(const Instruction& instruction) {
  const AccessPattern* found = nullptr;
  for_each_field(instruction.operands, [&](std::string_view, const auto& field, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AccessPattern>) {
      if (role == Role::write && found == nullptr) found = &field;
    }
  });
  return found;
}

bool reads_two_from_sbuf(const Operands& operands) {
  if (const auto* i = std::get_if<TensorTensor>(&operands)) return is_sbuf(i->src0) && is_sbuf(i->src1);
  if (const auto* i = std::get_if<ScalarTensorTensor>(&operands)) return is_sbuf(i->src0) && is_sbuf(i->src1);
  return false;
}

// SBUF takes results a line at a time. Elements far apart need a line each: whole words are written into it,
// parts of words are read, changed and written back. A queue before that takes some elements, so the engine
// runs ahead of its writes by as much (measured rows: one such copy alone, and many in a row).
void write_lines(Parts& p, const AccessPattern& dst, const MachineConfig& m) {
  const std::int64_t elements = dst.elements();
  const std::int64_t line = m.vector.write_line_bytes;
  const bool whole_words = size_of(dst.dtype) % 4 == 0;
  const double lines_per_element =
      static_cast<double>(std::min(line, std::abs(distance(dst)))) / static_cast<double>(line);
  const double each = lines_per_element * (whole_words ? m.vector.write_line_k : m.vector.write_part_k);
  p.write = whole(each * static_cast<double>(elements));
  if (whole_words) return;
  p.write_ahead = whole(each * static_cast<double>(std::min(elements, m.vector.write_queue)));
}

// What elements far apart cost beside that. On v3 reading them costs a copy its performance mode and nothing
// more.
double stride_factor(const Streams& s, bool by_lines, const MachineConfig& m) {
  if (!is_measured(m)) return s.stride_factor(m);
  return std::max(s.reads_apart ? m.vector.strided_read_factor : 1,
                  s.writes_apart && !by_lines ? m.stream.stride_factor : 1);
}

Parts memset_parts(const Memset& i, Cycles stream, const MachineConfig& m) {
  const bool sbuf = is_sbuf(i.dst);
  Parts p;
  p.stream = stream;
  p.interval = interval_of(stream, sbuf ? m.vector.memset_gap : m.vector.memset_psum_gap, m.vector.min_ii, m);
  p.latency = sbuf ? m.vector.memset_l0 : m.vector.memset_psum_l0;
  return p;
}

}  // namespace

Parts on_vector(const Instruction& instruction, const Streams& s, const MachineConfig& m) {
  const AccessPattern* dst = destination_of(instruction);
  // Only writes of elements far apart into SBUF are measured; elsewhere the documented factor stands.
  const bool by_lines =
      is_measured(m) && m.vector.write_line_k > 0 && s.writes_apart && dst != nullptr && is_sbuf(*dst);
  const double k = cycles_per_element(instruction, s, m) * stride_factor(s, by_lines, m);
  const Cycles stream = whole(k * static_cast<double>(s.elements));
  Parts p;
  if (const auto* memset = std::get_if<Memset>(&instruction.operands)) {
    p = memset_parts(*memset, stream, m);
  } else {
    const bool two = reads_two_from_sbuf(instruction.operands);
    p.stream = stream;
    p.interval = interval_of(
        stream, m.vector.ii_gap + (s.pointer ? m.vector.ptr_gap : 0) + (two ? m.vector.pair_gap : 0),
        m.vector.min_ii, m);
    p.latency = m.vector.l0 + (s.pointer ? m.vector.ptr_l0 : 0) + (two ? m.vector.pair_l0 : 0);
  }
  p.latency -= saving(lanes(instruction.operands), m.vector.few_lanes, m.vector.few_lanes_saving, p.latency);
  if (s.result) {  // as one more instruction of one element (datasheet 6.0.2)
    const Cycles read_out = interval_of(1, m.vector.ii_gap, m.vector.min_ii, m);
    p.interval += read_out;
    p.latency += read_out;
  }
  if (by_lines) write_lines(p, *dst, m);
  return p;
}

}  // namespace ncemu::cost_parts

namespace ncemu {

bool in_performance_mode(const Instruction& instruction, const MachineConfig& machine) {
  using namespace cost_parts;
  if (!is_measured(machine)) return false;  // the printed formulas have none
  switch (info(instruction.opcode).cost) {
    case CostClass::copy:
    case CostClass::tensor_scalar:
    case CostClass::reduce: break;
    case CostClass::tensor_tensor: {
      // One element a cycle of two operands is the fast one: their pair takes two without it.
      const auto& i = std::get<TensorTensor>(instruction.operands);
      return machine.target.generation >= 3 && is_fast_pair(i);
    }
    default: return false;
  }
  return cycles_per_element(instruction, streams(instruction, machine), machine) < 1;
}

}  // namespace ncemu
