#pragma once

// Rules of the vector engine's instructions, each broken once.

#include "tests/isa/rules_case.h"

namespace ncemu::rule_cases {

inline std::vector<Case> vector_cases() {
  const auto with = [](auto form, auto change) {
    change(form);
    return form;
  };
  const auto pointer = [](DType dtype) { return PointerOperand{Space::sbuf, dtype, 0, 0}; };
  const AccessPattern bytes = sbuf(128, 512, DType::u8), eight = sbuf(128, 8),
                      index = sbuf(128, 8, DType::u32);
  const CopyPredicated copy{sbuf(), bytes, sbuf()};
  const ScalarTensorTensor pair{sbuf(), sbuf(), sbuf(), AluOp::mult, 2.0F};
  const TensorScalarReduce reduce{sbuf(), sbuf()};
  const TensorScalarCumulative cumulative{sbuf(), sbuf()};
  const TensorTensorScan scan{sbuf(), sbuf(), sbuf()};
  const SelectReduce select{sbuf(), sbuf(), bytes};
  RangeSelect range{sbuf(), sbuf()};
  range.bound0 = range.bound1 = pointer(DType::f32);
  const Dropout dropout{sbuf(), sbuf()};
  LoadMask mask;
  mask.mask.source[3] = 32;
  const AccessPattern integers = sbuf(128, 512, DType::i32);
  return {
      {"accumulation or scalar_tensor_tensor", "trn1", V, Opcode::tensor_scalar_reduce,
       with(TensorScalarReduce{integers, integers},
            [](auto& f) { f.op0 = AluOp::bitwise_and, f.scalar0 = 1; }),
       "op0", "bitwise_and is bitwise"},
      {"between two streams", "trn1", V, Opcode::scalar_tensor_tensor,
       with(pair, [](auto& f) { f.op1 = AluOp::abs; }), "op1",
       "abs takes one operand, expected an operator of two"},
      {"between two streams", "trn1", V, Opcode::tensor_tensor_scan,
       with(scan, [](auto& f) { f.op0 = AluOp::bypass; }), "op0",
       "bypass takes one operand, expected an operator of two"},
      {"running reduction", "trn1", V, Opcode::tensor_scalar_reduce,
       with(reduce, [](auto& f) { f.reduce_op = AluOp::is_gt; }), "reduce_op", "is is_gt"},
      {"running reduction", "trn1", V, Opcode::tensor_scalar_cumulative,
       with(cumulative, [](auto& f) { f.op1 = AluOp::divide; }), "op1", "is divide"},
      {"loads accumulators", "trn1", V, Opcode::select_reduce,
       with(select, [](auto& f) { f.reduce_cmd = ReduceCommand::load_reduce; }), "reduce_cmd",
       "is load_reduce, which select_reduce does not have"},
      {"loads accumulators", "trn1", V, Opcode::tensor_scalar_cumulative,
       with(cumulative, [](auto& f) { f.reduce_cmd = ReduceCommand::load_reduce; }), "scalar1", "is missing"},
      {"loads accumulators", "trn1", V, Opcode::tensor_scalar_cumulative,
       with(cumulative, [](auto& f) { f.scalar1 = 1.0F; }), "scalar1",
       "is given, but reduce_cmd = reset_reduce loads nothing"},
      {"always accumulates", "trn1", V, Opcode::tensor_scalar_cumulative,
       with(cumulative, [](auto& f) { f.reduce_cmd = ReduceCommand::idle; }), "reduce_cmd", "is idle"},
      {"no 32-bit integers", "trn1", V, Opcode::tensor_scalar_cumulative,
       TensorScalarCumulative{sbuf(), integers}, "src", "is i32"},
      {"reduce_res is", "trn1", V, Opcode::tensor_scalar_reduce,
       with(reduce, [](auto& f) { f.reduce_res = 1.0F; }), "reduce_res",
       "is a number, expected a tile to write to"},
      {"reduce_res is", "trn2", V, Opcode::range_select,
       with(range, [](auto& f) { f.reduce_res = Register{1}; }), "reduce_res",
       "is a register, expected a tile to write to"},
      {"initial is", "trn1", V, Opcode::tensor_tensor_scan, with(scan, [](auto& f) { f.initial = 1; }),
       "initial", "is the integer 1, expected an f32 value (write 1.0)"},
      {"unsigned integer type", "trn1", V, Opcode::tensor_copy_predicated,
       CopyPredicated{sbuf(), sbuf(128, 512, DType::i8), sbuf()}, "predicate",
       "is i8, expected u8, u16 or u32"},
      {"unsigned integer type", "trn1", V, Opcode::select_reduce,
       SelectReduce{sbuf(), sbuf(), sbuf(128, 512, DType::u32)}, "predicate",
       "is u32, expected i8, u8, i16 or u16"},
      {"one of them is given", "trn1", V, Opcode::tensor_copy_predicated,
       with(copy, [](auto& f) { f.src.reset(); }), "src", "is missing, as value is"},
      {"one of them is given", "trn1", V, Opcode::tensor_copy_predicated,
       with(copy, [](auto& f) { f.value = 1.0F; }), "value", "is given beside src"},
      {"one of them is given", "trn1", V, Opcode::tensor_copy_predicated,
       with(copy, [&](auto& f) { f.src.reset(), f.value = pointer(DType::f32); }), "value",
       "is a tile, expected a number or a register"},
      {"one of them is given", "trn1", V, Opcode::tensor_copy_predicated,
       with(copy, [](auto& f) { f.src.reset(), f.value = 2; }), "value",
       "is the integer 2, expected an f32 value for f32 (write 2.0)"},
      {"bits move unchanged", "trn1", V, Opcode::tensor_copy_predicated,
       with(copy, [](auto& f) { f.dst.dtype = DType::i32; }), "src", "is f32, dst is i32"},
      {"bits move unchanged", "trn1", V, Opcode::transpose, Unary{sbuf(), integers}, "src",
       "is i32, dst is f32"},
      {"on_true is not", "trn1", V, Opcode::select_reduce, SelectReduce{sbuf(), integers, bytes}, "on_true",
       "is i32"},
      {"on_true is not", "trn1", V, Opcode::select_reduce,
       with(select, [&](auto& f) { f.on_false = pointer(DType::f16); }), "on_false",
       "points to f16, expected f32"},
      {"reads a float type", "trn2", V, Opcode::range_select, with(range, [&](auto& f) { f.src = integers; }),
       "src", "is i32, expected a float type"},
      {"bound0 and bound1", "trn2", V, Opcode::range_select, with(range, [](auto& f) { f.bound1 = 1.0F; }),
       "bound1", "is no tile, expected a [P, 1] tile of f32"},
      {"bound0 and bound1", "trn2", V, Opcode::range_select,
       with(range, [&](auto& f) { f.bound0 = pointer(DType::i32); }), "bound0",
       "points to i32, expected f32"},
      {"comp0 and comp1", "trn2", V, Opcode::range_select,
       with(range, [](auto& f) { f.comp1 = AluOp::not_equal; }), "comp1", "is not_equal"},
      {"The threshold is", "trn1", V, Opcode::dropout, with(dropout, [](auto& f) { f.threshold = 1; }),
       "threshold", "is the integer 1, expected an f32 value (write 1.0)"},
      {"The threshold is", "trn1", V, Opcode::dropout,
       with(dropout, [&](auto& f) { f.threshold = pointer(DType::i8); }), "threshold",
       "points to i8, expected a float type"},
      {"The threshold is", "trn1", V, Opcode::dropout,
       with(Dropout{integers, integers}, [&](auto& f) { f.threshold = pointer(DType::bf16); }), "threshold",
       "points to bf16, expected f32 for data of i32"},
      {"bn_stats makes", "trn1", V, Opcode::bn_stats, Unary{sbuf(128, 6), sbuf(128, 513)}, "src",
       "has 513 elements per partition, at most 512 are possible"},
      {"bn_stats makes", "trn1", V, Opcode::bn_stats, Unary{sbuf(128, 2), sbuf()}, "dst",
       "has 2 elements per partition, expected 6"},
      {"bn_stats makes", "trn1", V, Opcode::bn_aggr, Unary{sbuf(128, 2), sbuf(128, 8)}, "src",
       "has 8 elements per partition, expected triples (count, mean, M2)"},
      {"search 8 to", "trn1", V, Opcode::max8, Unary{eight, sbuf(128, 7)}, "src",
       "has 7 elements per partition, expected 8 to 16384"},
      {"search 8 to", "trn1", V, Opcode::find_index8, Unary{index, sbuf(128, 16385)}, "src",
       "has 16385 elements per partition, expected 8 to 16384"},
      {"has the elements of its source", "trn1", V, Opcode::match_replace8,
       MatchReplace{sbuf(128, 100), sbuf()}, "dst", "has 100 elements per partition, src has 512"},
      {"are 8 per partition", "trn1", V, Opcode::max8, Unary{sbuf(128, 7), sbuf()}, "dst",
       "has 7 elements per partition, expected 8"},
      {"are 8 per partition", "trn1", V, Opcode::match_value_load, Source{sbuf(128, 9)}, "src",
       "has 9 elements per partition, expected 8"},
      {"are 8 per partition", "trn1", V, Opcode::match_replace8,
       MatchReplace{sbuf(), sbuf(), 0.0F, sbuf(128, 1, DType::u32)}, "index",
       "has 1 elements per partition, expected 8"},
      {"indices found", "trn1", V, Opcode::find_index8, Unary{eight, sbuf()}, "dst",
       "is f32, expected u16 or u32"},
      {"indices found", "trn1", V, Opcode::match_replace8,
       MatchReplace{sbuf(), sbuf(), 0.0F, sbuf(128, 8, DType::i32)}, "index", "is i32, expected u16 or u32"},
      {"entry of the mask", "trn1", V, Opcode::load_mask, mask, "mask",
       "entry 3 is 32, expected 0 to 31, or 255"},
      {"as many quadrants", "trn1", V, Opcode::stream_shuffle,
       Unary{sbuf(64), tile(Space::sbuf, DType::f32, 32, 32, 0, {{1, 512}})}, "src",
       "starts at partition 32, expected a multiple of 64 for 2 quadrants of lanes"},
      {"multiple of 32 partitions", "trn1", V, Opcode::transpose, Unary{sbuf(), sbuf(128, 48)}, "src",
       "has 128 partitions x 48 elements, expected multiples of 32"},
      {"rng writes", "trn1", V, Opcode::rng, Destination{sbuf()}, "dst", "is f32, expected an integer type"},
      {"The seed is", "trn1", V, Opcode::set_rng_seed, Source{sbuf(1, 1)}, "src",
       "has 1 partitions x 1 elements of f32, expected one i32 or u32"},
  };
}

}  // namespace ncemu::rule_cases
