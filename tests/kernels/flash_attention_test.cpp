// Flash attention against plain attention in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

struct Case {
  std::int64_t heads, length, width;
  bool causal;
};

// The kernel rounds twice to a type of unit roundoff u: each exponential before it meets V, and the result.
// So an element is within u times the weighted sum of |v| plus u times itself; scores, exponentials and sums
// in fp32 add less than a tenth of that (bf16: u = 2^-8; the scores stay below 100, their fp32 errors below
// 1e-4).
void check(const Case& c, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(c.heads);
  CAPTURE(c.length);
  CAPTURE(c.width);
  CAPTURE(c.causal);
  const double unit = type == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const auto h = static_cast<std::size_t>(c.heads), s = static_cast<std::size_t>(c.length),
             d = static_cast<std::size_t>(c.width);
  // Scores with a standard deviation of about 4: rows have a few large weights and many tiny ones.
  const Bytes q_t = to_bytes(type, random_values(h * d * s, 1, 2.0F));
  const Bytes k_t = to_bytes(type, random_values(h * d * s, 2, 2.0F));
  const Bytes v = to_bytes(type, random_values(h * s * d, 3, 3.0F));
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const Program program = assemble_kernel("flash_attention.nca",
                                          {{"H", std::to_string(h)},
                                           {"S", std::to_string(s)},
                                           {"D", std::to_string(d)},
                                           {"SCALE", std::to_string(scale)},
                                           {"T", std::string(name(type))},
                                           {"CAUSAL", c.causal ? "true" : "false"}},
                                          machine);
  const KernelResult result = run_program(program, {{"q_t", q_t}, {"k_t", k_t}, {"v", v}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const auto q = to_floats(type, q_t), k = to_floats(type, k_t), values = to_floats(type, v),
             out = to_floats(type, result.outputs.at("o"));

  double worst = 0;  // error over its bound
  std::vector<double> weight(s);
  for (std::size_t head = 0; head < h; ++head) {
    for (std::size_t i = 0; i < s; ++i) {
      const std::size_t keys = c.causal ? i + 1 : s;
      for (std::size_t j = 0; j < keys; ++j) {
        double score = 0;
        for (std::size_t e = 0; e < d; ++e) {
          score +=
              static_cast<double>(q[(head * d + e) * s + i]) * static_cast<double>(k[(head * d + e) * s + j]);
        }
        weight[j] = score * scale;
      }
      const double top =
          *std::max_element(weight.begin(), weight.begin() + static_cast<std::ptrdiff_t>(keys));
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) sum += weight[j] = std::exp(weight[j] - top);
      for (std::size_t e = 0; e < d; ++e) {
        double expected = 0, magnitude = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          const double term = weight[j] / sum * static_cast<double>(values[(head * s + j) * d + e]);
          expected += term;
          magnitude += std::abs(term);
        }
        const double error = std::abs(static_cast<double>(out[(head * s + i) * d + e]) - expected);
        const double bound = 1.1 * unit * (magnitude + std::abs(expected));
        worst = std::max(worst, std::isfinite(error) ? error / bound : INFINITY);
      }
    }
  }
  CHECK(worst < 1);
}

// Useful flops, those of Q K^T and P V without the transposing ones, over the peak of the whole time. PE
// clocks: datasheet 1.2.
double useful_percent(const Summary& summary, const std::string& machine, std::int64_t length, double share) {
  const double peak = 128 * 128 * 2 * (machine == "trn2" ? 2.4e3 : 2.8e3);  // flops per microsecond
  return 100 * share * 4 * static_cast<double>(length * length) * 128 / (peak * summary.total_us);
}

}  // namespace

TEST_CASE("full attention is the softmax of the scores times V up to its roundings") {
  for (const std::string& machine : machines) check({1, 384, 128, false}, DType::bf16, machine);
  check({2, 200, 64, false}, DType::bf16, "trn1");
  check({2, 129, 40, false}, DType::f16, "trn2");
  check({1, 1, 1, false}, DType::bf16, "trn1");
}

TEST_CASE("causal attention sees no key behind its query") {
  for (const std::string& machine : machines) check({1, 384, 128, true}, DType::bf16, machine);
  check({2, 200, 64, true}, DType::bf16, "trn2");
  check({3, 127, 32, true}, DType::f16, "trn1");
}

TEST_CASE("the online softmax joins units of keys whose maxima differ") {
  // More than 2,048 keys are two units and more; 2,200 leaves a ragged last key tile.
  check({1, 2200, 16, false}, DType::bf16, "trn1");
  check({1, 2200, 16, true}, DType::bf16, "trn2");
}

TEST_CASE("flash attention at 4,096 tokens of width 128 keeps the tensor engine as busy as it promises") {
  for (const std::string& machine : {std::string("trn1"), std::string("trn2")}) {
    CAPTURE(machine);
    const Summary full = time_kernel("flash_attention.nca", {{"S", "4096"}}, machine);
    const double promise = machine == "trn2" ? 38 : 30;
    REQUIRE(full.mfu_estimated_percent.has_value());
    CHECK(*full.mfu_estimated_percent >= promise);
    CHECK(useful_percent(full, machine, 4096, 1) >= promise);
    const Summary causal = time_kernel("flash_attention.nca", {{"S", "4096"}, {"CAUSAL", "true"}}, machine);
    CHECK(causal.total_us < 0.7 * full.total_us);
  }
}
