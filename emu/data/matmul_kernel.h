#pragma once

// The arithmetic of the tensor engine (design: numbers). Vectorised; the same bits on every host.

#include <cstddef>

namespace ncemu {

// Row-major, rows `stride` elements apart; alignment is not required.
struct MatrixIn {
  const float* data;
  std::size_t stride;
};
struct MatrixOut {
  float* data;
  std::size_t stride;
};
struct MatmulSizes {
  std::size_t k, m, n;
};

// result[m][n] = sum over k ascending of fma(stationary[k][m], moving[k][n], sum), from 0, one rounding per
// step. A NaN is the canonical one of datasheet 4.4.
void matmul_sum(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result);

// The same sum, added to what result[m][n] holds with one more rounding.
void matmul_add(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result);

}  // namespace ncemu
