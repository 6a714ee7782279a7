#pragma once

// The activation functions of datasheet 5.3, computed in double precision with our own polynomials
// (no libm: the same bits on every host), rounded once to fp32; within 1 ulp of the correctly
// rounded value unless the table in the .cpp says otherwise.

#include <cstddef>

#include "isa/types.h"

namespace ncemu {

// out[i] = function(in[i]); `imm` is the parameter of parametric functions. In place is allowed.
void apply(ActivationFunction function, float imm, const float* in, float* out, std::size_t count);

struct ValidRange {
  float low, high;  // of |x| if `magnitude`
  bool magnitude = false;
};
ValidRange valid_range(ActivationFunction function);

}  // namespace ncemu
