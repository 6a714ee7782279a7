// The initiation intervals that the instruction pages of SDK 2.26 print, to the letter: what a row of the
// datasheet's section 6 marks with D26. They are the same on every generation; the performance modes of v3
// and its single pass over two SBUF operands are described elsewhere. Where the pages contradict other
// sources the printed form stands: a matmul of few columns (C9), local_gather (C14). The minimum that one
// page misprints as a maximum (C18) and the pages that list it beside their table (C19) are read like their
// neighbours.

#include "emu/timing/cost_parts.h"
#include "emu/timing/tensor_passes.h"

namespace ncemu::cost_parts {
namespace {

bool all_adjacent_bf16(std::initializer_list<const AccessPattern*> patterns) {
  return std::all_of(patterns.begin(), patterns.end(),
                     [](const AccessPattern* p) { return p->dtype == DType::bf16 && adjacent(*p); });
}

bool is_zero(const ScalarOperand& value) {
  const auto* real = std::get_if<float>(&value);
  const auto* whole_number = std::get_if<std::int32_t>(&value);
  return (real != nullptr && *real == 0) || (whole_number != nullptr && *whole_number == 0);
}

// Two operands in SBUF share a read port.
double pair_k(const AccessPattern& a, const AccessPattern& b) { return is_sbuf(a) && is_sbuf(b) ? 2 : 1; }

double tensor_tensor_k(const TensorTensor& i) {
  const bool simple = i.op == AluOp::add || i.op == AluOp::mult || i.op == AluOp::subtract;
  return simple && all_adjacent_bf16({&i.dst, &i.src0, &i.src1}) ? 1 : pair_k(i.src0, i.src1);
}

double scalar_tensor_tensor_k(const ScalarTensorTensor& i) {
  const bool fast = i.src0.dtype == DType::bf16 && i.src1.dtype == DType::bf16 && i.op0 == AluOp::subtract &&
                    i.op1 == AluOp::mult && i.src0.elements() % 2 == 0;
  return fast ? 1 : 2;
}

double reduce_k(const TensorReduce& i) {
  const bool bf16 = i.src.dtype == DType::bf16 && i.dst.dtype == DType::bf16;
  return bf16 && (i.op == AluOp::add || i.op == AluOp::max) ? 0.5 : 1;
}

double memset_k(const Memset& i) {
  const bool narrow = i.dst.dtype == DType::bf16 || i.dst.dtype == DType::f16;
  return narrow && is_zero(i.value) ? 0.5 : 1;
}

struct Page {
  Opcode opcode;
  double k;
};
// clang-format off
// The pages that print one factor, whatever the operands.
constexpr Page pages[] = {
    // opcode                         cycles per element
    {Opcode::activation,               1},
    {Opcode::read_accumulator,         1},
    {Opcode::tensor_copy,              1},
    {Opcode::tensor_scalar,            1},
    {Opcode::tensor_scalar_reduce,     1},
    {Opcode::range_select,             1},
    {Opcode::dropout,                  1},
    {Opcode::bn_stats,                 1},
    {Opcode::max8,                     1},
    {Opcode::find_index8,              1},
    {Opcode::match_replace8,           1},
    {Opcode::stream_shuffle,           1},
    {Opcode::transpose,                1},
    {Opcode::tensor_tensor_scan,       2},
    {Opcode::reciprocal,               8},
    {Opcode::bn_aggr,           13.0 / 3},
};
// clang-format on

// Cycles per element of an instruction of the vector or the scalar engine.
std::optional<double> printed_k(const Instruction& instruction) {
  const Operands& operands = instruction.operands;
  if (const auto* i = std::get_if<TensorTensor>(&operands)) return tensor_tensor_k(*i);
  if (const auto* i = std::get_if<ScalarTensorTensor>(&operands)) return scalar_tensor_tensor_k(*i);
  if (const auto* i = std::get_if<TensorReduce>(&operands)) return reduce_k(*i);
  if (const auto* i = std::get_if<Memset>(&operands)) return memset_k(*i);
  if (const auto* i = std::get_if<CopyPredicated>(&operands))
    return i->src ? pair_k(*i->src, i->predicate) : 1;
  for (const Page& page : pages) {
    if (page.opcode == instruction.opcode) return page.k;
  }
  return std::nullopt;
}

// 150 + (num_valid e) / C, with C = ((28 + t e) / (t e)) / min(4 / dtype_size, e) and t = 4.
double local_gather(const LocalGather& i, const MachineConfig& m) {
  const double e = i.num_elem_per_idx;
  const double busy = m.gpsimd.local_gather_rate * e;
  const double c = (m.gpsimd.local_gather_overhead + busy) / busy / std::min(4.0 / size_of(i.dst.dtype), e);
  return static_cast<double>(i.valid_indices()) * e / c;
}

std::optional<Printed> on_gpsimd(const Instruction& instruction, const Streams& s, const MachineConfig& m) {
  const auto started = [&](Cycles stream) { return Printed{m.gpsimd.start + stream, stream}; };
  if (const auto* gather = std::get_if<LocalGather>(&instruction.operands))
    return started(whole(local_gather(*gather, m)));
  if (instruction.opcode == Opcode::iota || instruction.opcode == Opcode::affine_select)
    return started(s.elements);
  if (instruction.opcode == Opcode::tensor_copy) {
    const Cycles least = s.dynamic ? m.stream.dynamic_min_ii : m.vector.min_ii;
    return Printed{std::max<Cycles>(least, s.elements), s.elements};
  }
  return std::nullopt;
}

// Of a load and its matmul, of which many follow one another.
Printed matmul(const Matmul& i, const MachineConfig& m) {
  const std::int64_t n = i.moving.elements() / (i.double_row ? 2 : 1);
  const std::int64_t columns = i.dst.partitions;
  const Passes pass = passes(i, m.target.generation);
  const Cycles one = pass.streams * std::max(std::min<Cycles>(m.tensor.mm_init, columns), n);
  return {.interval = pass.matmuls * one, .stream = (pass.matmuls - 1) * one + pass.streams * n};
}

}  // namespace

std::optional<Printed> printed_cost(const Instruction& instruction, Engine engine, const Streams& s,
                                    const MachineConfig& m) {
  if (const auto* i = std::get_if<Matmul>(&instruction.operands)) return matmul(*i, m);
  if (engine == Engine::gpsimd) return on_gpsimd(instruction, s, m);
  if (engine != Engine::vector && engine != Engine::scalar) return std::nullopt;
  const std::optional<double> k = printed_k(instruction);
  if (!k) return std::nullopt;
  const Cycles minimum = engine == Engine::vector ? m.vector.min_ii : m.scalar.min_ii;
  const bool dynamic = s.dynamic && instruction.opcode == Opcode::tensor_copy;
  const Cycles least = dynamic ? m.stream.dynamic_min_ii : minimum;
  const Cycles stream = whole(*k * static_cast<double>(s.elements) * s.stride_factor(m));
  return Printed{std::max(least, stream) + (s.result ? minimum : 0), stream};
}

}  // namespace ncemu::cost_parts
