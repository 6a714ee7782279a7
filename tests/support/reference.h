#pragma once

// Kernels as plain loops, to compare with. Nothing here uses the data room.

#include <cstddef>
#include <span>
#include <vector>

namespace ncemu::test {

// C[m, n] = sum over k of at[k, m] * b[k, n] by the rule of design section 5: groups of 128 k, each one chain
// of fused multiply-adds from 0 with k ascending, added to one another in fp32. Row-major. No final rounding:
// the caller converts to the output type.
std::vector<float> gemm(std::span<const float> at, std::span<const float> b, std::size_t k, std::size_t m,
                        std::size_t n);

// Each row: exp(x - max) / sum, in double.
std::vector<double> softmax_rows(std::span<const float> x, std::size_t rows, std::size_t columns);

// a[i] + b[i] in fp32.
std::vector<float> vector_add(std::span<const float> a, std::span<const float> b);

}  // namespace ncemu::test
