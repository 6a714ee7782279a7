#pragma once

// Kernels as plain loops, to compare with. Nothing here uses the data room.

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/references/references.h"

namespace ncemu::test {

using references::double_row_gemm;
using references::gemm;

// Each row: exp(x - max) / sum, in double.
std::vector<double> softmax_rows(std::span<const float> x, std::size_t rows, std::size_t columns);

// a[i] + b[i] in fp32.
std::vector<float> vector_add(std::span<const float> a, std::span<const float> b);

}  // namespace ncemu::test
