#pragma once

// The arithmetic of the tensor engine (design: numbers). Vectorised; the same bits on every host.

#include <cstddef>
#include <vector>

#include "isa/types.h"

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
// The moving operand where it lies: elements of a float type next to each other, rows `stride` bytes apart.
struct MovingIn {
  DType type;
  const std::byte* data;
  std::size_t stride;
};
inline MovingIn moving_of(const MatrixIn& m) {
  return {DType::f32, reinterpret_cast<const std::byte*>(m.data), m.stride * sizeof(float)};
}
struct MatmulSizes {
  std::size_t k, m, n;
};

// Where a call packs its moving operand; kept between calls, one for each thread.
using PackingRoom = std::vector<float>;

// result[m][n] = sum over k ascending of fma(stationary[k][m], moving[k][n], sum), from 0, one rounding per
// step. A NaN is the canonical one of datasheet 4.4. True: every result is finite; false: one may not be.
bool matmul_sum(const MatrixIn& stationary, const MovingIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, PackingRoom& room);

// The same sum, added to what result[m][n] holds with one more rounding.
bool matmul_add(const MatrixIn& stationary, const MovingIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, PackingRoom& room);

}  // namespace ncemu
