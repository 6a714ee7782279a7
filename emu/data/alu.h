#pragma once

// The operators of datasheet 5.1 on rows of values. Arithmetic class in fp32 (separate roundings, no
// contraction); bitvec class on 32-bit integers. In place is allowed, and so are results that lie before the
// operands they are made of. Where the datasheet leaves a choice:
// NaN results are the canonical NaN, max and min return the number when the other is NaN and take +0 to be
// above -0, mod has the divisor's sign, pow is C's, relu keeps NaN, `average` adds (who reduces with it
// divides by the count).

#include <cstddef>
#include <cstdint>

#include "isa/types.h"

namespace ncemu {

// out[i] = op(a[i], b[i]); unary operators ignore b.
void apply(AluOp op, const float* a, const float* b, float* out, std::size_t count);
// out[i] = op(a[i], b), or op(b, a[i]) when reversed; unary operators have nothing to reverse.
void apply_scalar(AluOp op, const float* a, float b, bool reversed, float* out, std::size_t count);
// Reduction in stream order with the first element as the initial value: ((a0 op a1) op a2) ... of at least
// one element.
float reduce(AluOp op, const float* a, std::size_t count);
// sums[r] += a[r * stride + i] for i ascending: each row in its order, several rows side by side; most is
// gained with `rows_together` at a time. A NaN that comes out is any.
inline constexpr std::size_t rows_together = 16;
void add_rows(const float* a, std::size_t stride, std::size_t rows, std::size_t count, float* sums);

// `width` is the element's width in bits: shifts by at least the width give 0, or the sign.
void apply(AluOp op, const std::uint32_t* a, const std::uint32_t* b, int width, std::uint32_t* out,
           std::size_t count);
void apply_scalar(AluOp op, const std::uint32_t* a, std::uint32_t b, bool reversed, int width,
                  std::uint32_t* out, std::size_t count);
std::uint32_t reduce(AluOp op, const std::uint32_t* a, std::size_t count);

// One pair of 32-bit registers, two's complement with wraparound, compares signed (datasheet 2.2). divide
// rounds down, so that divide * b + mod = a. Throws Fault(program) for division by zero and for operators
// that integers do not have.
std::int32_t apply_register(AluOp op, std::int32_t a, std::int32_t b);

}  // namespace ncemu
