#include "tests/support/reference.h"

#include <algorithm>
#include <cmath>

namespace ncemu::test {

std::vector<double> softmax_rows(std::span<const float> x, std::size_t rows, std::size_t columns) {
  std::vector<double> result(rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = x.subspan(r * columns, columns);
    const double top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float v : row) sum += std::exp(v - top);
    for (std::size_t c = 0; c < columns; ++c) result[r * columns + c] = std::exp(row[c] - top) / sum;
  }
  return result;
}

std::vector<float> vector_add(std::span<const float> a, std::span<const float> b) {
  std::vector<float> sum(a.begin(), a.end());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

}  // namespace ncemu::test
