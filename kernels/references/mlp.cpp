#include <cmath>

#include "kernels/references/references.h"

namespace ncemu::references {
namespace {

// out[m, t] = sum over k of w[k, m] in[k, t].
Expected project(const std::vector<double>& in, const Tensor& w, std::size_t tokens) {
  const std::size_t k = w.size(0), m = w.size(1);
  Expected out{std::vector<double>(m * tokens), std::vector<double>(m * tokens)};
  for (std::size_t q = 0; q < k; ++q) {
    for (std::size_t i = 0; i < m; ++i) {
      const double weight = w.values[q * m + i];
      for (std::size_t t = 0; t < tokens; ++t) {
        const double product = weight * in[q * tokens + t];
        out.values[i * tokens + t] += product;
        out.magnitude[i * tokens + t] += std::abs(product);
      }
    }
  }
  return out;
}

std::vector<double> doubles(const Tensor& tensor) { return {tensor.values.begin(), tensor.values.end()}; }

}  // namespace

Results gelu_mlp(const Call& call) {
  const Tensor& x = call.input("x_t");
  const std::size_t tokens = x.size(1);
  std::vector<double> hidden = project(doubles(x), call.input("w1"), tokens).values;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const double z = hidden[i] + static_cast<double>(call.input("b1").values[i / tokens]);
    hidden[i] = z * 0.5 * std::erfc(-z / std::sqrt(2.0));
  }
  Expected y = project(hidden, call.input("w2"), tokens);
  for (std::size_t i = 0; i < y.values.size(); ++i)
    y.values[i] += static_cast<double>(call.input("b2").values[i / tokens]);
  return {{"y_t", std::move(y)}};
}

Results swiglu_mlp(const Call& call) {
  const Tensor& x = call.input("x_t");
  const std::size_t tokens = x.size(1);
  const std::vector<double> in = doubles(x);
  std::vector<double> hidden = project(in, call.input("w_gate"), tokens).values;
  const std::vector<double> up = project(in, call.input("w_up"), tokens).values;
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] *= up[i] / (1 + std::exp(-hidden[i]));
  return {{"y_t", project(hidden, call.input("w_down"), tokens)}};
}

}  // namespace ncemu::references
