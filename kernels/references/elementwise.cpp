#include <cmath>

#include "kernels/references/references.h"

namespace ncemu::references {

Results vector_add(const Call& call) {
  const Tensor &a = call.input("a"), &b = call.input("b");
  std::vector<double> sum;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const float value = a.values[i] + b.values.at(i);
    sum.push_back(value);
  }
  return {{"c", {std::move(sum), {}}}};
}

Results silu(const Call& call) {
  std::vector<double> y;
  for (const float x : call.input("x").values) y.push_back(x / (1 + std::exp(-static_cast<double>(x))));
  return {{"y", {std::move(y), {}}}};
}

// hyper = [1 - rate * decay, rate / (1 - B1^step), 1 / sqrt(1 - B2^step)].
Results adamw(const Call& call) {
  const double b1 = call.number("B1", 0.9), b2 = call.number("B2", 0.999), eps = call.number("EPS", 1e-8);
  std::vector<double> hyper = {1 - 1e-3 * 0.01, 1e-3 / (1 - b1), 1 / std::sqrt(1 - b2)};
  if (call.has("hyper")) {
    const std::vector<float>& given = call.input("hyper").values;
    hyper.assign(given.begin(), given.end());
  }
  const auto &theta = call.input("theta").values, &m = call.input("m").values, &v = call.input("v").values,
             &g = call.input("g").values;
  Expected m1, v1, t1;
  for (std::size_t i = 0; i < theta.size(); ++i) {
    m1.values.push_back(b1 * m[i] + (1 - b1) * g[i]);
    m1.magnitude.push_back(b1 * std::abs(m[i]) + (1 - b1) * std::abs(g[i]));
    v1.values.push_back(b2 * v[i] + (1 - b2) * static_cast<double>(g[i]) * g[i]);
    const double root = std::sqrt(v1.values.back()) * hyper[2] + eps;
    t1.values.push_back(theta[i] * hyper[0] - hyper[1] * m1.values.back() / root);
    t1.magnitude.push_back(std::abs(theta[i]) + hyper[1] * m1.magnitude.back() / root);
  }
  if (call.outputs.count("y") > 0) return {{"y", std::move(t1)}};
  return {{"theta", std::move(t1)}, {"m", std::move(m1)}, {"v", std::move(v1)}};
}

// Four products and a sum, each rounded to fp32.
Results rotary_embedding(const Call& call) {
  const Tensor &x = call.input("x"), &cosine = call.input("cos"), &sine = call.input("sin");
  const bool interleaved = call.flag("INTERLEAVED");
  const std::size_t heads = x.size(1), width = x.size(2), half = width / 2;
  std::vector<double> y(x.values.size());
  for (std::size_t s = 0; s < x.size(0); ++s) {
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < half; ++i) {
        const std::size_t row = (s * heads + h) * width, first = row + (interleaved ? 2 * i : i),
                          second = first + (interleaved ? 1 : half);
        const float a = x.values[first], b = x.values[second], c = cosine.values[s * half + i],
                    n = sine.values[s * half + i];
        const float ac = a * c, bn = b * n, bc = b * c, an = a * n, turned = ac - bn, other = bc + an;
        y[first] = turned;
        y[second] = other;
      }
    }
  }
  return {{"y", {std::move(y), {}}}};
}

Results transpose(const Call& call) {
  const Tensor& x = call.input("x");
  const std::size_t rows = x.size(0), columns = x.size(1);
  std::vector<double> y(x.values.size());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) y[c * rows + r] = x.values[r * columns + c];
  }
  return {{"y", {std::move(y), {}}}};
}

Results lane_sums(const Call& call) {
  const Tensor& x = call.input("x");
  const std::size_t columns = x.size(1);
  Expected total{std::vector<double>(128), std::vector<double>(128)};
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    total.values[i / columns % 128] += x.values[i];
    total.magnitude[i / columns % 128] += std::abs(x.values[i]);
  }
  return {{"total", std::move(total)}};
}

Results repeat_rows(const Call& call) {
  const std::vector<float>& x = call.input("x").values;
  const Tensor& y = call.output("y");
  std::vector<double> values(y.size(0) * y.size(1));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = x[i % x.size()];
  return {{"y", {std::move(values), {}}}};
}

}  // namespace ncemu::references
