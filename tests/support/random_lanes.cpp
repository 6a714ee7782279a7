// Random instructions of the scalar and the vector engine, and those that gpsimd has too.

#include "tests/support/random_generator.h"

namespace ncemu::test {

ReduceCommand Generator::accumulation() {
  return pick({ReduceCommand::idle, ReduceCommand::reduce, ReduceCommand::reset_reduce});
}

void Generator::activation() {
  const Shape s = shape();
  if (chance(15)) {
    b_.emit(Opcode::read_accumulator, Destination{operand({s.partitions, 1}, true).pattern()});
    return;
  }
  Activation a;
  a.dst = operand(s, true).pattern();
  a.src = operand(s, true).pattern();
  a.func = pick({ActivationFunction::copy, ActivationFunction::relu, ActivationFunction::exp,
                 ActivationFunction::tanh});
  if (chance(30)) a.scale = lane_values(s);
  if (chance(30)) a.bias = lane_values(s);
  a.reduce_cmd = accumulation();
  b_.emit(Opcode::activation, a);
}

void Generator::copy() {
  const Shape s = shape();
  const bool gpsimd = chance(40);
  View dst = operand(s, !gpsimd);
  if (s.partitions == 32 && chance(20)) dst = weights_.slice(0, 32, 64).slice(1, 3, 3 + s.elements);
  if (s.elements == 1 && chance(40)) dst = part_of_column(s);
  const Engine engine = !gpsimd && v3() && chance(30) ? Engine::scalar : element_wise(gpsimd);
  b_.emit(Opcode::tensor_copy, Unary{dst.pattern(), operand(s, !gpsimd).pattern()}, engine);
}

void Generator::fill() {
  const Shape s = shape();
  const bool gpsimd = chance(40);
  Memset m;
  m.dst = operand(s, !gpsimd).pattern();
  m.value = static_cast<float>(below(16)) - 8.0F;
  b_.emit(Opcode::memset, m, element_wise(gpsimd));
}

void Generator::scale() {
  const Shape s = shape();
  TensorScalar t;
  t.dst = operand(s, true).pattern();
  t.src = operand(s, true).pattern();
  t.op0 = pick({AluOp::add, AluOp::max, AluOp::subtract});
  if (chance(50)) {
    t.scalar0 = lane_values(s);
  } else {
    t.scalar0 = static_cast<float>(below(4));
  }
  if (v3() && chance(20)) {  // what the scalar engine has of it
    t.op0 = AluOp::mult;
    t.op1 = AluOp::add;
    t.scalar1 = lane_values(s);
    b_.emit(Opcode::tensor_scalar, t, Engine::scalar);
    return;
  }
  b_.emit(Opcode::tensor_scalar, t);
}

void Generator::combine() {
  const Shape s = shape();
  const bool gpsimd = chance(40);
  TensorTensor t;
  t.dst = operand(s, !gpsimd).pattern();
  t.src0 = operand(s, !gpsimd).pattern();
  t.src1 = operand(s, false).pattern();  // one PSUM input at most
  t.op = pick({AluOp::add, AluOp::subtract, AluOp::add});
  b_.emit(Opcode::tensor_tensor, t, element_wise(gpsimd));
}

void Generator::reduce() {
  const Shape s{pick({17L, 32L, 128L}), 16};
  if (chance(40)) {
    const Shape one = shape();
    b_.emit(Opcode::reciprocal, Unary{operand(one, true).pattern(), operand(one, true).pattern()});
    return;
  }
  TensorReduce r;
  const bool all = chance(40);
  r.src = operand(s, true).pattern(true);
  r.dst = operand({s.partitions, all ? 1 : 2}, true).pattern();
  r.op = pick({AluOp::add, AluOp::max});
  r.axes = all ? Axes::XY : Axes::X;
  r.negate = chance(30);
  b_.emit(Opcode::tensor_reduce, r);
}

void Generator::load_mask() {
  LoadMask m;
  for (std::uint8_t& lane : m.mask.source)
    lane = static_cast<std::uint8_t>(chance(10) ? ShuffleMask::keep : below(ShuffleMask::lanes));
  b_.emit(Opcode::load_mask, m);
}

// Instructions with results in hidden registers, partial writes and second destinations.
void Generator::vector_only() {
  const Shape s = shape();
  const auto predicate = [&] { return part(sbuf_[1].as(DType::u16), s).pattern(); };
  switch (below(13)) {
    case 0: {
      TensorTensorScan f;
      f.dst = operand(s, true).pattern();
      f.src0 = operand(s, true).pattern();
      f.src1 = operand(s, false).pattern();
      if (chance(50)) f.initial = lane_values(s);
      b_.emit(Opcode::tensor_tensor_scan, f);
      return;
    }
    case 1: {
      TensorScalarReduce f;
      f.dst = operand(s, true).pattern();
      f.src = operand(s, true).pattern();
      f.op0 = AluOp::add;
      f.scalar0 = lane_values(s);
      f.reduce_cmd = accumulation();
      if (chance(60)) f.reduce_res = lane_values(s);
      b_.emit(Opcode::tensor_scalar_reduce, f);
      return;
    }
    case 2: {
      ScalarTensorTensor f;
      f.dst = operand(s, true).pattern();
      f.src0 = operand(s, true).pattern();
      f.src1 = operand(s, false).pattern();
      f.scalar0 = lane_values(s);
      b_.emit(Opcode::scalar_tensor_tensor, f);
      return;
    }
    case 3: {
      SelectReduce f;
      f.dst = operand(s, true).pattern();
      f.on_true = operand(s, true).pattern();
      f.predicate = predicate();
      f.reduce_cmd = accumulation();
      b_.emit(Opcode::select_reduce, f);
      b_.emit(Opcode::read_accumulator, Destination{part_of_column(s).pattern()}, Engine::vector);
      return;
    }
    case 4: {
      CopyPredicated f;
      f.dst = part(sbuf_[0], s).pattern();
      f.predicate = predicate();
      if (chance(50)) {
        f.src = part(sbuf_[2], s).pattern();
      } else {
        f.value = static_cast<float>(below(4));
      }
      b_.emit(Opcode::tensor_copy_predicated, f);
      return;
    }
    case 5: {
      const Shape quadrant{ShuffleMask::lanes, s.elements};
      b_.emit(Opcode::stream_shuffle,
              Unary{part(sbuf_[0], quadrant).pattern(), part(psum_[0], quadrant).pattern()});
      return;
    }
    case 6:
    case 7: vector_random(); return;
    case 8:
    case 9: vector_search(); return;
    case 10: vector_statistics(); return;
    case 11: {  // whole blocks of 32 x 32
      const std::int64_t lanes = pick({32L, 64L, 128L});
      const auto blocks = [&](const View& tile) {
        const std::int64_t start = legal_start(lanes);
        return tile.as(DType::bf16).slice(0, start, start + lanes).pattern();
      };
      b_.emit(Opcode::transpose,
              Unary{blocks(chance(50) ? sbuf_[0] : pick(psum_)), blocks(chance(50) ? sbuf_[2] : psum_[1])});
      return;
    }
    default: {
      TensorScalarCumulative f;
      f.dst = operand(s, true).pattern();
      f.src = operand(s, true).pattern();
      f.reduce_cmd = pick({ReduceCommand::reduce, ReduceCommand::reset_reduce});
      b_.emit(Opcode::tensor_scalar_cumulative, f);
    }
  }
}

// The eight largest, where they are, and the same without them; with repeats and with values of before.
void Generator::vector_search() {
  const Shape s{pick({17L, 32L, 128L}), pick({8L, 16L})}, eight{s.partitions, 8};
  const View largest = part(pick({sbuf_[0], psum_[0], sbuf_[3]}), eight);
  if (chance(70)) b_.emit(Opcode::max8, Unary{largest.pattern(), operand(s, true).pattern()});
  b_.emit(Opcode::match_value_load, Source{largest.pattern()});
  const Shape same_lanes{s.partitions, s.elements};
  // The match values belong to the partitions of `largest`.
  const std::int64_t start = largest.pattern().partition;
  const auto in_those_lanes = [&](const View& tile, std::int64_t elements) {
    return columns(tile.slice(0, start, start + s.partitions), elements);
  };
  if (chance(50)) {
    const View index = in_those_lanes(sbuf_[2].as(DType::u32), 8);
    b_.emit(Opcode::find_index8,
            Unary{index.pattern(), in_those_lanes(sbuf_[0], same_lanes.elements).pattern()});
    return;
  }
  MatchReplace f;
  f.dst = in_those_lanes(pick({sbuf_[0], psum_[2]}), s.elements).pattern();
  f.src = in_those_lanes(sbuf_[2], s.elements).pattern();
  f.value = -3.0F;
  if (chance(50)) f.index = in_those_lanes(sbuf_[1].as(DType::u16), 8).pattern();
  b_.emit(Opcode::match_replace8, f);
}

void Generator::vector_statistics() {
  const Shape s{pick({17L, 32L, 128L}), pick({1L, 4L, 5L, 8L, 16L})};
  const View triples = part(pick({sbuf_[0], psum_[1]}), {s.partitions, 6});
  b_.emit(Opcode::bn_stats, Unary{triples.pattern(), operand(s, true).pattern()});
  b_.emit(Opcode::bn_aggr, Unary{operand({s.partitions, 2}, true).pattern(), triples.pattern()});
}

void Generator::vector_random() {
  const Shape s = shape();
  switch (below(4)) {
    case 0: b_.emit(Opcode::set_rng_seed, Source{integers_in_sbuf({1, 1}, DType::u32).pattern()}); return;
    case 1: {
      Dropout f;
      f.dst = operand(s, true).pattern();
      f.src = operand(s, true).pattern();
      f.threshold = 0.3F;
      if (chance(40)) f.threshold = lane_values(s);
      f.threshold_type = pick({ThresholdType::drop_rate, ThresholdType::keep_rate});
      b_.emit(Opcode::dropout, f);
      return;
    }
    case 2: {
      if (!v3()) break;
      RangeSelect f;
      f.dst = operand(s, true).pattern();
      f.src = operand(s, true).pattern();
      f.bound0 = lane_values(s);
      f.bound1 = lane_values(s);
      f.range_start = static_cast<float>(below(4));
      f.reduce_cmd = accumulation();
      if (chance(50)) f.reduce_res = lane_values(s);
      b_.emit(Opcode::range_select, f);
      return;
    }
    default: break;
  }
  b_.emit(Opcode::rng, Destination{integers_in_sbuf(s, pick({DType::u32, DType::u16})).pattern()},
          Engine::vector);
}

}  // namespace ncemu::test
