#include <cmath>

#include "kernels/references/references.h"

namespace ncemu::references {

Results embedding_gather(const Call& call) {
  const Tensor& table = call.input("table");
  const std::size_t width = table.size(1);
  std::vector<double> y;
  for (const float id : call.input("id").values) {
    const float* row = table.values.data() + static_cast<std::size_t>(id) * width;
    y.insert(y.end(), row, row + width);
  }
  return {{"y", {std::move(y), {}}}};
}

Results embedding_scatter_add(const Call& call) {
  const Tensor &table = call.input("table"), &grad = call.input("grad"), &id = call.input("id");
  const std::size_t width = table.size(1);
  Expected sum{{table.values.begin(), table.values.end()}, {}};
  for (const double value : sum.values) sum.magnitude.push_back(std::abs(value));
  for (std::size_t n = 0; n < id.values.size(); ++n) {
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t at = static_cast<std::size_t>(id.values[n]) * width + c;
      sum.values[at] += grad.values[n * width + c];
      sum.magnitude[at] += std::abs(grad.values[n * width + c]);
    }
  }
  return {{"table", std::move(sum)}};
}

}  // namespace ncemu::references
