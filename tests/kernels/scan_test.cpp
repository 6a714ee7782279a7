// Running sums and the selective scan against plain loops.

#include <doctest/doctest.h>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const DType f32 = DType::f32;

void check_prefix(std::size_t rows, std::size_t length, std::size_t width, DType type,
                  const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(length);
  const Bytes bytes = to_bytes(type, random_values(rows * length, 1, 3.0F));
  std::vector<float> expected = to_floats(type, bytes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i % length > 0) expected[i] = expected[i - 1] + expected[i];
  }
  const auto outputs =
      run_kernel("prefix_scan.nca",
                 {{"R", text(rows)}, {"L", text(length)}, {"W", text(width)}, {"T", std::string(name(type))}},
                 machine, {{"x", bytes}});
  CHECK((outputs.at("y") == to_bytes(f32, expected)));
}

void check_selective(std::size_t channels, std::size_t states, std::size_t length,
                     const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(states);
  CAPTURE(length);
  const auto delta = absolute(random_values(channels * length, 2, 0.3F)),
             u = random_values(channels * length, 3), b = random_values(states * length, 5),
             c = random_values(states * length, 6), d = random_values(channels, 7);
  std::vector<float> a = absolute(random_values(channels * states, 4));
  for (float& value : a) value = -value;
  std::vector<double> expected(channels * length), bound(channels * length);
  for (std::size_t p = 0; p < channels; ++p) {
    for (std::size_t t = 0; t < length; ++t) {
      expected[p * length + t] = static_cast<double>(d[p]) * u[p * length + t];
      bound[p * length + t] = std::abs(expected[p * length + t]);
    }
    for (std::size_t s = 0; s < states; ++s) {
      double h = 0, size = 0;
      for (std::size_t t = 0; t < length; ++t) {
        const double step = delta[p * length + t], decay = std::exp(step * a[p * states + s]);
        const double drive = step * u[p * length + t] * b[s * length + t];
        h = decay * h + drive;
        size = decay * size + std::abs(drive);
        expected[p * length + t] += h * c[s * length + t];
        bound[p * length + t] += size * std::abs(c[s * length + t]);
      }
    }
  }
  // A value of h forgets its errors as it forgets its past: here within some 100 steps of three roundings
  // each; then the products and the sum over states.
  for (double& value : bound) value = value * (300 + static_cast<double>(states)) * fp32_rounding + 1e-30;
  const auto outputs = run_kernel("selective_scan.nca",
                                  {{"CH", text(channels)}, {"S", text(states)}, {"L", text(length)}}, machine,
                                  {{"delta", to_bytes(f32, delta)},
                                   {"u", to_bytes(f32, u)},
                                   {"a", to_bytes(f32, a)},
                                   {"b", to_bytes(f32, b)},
                                   {"c", to_bytes(f32, c)},
                                   {"d", to_bytes(f32, d)}});
  CHECK(worst_error(to_floats(f32, outputs.at("y")), expected, bound) < 1);
}

}  // namespace

TEST_CASE("running sums are those of the plain loop, to the bit, across tiles") {
  for (const std::string& machine : all_machines) check_prefix(200, 500, 128, f32, machine);
  check_prefix(1, 1, 2048, f32, "trn1");
  check_prefix(129, 513, 512, DType::bf16, "trn1");
  check_prefix(127, 300, 2048, DType::f16, "trn2");
}

TEST_CASE("the selective scan carries its states across tiles of time and keeps channels apart") {
  for (const std::string& machine : all_machines) check_selective(140, 5, 530, machine);
  check_selective(1, 1, 1, "trn1");
  check_selective(128, 16, 512, "trn2");
  check_selective(3, 1, 1100, "trn1");
}
