#pragma once

// What the tests of kernels share: one run on given bytes, and comparisons with a reference in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/support/kernel.h"

namespace ncemu::test {

inline const std::vector<std::string> all_machines = {"inf2", "trn1", "trn2"};
inline constexpr double fp32_rounding = 0x1p-24;  // half a unit in the last place, relative

inline std::map<std::string, Bytes> run_kernel(const std::string& kernel, const Params& params,
                                               const std::string& machine,
                                               const std::map<std::string, Bytes>& inputs) {
  const KernelResult result = run_program(assemble_kernel(kernel, params, machine), inputs, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished,
                  kernel << " on " << machine << ": " << result.run.message);
  return result.outputs;
}

// The largest |got - expected| / bound over all elements; a NaN counts as infinite. Below 1 all are in
// bounds.
inline double worst_error(const std::vector<float>& got, const std::vector<double>& expected,
                          const std::vector<double>& bound) {
  REQUIRE(got.size() == expected.size());
  REQUIRE(got.size() == bound.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected[i]) / bound[i];
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  return worst;
}

inline std::vector<float> absolute(std::vector<float> values) {
  for (float& value : values) value = std::abs(value);
  return values;
}

inline std::string text(std::size_t n) { return std::to_string(n); }

}  // namespace ncemu::test
