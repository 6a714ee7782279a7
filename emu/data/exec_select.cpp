// Instructions of the vector engine that choose between two values, and scalar_tensor_tensor
// (datasheet 6.3.2, 6.5.3, 6.6.7, 6.6.8).

#include <cstring>
#include <limits>

#include "emu/data/alu.h"
#include "emu/data/exec.h"
#include "emu/data/lane_accumulators.h"
#include "emu/data/lane_values.h"
#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

// What range_select writes where an element is not selected: the lowest fp32 number, -infinity in narrower
// types.
constexpr float lowest_f32 = std::numeric_limits<float>::lowest();

// Copies the elements of `from` for which the predicate holds to `to`.
void blend(const std::uint32_t* predicate, bool reverse, std::size_t count, std::size_t size,
           const std::byte* from, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    if ((predicate[i] != 0) != reverse) std::memcpy(to + i * size, from + i * size, size);
  }
}

std::uint32_t fill_bits(DType type, const ScalarOperand& value, State& state) {
  if (const auto* integer = std::get_if<std::int32_t>(&value); integer != nullptr && is_integer(type)) {
    return integer_to_bits(type, *integer);
  }
  if (std::holds_alternative<PointerOperand>(value)) {
    throw Fault(FaultKind::program, "",
                "tensor_copy_predicated: value is a tile, expected a number; a tile is src");
  }
  return to_bits(type, float_values("tensor_copy_predicated", "value", value, 1, state).of(0));
}

}  // namespace

void exec::tensor_copy_predicated(const CopyPredicated& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "tensor_copy_predicated";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand predicate(mnemonic, "predicate", f.predicate, state);
  check_same_stream(mnemonic, dst, predicate);
  const auto size = static_cast<std::size_t>(size_of(dst.dtype()));
  // Unselected elements are written back: they are read as any source is.
  std::int64_t limit = std::min(block_limit(dst, predicate), block_limit(dst, dst));
  std::optional<Operand> src;
  BlockBytes raw, source, result;
  if (f.src) {
    src.emplace(mnemonic, "src", *f.src, state);
    check_same_stream(mnemonic, dst, *src);
    if (src->dtype() != dst.dtype()) {
      throw Fault(FaultKind::program, "", "tensor_copy_predicated: src is {}, dst is {}; they must be equal",
                  name(src->dtype()), name(dst.dtype()));
    }
    limit = std::min(limit, block_limit(dst, *src));
  } else {
    const std::uint32_t bits = fill_bits(dst.dtype(), f.value, state);
    for (std::size_t at = 0; at < source.bytes.size(); at += size)
      std::memcpy(source.data() + at, &bits, size);
  }
  BlockOf<std::uint32_t> holds;
  for_each_block(dst.lanes(), dst.elements(), limit, [&](const Block& block) {
    predicate.read(block, holds.data(), raw);
    if (src) src->read(block, source.data());
    dst.read(block, result.data());
    blend(holds.data(), f.reverse, block.size(), size, source.data(), result.data());
    dst.write(block, result.data());
  });
  leave_groups(f.dst, state);
}

void exec::scalar_tensor_tensor(const ScalarTensorTensor& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "scalar_tensor_tensor";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src0(mnemonic, "src0", f.src0, state);
  const Operand src1(mnemonic, "src1", f.src1, state);
  check_same_stream(mnemonic, dst, src0);
  check_same_stream(mnemonic, dst, src1);
  LaneValues<float> scalar;
  if (!is_unary(f.op0)) scalar = float_values(mnemonic, "scalar0", f.scalar0, dst.lanes(), state);
  BlockBytes raw;
  BlockOf<float> a, b, expanded;
  const std::int64_t limit = std::min(block_limit(dst, src0), block_limit(dst, src1));
  for_each_block(dst.lanes(), dst.elements(), limit, [&](const Block& block) {
    src0.read(block, a.data(), raw);
    src1.read(block, b.data(), raw);
    if (f.op0 != AluOp::bypass) apply_lanes(f.op0, scalar, f.reverse0, block, a.data(), expanded);
    f.reverse1 ? apply(f.op1, b.data(), a.data(), a.data(), block.size())
               : apply(f.op1, a.data(), b.data(), a.data(), block.size());
    dst.write(block, a.data(), raw);
  });
  leave_groups(f.dst, state);
}

void exec::range_select(const RangeSelect& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "range_select";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src(mnemonic, "src", f.src, state);
  check_same_stream(mnemonic, dst, src);
  const LaneValues<float> bound0 = float_values(mnemonic, "bound0", f.bound0, dst.lanes(), state);
  const LaneValues<float> bound1 = float_values(mnemonic, "bound1", f.bound1, dst.lanes(), state);
  LaneAccumulators accumulators(mnemonic, AluOp::max, f.reduce_cmd, dst, state);
  BlockBytes raw;
  BlockOf<float> values, holds0, holds1, expanded;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    src.read(block, values.data(), raw);
    float* index = holds0.data();
    for (int lane = 0; lane < block.lanes; ++lane) {
      for (std::int64_t i = 0; i < block.count; ++i)
        *index++ = f.range_start + static_cast<float>(block.first + i);
    }
    holds1 = holds0;
    apply_lanes(f.comp0, bound0, false, block, holds0.data(), expanded);
    apply_lanes(f.comp1, bound1, false, block, holds1.data(), expanded);
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (holds0.values[i] == 0 || holds1.values[i] == 0) values.values[i] = lowest_f32;
    }
    accumulators.add(block, values.data());
    dst.write(block, values.data(), raw);
  });
  leave_groups(f.dst, state);
  accumulators.read_out(f.reduce_res, false);
}

void exec::select_reduce(const SelectReduce& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "select_reduce";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand on_true(mnemonic, "on_true", f.on_true, state);
  const Operand predicate(mnemonic, "predicate", f.predicate, state);
  check_same_stream(mnemonic, dst, on_true);
  check_same_stream(mnemonic, dst, predicate);
  const LaneValues<float> on_false = float_values(mnemonic, "on_false", f.on_false, dst.lanes(), state);
  LaneAccumulators accumulators(mnemonic, AluOp::max, f.reduce_cmd, dst, state);
  BlockBytes raw;
  BlockOf<float> values;
  BlockOf<std::uint32_t> holds;
  const std::int64_t limit = std::min(block_limit(dst, on_true), block_limit(dst, predicate));
  for_each_block(dst.lanes(), dst.elements(), limit, [&](const Block& block) {
    on_true.read(block, values.data(), raw);
    predicate.read(block, holds.data(), raw);
    std::size_t i = 0;
    for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
      for (const std::size_t end = i + static_cast<std::size_t>(block.count); i < end; ++i) {
        if ((holds.values[i] != 0) == f.reverse) values.values[i] = on_false.of(lane);
      }
    }
    accumulators.add(block, values.data());
    dst.write(block, values.data(), raw);
  });
  leave_groups(f.dst, state);
}

}  // namespace ncemu
