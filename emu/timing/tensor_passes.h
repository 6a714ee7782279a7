#pragma once

// How often the tensor engine loads weights and streams data for one instruction (datasheet 6.1): fp32
// weights are split into high and low parts, each with a load and a matmul of its own, whose data stream
// twice.

#include "isa/instruction.h"

namespace ncemu {

struct Passes {
  int matmuls = 1;
  int streams = 1;  // of each matmul
  int all() const { return matmuls * streams; }
};

// Weights of zeros and ones have no low part. A transposing matmul on v3 is one whose data stream twice.
inline Passes passes(const Matmul& i, int generation) {
  if (i.moving.dtype != DType::f32) return {};
  if (i.transpose && generation >= 3) return {1, 2};
  return {i.stationary_one_zero ? 1 : 2, i.moving_one_zero ? 1 : 2};
}

inline int loads(const LoadStationary& i, int generation) {
  const bool once = i.one_zero || (i.transpose && generation >= 3);
  return i.src.dtype == DType::f32 && !once ? 2 : 1;
}

}  // namespace ncemu
