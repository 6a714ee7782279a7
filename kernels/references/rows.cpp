#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/references/references.h"

namespace ncemu::references {
namespace {

// The largest number of each 8-bit type (datasheet 4.2; e5m2 and e3m4 have infinities).
float largest(DType type) {
  return type == DType::i8       ? 127.0F
         : type == DType::f8e4m3 ? 240.0F
         : type == DType::f8e5m2 ? 57344.0F
                                 : 15.5F;
}

// x / rms * gamma per element.
std::vector<double> normalised(const Call& call) {
  const Tensor &x = call.input("x"), &gamma = call.input("gamma");
  const std::size_t columns = x.size(1);
  std::vector<double> y;
  y.reserve(x.values.size());
  for (std::size_t first = 0; first < x.values.size(); first += columns) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c)
      squares += static_cast<double>(x.values[first + c]) * x.values[first + c];
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(columns) + call.number("EPS", 1e-5));
    for (std::size_t c = 0; c < columns; ++c) y.push_back(x.values[first + c] * inverse * gamma.values[c]);
  }
  return y;
}

}  // namespace

Results softmax(const Call& call) {
  const Tensor& x = call.input("x");
  const std::size_t columns = x.size(1);
  std::vector<double> y(x.values.size());
  for (std::size_t first = 0; first < y.size(); first += columns) {
    const float* row = x.values.data() + first;
    const double top = *std::max_element(row, row + columns);
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += y[first + c] = std::exp(row[c] - top);
    for (std::size_t c = 0; c < columns; ++c) y[first + c] /= sum;
  }
  return {{"y", {std::move(y), {}}}};
}

// The magnitude has the terms of an element before they cancel: the largest of the row, and the scaled value.
Results layer_norm(const Call& call) {
  const Tensor &x = call.input("x"), &gamma = call.input("gamma"), &beta = call.input("beta");
  const std::size_t columns = x.size(1);
  const auto n = static_cast<double>(columns);
  Expected y;
  for (std::size_t first = 0; first < x.values.size(); first += columns) {
    const float* row = x.values.data() + first;
    double mean = 0, variance = 0, top = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      mean += row[c] / n;
      top = std::max(top, static_cast<double>(std::abs(row[c])));
    }
    for (std::size_t c = 0; c < columns; ++c) variance += (row[c] - mean) * (row[c] - mean) / n;
    const double inverse = 1 / std::sqrt(variance + call.number("EPS", 1e-5));
    for (std::size_t c = 0; c < columns; ++c) {
      const double scaled = (row[c] - mean) * gamma.values[c] * inverse;
      y.values.push_back(scaled + beta.values[c]);
      y.magnitude.push_back(top * inverse * std::abs(gamma.values[c]) + std::abs(scaled) +
                            std::abs(beta.values[c]));
    }
  }
  return {{"y", std::move(y)}};
}

Results rms_norm(const Call& call) { return {{"y", {normalised(call), {}}}}; }

Results rms_norm_quantize(const Call& call) {
  const std::size_t columns = call.input("x").size(1);
  std::vector<double> q = normalised(call), scale(q.size() / columns);
  for (std::size_t i = 0; i < q.size(); ++i)
    scale[i / columns] = std::max({scale[i / columns], std::abs(q[i]) / 240, 1e-30 / 240});
  for (std::size_t i = 0; i < q.size(); ++i) q[i] /= scale[i / columns];
  return {{"q", {std::move(q), {}}}, {"scale", {std::move(scale), {}}}};
}

// The magnitude has the three terms of the loss.
Results cross_entropy(const Call& call) {
  const Tensor &x = call.input("x"), &label = call.input("label");
  const std::size_t columns = x.size(1);
  Expected loss;
  for (std::size_t r = 0; r < x.size(0); ++r) {
    const float* row = x.values.data() + r * columns;
    const double top = *std::max_element(row, row + columns);
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(row[c] - top);
    const double at_label = row[static_cast<std::size_t>(label.values[r])];
    loss.values.push_back(std::log(sum) + top - at_label);
    loss.magnitude.push_back(std::log(sum) + std::abs(top) + std::abs(at_label) + 1);
  }
  return {{"loss", std::move(loss)}};
}

// Every step is one rounded fp32 operation.
Results quantize_rows(const Call& call) {
  const Tensor& x = call.input("x");
  const std::size_t columns = x.size(1);
  const double full = largest(call.output("q").dtype);
  Results results;
  for (std::size_t r = 0; r < x.size(0); ++r) {
    const float* row = x.values.data() + r * columns;
    float top = 1e-30F;
    for (std::size_t c = 0; c < columns; ++c) top = std::max(top, std::abs(row[c]));
    const float scale = top * static_cast<float>(1 / full), inverse = 1.0F / scale;
    results["scale"].values.push_back(scale);
    for (std::size_t c = 0; c < columns; ++c) {
      const float q = row[c] * inverse;
      results["q"].values.push_back(q);
    }
  }
  return results;
}

Results dequantize_rows(const Call& call) {
  const Tensor &q = call.input("q"), &scale = call.input("scale");
  std::vector<double> y;
  for (std::size_t i = 0; i < q.values.size(); ++i) {
    const float value = q.values[i] * scale.values[i / q.size(1)];
    y.push_back(value);
  }
  return {{"y", {std::move(y), {}}}};
}

// Of equal elements the one further left comes first.
Results top_k(const Call& call) {
  const Tensor& x = call.input("x");
  const std::size_t columns = x.size(1), k = call.output("values").size(1);
  Results results;
  std::vector<std::size_t> order(columns);
  for (std::size_t r = 0; r < x.size(0); ++r) {
    const float* row = x.values.data() + r * columns;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    for (std::size_t i = 0; i < k; ++i) {
      results["values"].values.push_back(row[order[i]]);
      results["places"].values.push_back(static_cast<double>(order[i]));
    }
  }
  return results;
}

}  // namespace ncemu::references
