#pragma once

// The arithmetic of the tensor engine (design: numbers). Vectorised; the same bits on every host.

#include <cstddef>

namespace ncemu {

// result[m * n_count + n] = sum over k ascending of fma(stationary[k * m_count + m], moving[k * n_count + n],
// sum), from 0, one rounding per step. All row-major and contiguous; alignment is not required.
void matmul_sum(const float* stationary, const float* moving, std::size_t k_count, std::size_t m_count,
                std::size_t n_count, float* result);

}  // namespace ncemu
