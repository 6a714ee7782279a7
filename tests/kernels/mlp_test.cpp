// The MLPs against plain loops in double precision.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

struct Shape {
  std::size_t tokens, width, hidden;
};

// out[m, t] = sum over k of w[k, m] in[k, t]; `magnitude` likewise of the absolute values.
struct Projected {
  std::vector<double> sum, magnitude;
};
Projected project(const std::vector<double>& in, const std::vector<float>& w, std::size_t k, std::size_t m,
                  std::size_t tokens) {
  Projected out{std::vector<double>(m * tokens), std::vector<double>(m * tokens)};
  for (std::size_t q = 0; q < k; ++q) {
    for (std::size_t i = 0; i < m; ++i) {
      const auto weight = static_cast<double>(w[q * m + i]);
      for (std::size_t t = 0; t < tokens; ++t) {
        const double product = weight * in[q * tokens + t];
        out.sum[i * tokens + t] += product;
        out.magnitude[i * tokens + t] += std::abs(product);
      }
    }
  }
  return out;
}

std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// Of the order of one over the root of the sum's length, so that hidden activations are of the order of one,
// where GELU and SiLU are neither 0 nor the identity; biases of the same order.
Bytes weights(DType type, std::size_t count, std::size_t summed, std::uint32_t seed) {
  return to_bytes(type, random_values(count, seed, 1.5F / std::sqrt(static_cast<float>(summed))));
}

// The kernels round the hidden activations and the result to a type of unit roundoff u (bf16: 2^-8): an
// element is within u times the sum of |hidden * weight| and u times itself. The fp32 sums before and the
// functions' fp32 values add less than a tenth of the first: their errors are below 2^-13 of a hidden
// activation's scale.
void compare(const KernelResult& result, const Projected& expected, const std::vector<double>& bias,
             DType type, std::size_t tokens) {
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const double unit = type == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const std::vector<float> out = to_floats(type, result.outputs.at("y_t"));
  REQUIRE(out.size() == expected.sum.size());
  double worst = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double value = expected.sum[i] + (bias.empty() ? 0 : bias[i / tokens]);
    const double error = std::abs(static_cast<double>(out[i]) - value);
    const double bound = 1.1 * unit * (expected.magnitude[i] + std::abs(value));
    worst = std::max(worst, std::isfinite(error) ? error / bound : INFINITY);
  }
  CHECK(worst < 1);
}

Params parameters(const Shape& s, DType type) {
  return {{"TOKENS", std::to_string(s.tokens)},
          {"D", std::to_string(s.width)},
          {"F", std::to_string(s.hidden)},
          {"T", std::string(name(type))}};
}

void check_gelu(const Shape& s, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(s.tokens);
  CAPTURE(s.width);
  CAPTURE(s.hidden);
  const Bytes x = to_bytes(type, random_values(s.width * s.tokens, 1)),
              w1 = weights(type, s.width * s.hidden, s.width, 2),
              w2 = weights(type, s.hidden * s.width, s.hidden, 3);
  const std::vector<float> b1 = random_values(s.hidden, 4), b2 = random_values(s.width, 5);
  const KernelResult result = run_program(assemble_kernel("gelu_mlp.nca", parameters(s, type), machine),
                                          {{"x_t", x},
                                           {"w1", w1},
                                           {"w2", w2},
                                           {"b1", to_bytes(DType::f32, b1)},
                                           {"b2", to_bytes(DType::f32, b2)}},
                                          {});
  std::vector<double> hidden =
      project(doubles(to_floats(type, x)), to_floats(type, w1), s.width, s.hidden, s.tokens).sum;
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const double z = hidden[i] + static_cast<double>(b1[i / s.tokens]);
    hidden[i] = z * 0.5 * std::erfc(-z / std::sqrt(2.0));
  }
  compare(result, project(hidden, to_floats(type, w2), s.hidden, s.width, s.tokens), doubles(b2), type,
          s.tokens);
}

void check_swiglu(const Shape& s, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(s.tokens);
  CAPTURE(s.width);
  CAPTURE(s.hidden);
  const Bytes x = to_bytes(type, random_values(s.width * s.tokens, 1)),
              gate = weights(type, s.width * s.hidden, s.width, 2),
              up = weights(type, s.width * s.hidden, s.width, 3),
              down = weights(type, s.hidden * s.width, s.hidden, 4);
  const KernelResult result = run_program(assemble_kernel("swiglu_mlp.nca", parameters(s, type), machine),
                                          {{"x_t", x}, {"w_gate", gate}, {"w_up", up}, {"w_down", down}}, {});
  const auto in = doubles(to_floats(type, x));
  std::vector<double> hidden = project(in, to_floats(type, gate), s.width, s.hidden, s.tokens).sum;
  const std::vector<double> other = project(in, to_floats(type, up), s.width, s.hidden, s.tokens).sum;
  for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] *= other[i] / (1 + std::exp(-hidden[i]));
  compare(result, project(hidden, to_floats(type, down), s.hidden, s.width, s.tokens), {}, type, s.tokens);
}

}  // namespace

TEST_CASE("the GELU MLP is the plain MLP up to its roundings") {
  for (const std::string& machine : machines) check_gelu({200, 130, 300}, DType::bf16, machine);
  check_gelu({1, 1, 1}, DType::bf16, "trn1");
  check_gelu({600, 128, 640}, DType::bf16, "trn1");  // two banks of tokens, several groups of weights
  check_gelu({100, 520, 129}, DType::f16, "trn2");
}

TEST_CASE("the SwiGLU MLP is the plain gated MLP up to its roundings") {
  for (const std::string& machine : machines) check_swiglu({200, 130, 300}, DType::bf16, machine);
  check_swiglu({1, 1, 1}, DType::bf16, "trn1");
  check_swiglu({1100, 64, 130}, DType::bf16, "trn1");  // two blocks of tokens, the second short
  check_swiglu({100, 520, 129}, DType::f16, "trn2");
}

TEST_CASE("an MLP over a thousand tokens is bound by the tensor engine") {
  for (const char* kernel : {"gelu_mlp.nca", "swiglu_mlp.nca"}) {
    CAPTURE(kernel);
    const Params params = {{"TOKENS", "1024"}, {"D", "1024"}, {"F", "2816"}};
    CHECK(time_kernel(kernel, params, "trn1").mfu_estimated_percent.value_or(0) >= 80);
    CHECK(time_kernel(kernel, params, "trn2").mfu_estimated_percent.value_or(0) >= 85);
  }
}
