// Layer norm, RMS norm and RMS norm with quantisation against double-precision loops.

#include <doctest/doctest.h>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Rows {
  Bytes bytes;
  std::vector<float> values;
};

// Rows of different offset and spread, so that a mean that leaks from one row to another shows.
Rows rows_of(std::size_t rows, std::size_t columns, DType type) {
  std::vector<float> values = random_values(rows * columns, 1, 2.0F);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto r = static_cast<double>(i / columns % 7);
    values[i] = values[i] * static_cast<float>(std::exp2(r - 3)) + static_cast<float>(r - 3);
  }
  Rows result{to_bytes(type, values), {}};
  result.values = to_floats(type, result.bytes);
  return result;
}

double last_rounding(DType type) {
  return type == DType::f32 ? 0x1p-24 : type == DType::f16 ? 0x1p-11 : 0x1p-8;
}

// Half of the smallest step of the type: what a result near zero may be off.
double underflow(DType type) { return type == DType::f16 ? 0x1.01p-25 : 0x1.01p-134; }

Params sizes(std::size_t rows, std::size_t columns, DType type) {
  return {{"R", text(rows)}, {"C", text(columns)}, {"T", std::string(name(type))}};
}

void check_layer_norm(std::size_t rows, std::size_t columns, DType type, const std::string& machine) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(machine);
  const Rows x = rows_of(rows, columns, type);
  const std::vector<float> gamma = random_values(columns, 2), beta = random_values(columns, 3);
  std::vector<double> expected, bound;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* row = x.values.data() + r * columns;
    double mean = 0, variance = 0, largest = 0;
    for (std::size_t c = 0; c < columns; ++c) mean += row[c];
    mean /= static_cast<double>(columns);
    for (std::size_t c = 0; c < columns; ++c) {
      variance += (row[c] - mean) * (row[c] - mean);
      largest = std::max(largest, static_cast<double>(std::abs(row[c])));
    }
    variance /= static_cast<double>(columns);
    const double inverse = 1 / std::sqrt(variance + 1e-5);
    for (std::size_t c = 0; c < columns; ++c) {
      const double scaled = (row[c] - mean) * gamma[c] * inverse;
      expected.push_back(scaled + beta[c]);
      // The recurrences of mean and variance err by a few roundings of the largest value (64 allowed, much
      // less than one per element); then three roundings of products and sums, and the last one.
      bound.push_back(64 * fp32_rounding * (largest * inverse * std::abs(gamma[c]) + std::abs(scaled)) +
                      2 * fp32_rounding * std::abs(beta[c]) +
                      last_rounding(type) * std::abs(expected.back()) + underflow(type));
    }
  }
  const auto outputs = run_kernel(
      "layer_norm.nca", sizes(rows, columns, type), machine,
      {{"x", x.bytes}, {"gamma", to_bytes(DType::f32, gamma)}, {"beta", to_bytes(DType::f32, beta)}});
  CHECK(worst_error(to_floats(type, outputs.at("y")), expected, bound) < 1);
}

// x / rms * gamma per element.
std::vector<double> rms_norm(const Rows& x, std::size_t columns, const std::vector<float>& gamma) {
  std::vector<double> y;
  for (std::size_t first = 0; first < x.values.size(); first += columns) {
    double squares = 0;
    for (std::size_t c = 0; c < columns; ++c) squares += std::pow(x.values[first + c], 2);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (std::size_t c = 0; c < columns; ++c) y.push_back(x.values[first + c] * inverse * gamma[c]);
  }
  return y;
}

void check_rms_norm(std::size_t rows, std::size_t columns, DType type, const std::string& machine) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(machine);
  const Rows x = rows_of(rows, columns, type);
  const std::vector<float> gamma = random_values(columns, 2);
  const std::vector<double> expected = rms_norm(x, columns, gamma);
  std::vector<double> bound;
  // All squares are positive: their sum errs by less than one rounding per addition, the root by half of
  // that.
  for (const double y : expected)
    bound.push_back(std::abs(y) *
                        ((static_cast<double>(columns) / 2 + 6) * fp32_rounding + last_rounding(type)) +
                    underflow(type));
  const auto outputs = run_kernel("rms_norm.nca", sizes(rows, columns, type), machine,
                                  {{"x", x.bytes}, {"gamma", to_bytes(DType::f32, gamma)}});
  CHECK(worst_error(to_floats(type, outputs.at("y")), expected, bound) < 1);
}

void check_quantize(std::size_t rows, std::size_t columns, DType type, const std::string& machine) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(machine);
  const Rows x = rows_of(rows, columns, type);
  const std::vector<float> gamma = random_values(columns, 2);
  const std::vector<double> y = rms_norm(x, columns, gamma);
  std::vector<double> scale(rows, 0.0), scale_bound, bound;
  for (std::size_t i = 0; i < y.size(); ++i)
    scale[i / columns] = std::max(scale[i / columns], std::abs(y[i]) / 240);
  const double sum = (static_cast<double>(columns) / 2 + 10) * fp32_rounding;
  for (const double s : scale) scale_bound.push_back(s * sum);
  // Three bits of mantissa: half a step is 2^-4 of the value; below 2^-6 the steps of fp8 are 2^-9.
  for (std::size_t i = 0; i < y.size(); ++i)
    bound.push_back(std::abs(y[i]) * (0x1p-4 + 2 * sum) + scale[i / columns] * 0x1.01p-10);
  const auto outputs = run_kernel("rms_norm_quantize.nca", sizes(rows, columns, type), machine,
                                  {{"x", x.bytes}, {"gamma", to_bytes(DType::f32, gamma)}});
  const std::vector<float> s = to_floats(DType::f32, outputs.at("scale"));
  CHECK(worst_error(s, scale, scale_bound) < 1);
  std::vector<float> back = to_floats(DType::f8e4m3, outputs.at("q"));
  for (std::size_t r = 0; r < rows; ++r) {
    float top = 0;
    for (std::size_t c = 0; c < columns; ++c) top = std::max(top, std::abs(back[r * columns + c]));
    CHECK(top == 240);  // each row uses the whole range
  }
  for (std::size_t i = 0; i < back.size(); ++i) back[i] *= s[i / columns];
  CHECK(worst_error(back, y, bound) < 1);
}

}  // namespace

TEST_CASE("layer norm is the double-precision layer norm up to its roundings") {
  for (const std::string& machine : all_machines) check_layer_norm(200, 1300, DType::f32, machine);
  check_layer_norm(1, 1, DType::f32, "trn1");
  check_layer_norm(129, 2100, DType::bf16, "trn1");
  check_layer_norm(127, 511, DType::f16, "trn2");
}

TEST_CASE("RMS norm is the double-precision RMS norm up to its roundings") {
  for (const std::string& machine : all_machines) check_rms_norm(200, 700, DType::f32, machine);
  check_rms_norm(1, 1, DType::f32, "trn1");
  check_rms_norm(129, 4500, DType::bf16, "trn1");
  check_rms_norm(127, 511, DType::f16, "trn2");
}

TEST_CASE("RMS norm with quantisation fills the range of fp8 and errs by half a step of it") {
  for (const std::string& machine : all_machines) check_quantize(200, 700, DType::bf16, machine);
  check_quantize(1, 3, DType::f32, "trn1");
  check_quantize(130, 1025, DType::f16, "trn2");
}
