// The element-wise and reducing instructions of the vector engine; some run on scalar or gpsimd too
// (datasheet 6.3, 6.5, 6.6.1).

#include <algorithm>

#include "emu/data/alu.h"
#include "emu/data/exec.h"
#include "emu/data/lane_values.h"
#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

int bits_of(DType type) { return 8 * size_of(type); }

void check_integer(std::string_view mnemonic, AluOp op, const Operand& operand) {
  if (is_integer(operand.dtype())) return;
  throw Fault(FaultKind::program, "", "{}: {} works on the bits of integers, {} is {}", mnemonic, name(op),
              operand.name(), name(operand.dtype()));
}

// Bits move unchanged between equal types; the scalar engine of v2 converts always (datasheet 4.4).
bool moves_bits(DType dst, DType src, Engine engine, int generation) {
  return dst == src && (engine != Engine::scalar || generation >= 3);
}

// The exact 32-bit integer operations of gpsimd (datasheet 4.3): wrap around.
bool exact_integer(const TensorTensor& f, Engine engine) {
  const auto is_word = [](DType t) { return t == DType::i32 || t == DType::u32; };
  return engine == Engine::gpsimd && is_word(f.dst.dtype) && is_word(f.src0.dtype) && is_word(f.src1.dtype) &&
         (f.op == AluOp::add || f.op == AluOp::subtract || f.op == AluOp::mult);
}

void apply_words(AluOp op, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out,
                 std::size_t count) {
  switch (op) {
    case AluOp::add:
      for (std::size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
      return;
    case AluOp::subtract:
      for (std::size_t i = 0; i < count; ++i) out[i] = a[i] - b[i];
      return;
    default:
      for (std::size_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
      return;
  }
}

}  // namespace

void exec::tensor_copy(const Unary& f, Engine engine, State& state) {
  Operand dst("tensor_copy", "dst", f.dst, state);
  const Operand src("tensor_copy", "src", f.src, state);
  check_same_stream("tensor_copy", dst, src);
  const bool bits = moves_bits(f.dst.dtype, f.src.dtype, engine, state.generation);
  BlockBytes raw;
  BlockOf<float> values;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    if (bits) {
      src.read(block, raw.data());
      dst.write(block, raw.data());
    } else {
      if (apply_fused(AluOp::bypass, 0, AluOp::bypass, 0, src.plain_row(block), dst.plain_row(block),
                      block.size())) {
        return;
      }
      // From another type than fp32 no NaN comes but the canonical one, and the values may go to their place.
      float* to = dst.results(block, values);
      if (f.src.dtype == DType::f32) {
        dst.write(block, src.values(block, values, raw), raw);
      } else {
        src.read(block, to, raw);
        dst.finish(block, to, raw);
      }
    }
  });
  leave_groups(f.dst, state);
}

void exec::memset(const Memset& f, Engine, State& state) {
  Operand dst("memset", "dst", f.dst, state);
  const DType type = f.dst.dtype;
  // The pattern of each lane, in the destination's type; an integer is exact in an integer type.
  LaneValues<std::uint32_t> pattern;
  if (const auto* integer = std::get_if<std::int32_t>(&f.value); integer != nullptr && is_integer(type)) {
    pattern.values[0] = integer_to_bits(type, *integer);
  } else {
    const LaneValues<float> values = float_values("memset", "value", f.value, dst.lanes(), state);
    pattern.per_lane = values.per_lane;
    for (std::size_t lane = 0; lane < pattern.values.size(); ++lane) {
      pattern.values[lane] = to_bits(type, values.values[lane]);
    }
  }
  const int size = size_of(type);
  BlockBytes raw;
  for_each_block(dst.lanes(), dst.elements(), block_elements, [&](const Block& block) {
    std::byte* to = raw.data();
    for (int lane = block.lane; lane < block.lane + block.lanes; ++lane) {
      const std::uint32_t bits = pattern.of(lane);
      for (std::int64_t i = 0; i < block.count; ++i, to += size) {
        std::copy_n(reinterpret_cast<const std::byte*>(&bits), size, to);
      }
    }
    dst.write(block, raw.data());
  });
  leave_groups(f.dst, state);
}

namespace {

void tensor_scalar_bits(const TensorScalar& f, Operand& dst, const Operand& src, State& state) {
  for (const AluOp op : {f.op0, f.op1}) {
    if (op != AluOp::bypass && !is_bitvec(op)) {
      throw Fault(FaultKind::program, "",
                  "tensor_scalar: {} and {} are of different classes; both must be arithmetic "
                  "or both bitvec (datasheet 5.1)",
                  name(f.op0), name(f.op1));
    }
  }
  const AluOp op = is_bitvec(f.op0) ? f.op0 : f.op1;
  check_integer("tensor_scalar", op, dst);
  check_integer("tensor_scalar", op, src);
  LaneValues<std::uint32_t> scalar0, scalar1;
  if (!is_unary(f.op0)) scalar0 = bit_values("tensor_scalar", "scalar0", f.scalar0, dst.lanes(), state);
  if (!is_unary(f.op1)) scalar1 = bit_values("tensor_scalar", "scalar1", f.scalar1, dst.lanes(), state);
  const int width = bits_of(src.dtype());
  BlockBytes raw;
  BlockOf<std::uint32_t> values, expanded;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    src.read(block, values.data(), raw);
    if (f.op0 != AluOp::bypass)
      apply_lanes(f.op0, scalar0, f.reverse0, width, block, values.data(), expanded);
    if (f.op1 != AluOp::bypass)
      apply_lanes(f.op1, scalar1, f.reverse1, width, block, values.data(), expanded);
    dst.write(block, values.data(), raw);
  });
}

void tensor_scalar_floats(const TensorScalar& f, Operand& dst, const Operand& src, State& state) {
  LaneValues<float> scalar0, scalar1;
  if (!is_unary(f.op0)) scalar0 = float_values("tensor_scalar", "scalar0", f.scalar0, dst.lanes(), state);
  if (!is_unary(f.op1)) scalar1 = float_values("tensor_scalar", "scalar1", f.scalar1, dst.lanes(), state);
  BlockBytes raw;
  BlockOf<float> values, expanded;
  const bool swaps = f.reverse0 || f.reverse1;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    if (!swaps && apply_fused(f.op0, scalar0.of(block.lane), f.op1, scalar1.of(block.lane),
                              src.plain_row(block), dst.plain_row(block), block.size())) {
      return;
    }
    const float* from = src.values(block, values, raw);
    float* to = dst.results(block, values);
    if (f.op0 == AluOp::bypass && f.op1 == AluOp::bypass) {
      dst.write(block, from, raw);
      return;
    }
    if (f.op0 != AluOp::bypass) {
      apply_lanes(f.op0, scalar0, f.reverse0, block, from, to, expanded);
      from = to;
    }
    if (f.op1 != AluOp::bypass) apply_lanes(f.op1, scalar1, f.reverse1, block, from, to, expanded);
    dst.finish(block, to, raw);
  });
}

}  // namespace

void exec::tensor_scalar(const TensorScalar& f, Engine, State& state) {
  Operand dst("tensor_scalar", "dst", f.dst, state);
  const Operand src("tensor_scalar", "src", f.src, state);
  check_same_stream("tensor_scalar", dst, src);
  if (is_bitvec(f.op0) || is_bitvec(f.op1)) {
    tensor_scalar_bits(f, dst, src, state);
  } else {
    tensor_scalar_floats(f, dst, src, state);
  }
  leave_groups(f.dst, state);
}

void exec::tensor_tensor(const TensorTensor& f, Engine engine, State& state) {
  Operand dst("tensor_tensor", "dst", f.dst, state);
  const Operand src0("tensor_tensor", "src0", f.src0, state);
  const Operand src1("tensor_tensor", "src1", f.src1, state);
  check_same_stream("tensor_tensor", dst, src0);
  check_same_stream("tensor_tensor", dst, src1);
  const bool exact = exact_integer(f, engine);
  if (is_bitvec(f.op)) {
    check_integer("tensor_tensor", f.op, dst);
    check_integer("tensor_tensor", f.op, src0);
    check_integer("tensor_tensor", f.op, src1);
  }
  const std::int64_t limit = std::min(block_limit(dst, src0), block_limit(dst, src1));
  const int width = std::max(bits_of(f.src0.dtype), bits_of(f.src1.dtype));
  BlockBytes raw;
  BlockOf<float> a, b;
  BlockOf<std::uint32_t> p, q;
  for_each_block(dst.lanes(), dst.elements(), limit, [&](const Block& block) {
    const std::size_t n = block.size();
    if (exact || is_bitvec(f.op)) {
      src0.read(block, p.data(), raw);
      src1.read(block, q.data(), raw);
      exact ? apply_words(f.op, p.data(), q.data(), p.data(), n)
            : apply(f.op, p.data(), q.data(), width, p.data(), n);
      dst.write(block, p.data(), raw);
    } else if (!apply_fused(f.op, src0.plain_row(block), src1.plain_row(block), dst.plain_row(block), n)) {
      const float* left = src0.values(block, a, raw);
      const float* right = src1.values(block, b, raw);
      float* to = dst.results(block, a);
      apply(f.op, left, right, to, n);
      dst.finish(block, to, raw);
    }
  });
  leave_groups(f.dst, state);
}

void exec::reciprocal(const Unary& f, Engine, State& state) {
  Operand dst("reciprocal", "dst", f.dst, state);
  const Operand src("reciprocal", "src", f.src, state);
  check_same_stream("reciprocal", dst, src);
  BlockBytes raw;
  BlockOf<float> values;
  for_each_block(dst.lanes(), dst.elements(), block_limit(dst, src), [&](const Block& block) {
    const float* from = src.values(block, values, raw);
    float* to = dst.results(block, values);
    apply(AluOp::reciprocal, from, from, to, block.size());
    dst.finish(block, to, raw);
  });
  leave_groups(f.dst, state);
}

}  // namespace ncemu
