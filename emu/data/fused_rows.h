#pragma once

// The commonest arithmetic on rows of fp32 and bf16 where they lie: widening, operator and rounding in one
// pass, bit for bit what to_f32 (convert.h), apply (alu.h) and from_f32 do one after the other. `out` may lie
// on an operand or before it, as in alu.h.

#include <cstddef>

#include "isa/types.h"

namespace ncemu {

// Contiguous, aligned elements of type f32 or bf16; null: the row is none of that.
struct PlainRow {
  const void* at = nullptr;
  bool is_bf16 = false;
};

// out[i] = op(a[i], b[i]). False, and nothing done, for operators other than add, subtract and mult and where
// a row is null.
bool apply_fused(AluOp op, PlainRow a, PlainRow b, PlainRow out, std::size_t count);
// out[i] = op1(op0(a[i], scalar0), scalar1); here the operators may be bypass too.
bool apply_fused(AluOp op0, float scalar0, AluOp op1, float scalar1, PlainRow a, PlainRow out,
                 std::size_t count);

}  // namespace ncemu
