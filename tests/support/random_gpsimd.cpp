// Random instructions of gpsimd.

#include "tests/support/random_generator.h"

namespace ncemu::test {

void Generator::on_gpsimd() {
  switch (below(8)) {
    case 0:
    case 1: affine(); break;
    case 2:
    case 3: gather(); break;
    case 4:
    case 5: integers_on_gpsimd(); break;
    case 6: across_lanes(); break;
    default: v3() ? gpsimd_random() : affine(); break;
  }
}

// Random bits, all but the lowest of them cut off.
void Generator::numbers_below(const View& view, std::int32_t power_of_two) {
  b_.emit(Opcode::rng, Destination{view.pattern()}, Engine::vector);
  TensorScalar cut;
  cut.dst = cut.src = view.pattern();
  cut.op0 = AluOp::bitwise_and;
  cut.scalar0 = power_of_two - 1;
  b_.emit(Opcode::tensor_scalar, cut, Engine::vector);
}

void Generator::affine() {
  const Shape s = shape();
  AffineDims pattern;
  pattern.dims[0] = {static_cast<std::int32_t>(below(5)) - 2, static_cast<std::uint16_t>(s.elements)};
  const auto offset = static_cast<std::int32_t>(below(9)) - 4;
  if (chance(50)) {
    b_.emit(Opcode::iota, Iota{operand(s, false).pattern(), pattern, offset, 1});
    return;
  }
  AffineSelect select{operand(s, false).pattern(), operand(s, false).pattern(), pattern, offset, -1};
  select.cmp = pick({Comparison::gt, Comparison::ge, Comparison::eq, Comparison::ne});
  select.on_false = 3.0F;
  b_.emit(Opcode::affine_select, select);
}

void Generator::gather() {
  if (chance(50)) {
    const Shape s = shape();
    const View index = integers_in_sbuf(s, DType::u32);
    numbers_below(index, s.elements >= 4 ? 4 : static_cast<std::int32_t>(s.elements));
    const AccessPattern dst = part(sbuf_[1], s).pattern(), src = part(sbuf_[3], s).pattern();
    b_.emit(Opcode::n_gather, Gather{dst, src, index.pattern()});
    return;
  }
  // 16 lanes share their indices; what they give fills a tile's row.
  const std::int64_t lanes = pick({16L, 32L, 64L, 128L});
  const std::int64_t run = pick({1L, 2L, 4L});
  const View index = integers_in_sbuf({lanes, 1}, DType::u16);
  numbers_below(index, 8);
  LocalGather f;
  f.dst = part(sbuf_[0], {lanes, row}).pattern();
  f.src = part(sbuf_[2], {lanes, row}).pattern();
  f.index = index.pattern();
  f.num_elem_per_idx = static_cast<std::uint8_t>(run);
  f.num_valid_indices = static_cast<std::uint16_t>(row / run);
  b_.emit(Opcode::local_gather, f);
}

// Exact integers, powers and reciprocal roots.
void Generator::integers_on_gpsimd() {
  const Shape s = shape();
  if (chance(30)) {
    TensorScalar root;
    root.dst = operand(s, false).pattern();
    root.src = operand(s, false).pattern();
    root.op0 = AluOp::rsqrt;
    b_.emit(Opcode::tensor_scalar, root, Engine::gpsimd);
    return;
  }
  TensorTensor f;
  if (chance(30)) {
    f.dst = operand(s, false).pattern();
    f.src0 = operand(s, false).pattern();
    f.src1 = operand(s, false).pattern();
    f.op = AluOp::pow;
  } else {
    f.dst = integers_in_sbuf(s, DType::i32).pattern();
    f.src0 = integers_in_sbuf(s, DType::i32).pattern();
    f.src1 = integers_in_sbuf(s, DType::i32).pattern();
    f.op = pick({AluOp::add, AluOp::subtract, AluOp::mult});
  }
  b_.emit(Opcode::tensor_tensor, f, Engine::gpsimd);
}

void Generator::across_lanes() {
  const Shape s = shape();
  switch (v3() ? below(4) : below(2)) {
    case 0: {
      const AccessPattern dst = operand({1, s.elements}, false).pattern();
      b_.emit(
          Opcode::tensor_partition_reduce,
          PartitionReduce{dst, operand(s, false).pattern(), pick({AluOp::max, AluOp::add, AluOp::average})});
      return;
    }
    case 1: {
      const View ids = part(sbuf_[0], {1, 8});
      b_.emit(Opcode::sequence_bounds, Unary{part(sbuf_[2], {1, row}).pattern(), ids.pattern()});
      return;
    }
    case 2: {
      const std::int64_t n = pick({1L, 4L, 7L});
      NonzeroWithCount f;
      f.src = part(sbuf_[0], {s.partitions, n}).pattern();
      f.dst = part(sbuf_[2].as(DType::i32), {s.partitions, n + 1}).pattern();
      f.index_offset = static_cast<std::int32_t>(below(10));
      b_.emit(Opcode::nonzero_with_count, f);
      return;
    }
    default: {
      const std::int64_t lanes = pick({16L, 32L, 128L}), across = pick({1L, 2L, 4L});
      TopK f;
      f.n = static_cast<std::uint32_t>(16 * across);
      f.k = static_cast<std::uint32_t>(1 + below(std::min<std::int64_t>(16 * across, 32)));
      f.dst = part(sbuf_[1], {lanes, f.columns()}).pattern();
      f.indices = part(sbuf_[2].as(DType::u32), {lanes, f.columns()}).pattern();
      f.src = part(sbuf_[3], {lanes, across}).pattern();
      b_.emit(Opcode::topk, f);
    }
  }
}

// The generators of NeuronCore-v3.
void Generator::gpsimd_random() {
  const Shape s{pick({17L, 32L, 128L}), 6};
  const View states = integers_in_sbuf(s, DType::u32);
  switch (below(3)) {
    case 0: b_.emit(Opcode::rand_set_state, Source{states.pattern()}); break;
    case 1: b_.emit(Opcode::rand_get_state, Destination{states.pattern()}); break;
    default: b_.emit(Opcode::rng, Destination{states.pattern()}, Engine::gpsimd); break;
  }
}

}  // namespace ncemu::test
