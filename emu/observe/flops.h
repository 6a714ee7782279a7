#pragma once

// FLOPs of the tensor engine in units of a bf16 operation, which a peak is stated in.

#include "emu/timing/tensor_passes.h"

namespace ncemu {

// fp32 counts its passes, 4 without hints; fp8 counts 1 on v2 and 1/2 on v3, whose fp8 peak is twice that of
// bf16 (datasheet 1.3); a mixture runs at the bf16 rate.
inline double adjusted_flop_factor(const Matmul& matmul, bool stationary_fp8, int generation) {
  if (matmul.moving.dtype == DType::f32) return passes(matmul, generation).all();
  return generation >= 3 && is_fp8(matmul.moving.dtype) && stationary_fp8 ? 0.5 : 1;
}

}  // namespace ncemu
