#pragma once

// Rules of gpsimd's own instructions, each broken once.

#include "tests/isa/rules_case.h"

namespace ncemu::rule_cases {

inline std::vector<Case> gpsimd_cases() {
  const auto with = [](auto form, auto change) {
    change(form);
    return form;
  };
  const auto of = [](DType type, int partitions, std::uint16_t n) { return sbuf(partitions, n, type); };
  AffineSelect select{sbuf(), sbuf(), {}, 0, 0, Comparison::ge, 0.0F};
  select.pattern.dims[0] = {1, 512};
  Iota iota{sbuf(), select.pattern, 0, 0};
  const Gather gather{sbuf(), sbuf(), of(DType::u32, 128, 512)};
  const LocalGather local{sbuf(), sbuf(), of(DType::u16, 128, 32), 1, 0};
  const PartitionReduce reduce{sbuf(1), sbuf(), AluOp::add};
  const Unary bounds{sbuf(1, 64), sbuf(1, 32)};
  const NonzeroWithCount nonzero{of(DType::i32, 128, 33), sbuf(128, 32), 0, -1};
  const TopK topk{of(DType::bf16, 32, 2), of(DType::u32, 32, 2), of(DType::bf16, 32, 8), 100, 20};
  return {
      {"as many values as the destination", "trn1", G, Opcode::iota,
       with(iota,
            [](auto& f) {
              f.pattern.dims[1] = {1, 2};
            }),
       "pattern", "has 1024 values, dst has 512 elements per partition"},
      {"affine_select compares", "trn1", G, Opcode::affine_select,
       with(select, [](auto& f) { f.cmp = Comparison::lt; }), "cmp", "is lt"},
      {"on_false is an f32 immediate or a register", "trn1", G, Opcode::affine_select,
       with(select, [](auto& f) { f.on_false = 3; }), "on_false",
       "is the integer 3, expected an f32 value (write 3.0)"},
      {"on_false is an f32 immediate or a register", "trn1", G, Opcode::affine_select,
       with(select, [](auto& f) { f.on_false = std::monostate{}; }), "on_false", "is missing"},
      {"on_false is an f32 immediate or a register", "trn1", G, Opcode::affine_select,
       with(select, [](auto& f) { f.on_false = PointerOperand{}; }), "on_false",
       "is a tile, expected a number or a register"},
      {"between equal types", "trn1", G, Opcode::n_gather,
       with(gather, [](auto& f) { f.src.dtype = DType::i32; }), "src", "is i32, dst is f32"},
      {"Indices are u16 for local_gather", "trn1", G, Opcode::n_gather,
       with(gather, [](auto& f) { f.index.dtype = DType::u16; }), "index", "is u16, expected u32"},
      {"Indices are u16 for local_gather", "trn1", G, Opcode::local_gather,
       with(local, [](auto& f) { f.index.dtype = DType::i16; }), "index", "is i16, expected u16"},
      {"one element for each index", "trn1", G, Opcode::n_gather,
       with(gather, [](auto& f) { f.index.dims[0].count = 511; }), "index",
       "has 511 elements per partition, dst has 512"},
      {"elements per index", "trn1", G, Opcode::local_gather,
       with(local,
            [](auto& f) { f.num_elem_per_idx = 3, f.num_valid_indices = 5, f.dst.dims[0].count = 15; }),
       "num_elem_per_idx", "is 3"},
      {"lanes hold the valid indices", "trn1", G, Opcode::local_gather,
       with(local, [](auto& f) { f.num_valid_indices = 513, f.dst.dims[0].count = 513; }),
       "num_valid_indices", "is 513, 16 lanes of index have 512"},
      {"lanes hold the valid indices", "trn1", G, Opcode::local_gather,
       with(local, [](auto& f) { f.index.dims[0].count = 257, f.dst.dims[0].count = 4112; }),
       "num_valid_indices", "is 4112, at most 4096 are possible"},
      {"the elements of its valid indices", "trn1", G, Opcode::local_gather,
       with(local, [](auto& f) { f.num_elem_per_idx = 2; }), "dst",
       "has 512 elements per partition, 512 indices of 2 elements give 1024"},
      {"multiple of 16 partitions", "trn1", G, Opcode::local_gather,
       with(local, [](auto& f) { f.dst.partitions = f.src.partitions = f.index.partitions = 100; }), "dst",
       "covers 100 partitions"},
      {"takes add, average, max", "trn1", G, Opcode::tensor_partition_reduce,
       with(reduce, [](auto& f) { f.op = AluOp::mult; }), "op", "is mult"},
      {"writes one partition", "trn1", G, Opcode::tensor_partition_reduce,
       with(reduce, [](auto& f) { f.dst.partitions = 2; }), "dst", "covers 2 partitions, expected 1"},
      {"Segment numbers", "trn1", G, Opcode::sequence_bounds,
       with(bounds, [](auto& f) { f.src.dtype = DType::u32; }), "src", "is u32, expected f32 or i32"},
      {"a start and an end", "trn1", G, Opcode::sequence_bounds,
       with(bounds, [](auto& f) { f.dst.dims[0].count = 32; }), "dst",
       "has 32 elements per partition, expected 64 for the 32 of src"},
      {"nonzero_with_count reads", "trn2", G, Opcode::nonzero_with_count,
       with(nonzero, [](auto& f) { f.dst.dtype = DType::f32; }), "dst", "is f32, expected i32"},
      {"one element more than the source", "trn2", G, Opcode::nonzero_with_count,
       with(nonzero, [](auto& f) { f.dst.dims[0].count = 32; }), "dst",
       "has 32 elements per partition, src has 32"},
      {"the places it writes are u32", "trn2", G, Opcode::topk,
       with(topk, [](auto& f) { f.indices.dtype = DType::i32; }), "indices", "is i32, expected u32"},
      {"topk has 8", "trn2", G, Opcode::topk,
       with(topk,
            [](auto& f) {
              f.n = 7, f.k = 7;
              f.dst.dims[0].count = f.indices.dims[0].count = 1;
            }),
       "n", "is 7"},
      {"topk has 8", "trn2", G, Opcode::topk, with(topk, [](auto& f) { f.n = 19; }), "k",
       "is 20 with n = 19"},
      {"lanes of topk's source", "trn2", G, Opcode::topk, with(topk, [](auto& f) { f.n = 129; }), "src",
       "has 128 elements in 16 lanes, n is 129"},
      {"lanes of topk's source", "trn2", G, Opcode::topk,
       with(topk, [](auto& f) { f.dst.dims[0].count = f.indices.dims[0].count = 20; }), "dst",
       "has 20 elements per partition, k = 20 takes 2"},
      {"random generator is six", "trn2", G, Opcode::rand_set_state, Source{of(DType::u32, 128, 24)}, "src",
       "has 24 elements per partition, expected 6"},
  };
}

}  // namespace ncemu::rule_cases
