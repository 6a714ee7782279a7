// The published fused attention against plain loops in double.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

void check_attention(std::size_t s, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(s);
  const std::size_t d = 128;
  const Bytes qb = to_bytes(type, random_values(d * s, 20, 0.6F)),
              kb = to_bytes(type, random_values(d * s, 21, 0.6F)),
              vb = to_bytes(type, random_values(d * s, 22));
  const std::vector<float> q = to_floats(type, qb), k = to_floats(type, kb), v = to_floats(type, vb);
  const double last = type == DType::f32 ? 0x1p-24 : 0x1p-8;
  std::vector<double> expected(s * d), bound(s * d, 0.0);
  for (std::size_t i = 0; i < s; ++i) {
    std::vector<double> score(s, 0.0);
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t j = 0; j < s; ++j) score[j] += static_cast<double>(q[p * s + i]) * k[p * s + j];
    }
    const double top = *std::max_element(score.begin(), score.end());
    double sum = 0;
    for (double& value : score) sum += value = std::exp(value - top);
    for (std::size_t p = 0; p < d; ++p) {
      double result = 0, size = 0;
      for (std::size_t j = 0; j < s; ++j) {
        result += score[j] * v[p * s + j];
        size += score[j] * std::abs(v[p * s + j]);
      }
      expected[i * d + p] = result / sum;
      // A score is a sum of 128 products of some 0.3: its error, up to 128 roundings of a sum below 64, is
      // that of exp relatively; in fact about a tenth of it.
      bound[i * d + p] = size / sum * 64 * 128 * fp32_rounding / 10 + last * std::abs(result) / sum;
    }
  }
  const auto outputs =
      run_kernel("published/fused_attention.nca", {{"S", text(s)}, {"T", std::string(name(type))}}, machine,
                 {{"q", qb}, {"k", kb}, {"v", vb}});
  CHECK(worst_error(to_floats(type, outputs.at("o")), expected, bound) < 1);
}

}  // namespace

TEST_CASE("the published fused attention is softmax(q^T k) v^T") {
  for (const std::string& machine : all_machines) check_attention(512, DType::f32, machine);
  check_attention(1024, DType::f32, "trn2");
  check_attention(512, DType::bf16, "trn1");
  check_attention(1024, DType::bf16, "trn2");
  check_attention(2560, DType::bf16, "trn2");  // scores copied to SBUF
}
