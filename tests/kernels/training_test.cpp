// Cross entropy, AdamW and silu against double-precision loops.

#include <doctest/doctest.h>

#include <random>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const DType f32 = DType::f32;

void check_cross_entropy(std::size_t rows, std::size_t columns, std::size_t width, DType type,
                         const std::string& machine) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(machine);
  const Bytes bytes = to_bytes(type, random_values(rows * columns, 1, 8.0F));
  const std::vector<float> x = to_floats(type, bytes);
  std::mt19937 random(2);
  std::vector<float> labels(rows);
  std::vector<double> expected, bound;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t label = r == 0 ? 0 : r == 1 ? columns - 1 : random() % columns;
    labels[r] = static_cast<float>(label);
    const float* row = x.data() + r * columns;
    const double top = *std::max_element(row, row + columns);
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += std::exp(row[c] - top);
    expected.push_back(std::log(sum) + top - row[label]);
    // The sum of positive numbers errs by less than a rounding per addition, and an argument of exp by one of
    // a difference below 64; then roundings of the terms.
    bound.push_back(fp32_rounding * (static_cast<double>(columns) + 64 +
                                     4 * (std::log(sum) + std::abs(top) + std::abs(row[label]))));
  }
  const auto outputs = run_kernel(
      "cross_entropy.nca",
      {{"R", text(rows)}, {"V", text(columns)}, {"W", text(width)}, {"T", std::string(name(type))}}, machine,
      {{"x", bytes}, {"label", to_bytes(DType::i32, labels)}});
  CHECK(worst_error(to_floats(f32, outputs.at("loss")), expected, bound) < 1);
}

// Several steps in a row, each checked from the state that the one before left.
void check_adamw(std::size_t count, std::size_t width, DType type, const std::string& machine) {
  CAPTURE(count);
  CAPTURE(width);
  CAPTURE(machine);
  const double lr = 0.01, b1 = 0.9, b2 = 0.999, decay = 0.1;
  std::map<std::string, Bytes> state = {{"theta", to_bytes(f32, random_values(count, 3))},
                                        {"m", to_bytes(f32, std::vector<float>(count, 0.0F))},
                                        {"v", to_bytes(f32, std::vector<float>(count, 0.0F))}};
  for (int step = 1; step <= 3; ++step) {
    const std::vector<float> hyper = {static_cast<float>(1 - lr * decay),
                                      static_cast<float>(lr / (1 - std::pow(b1, step))),
                                      static_cast<float>(1 / std::sqrt(1 - std::pow(b2, step)))};
    auto inputs = state;
    inputs["g"] = to_bytes(type, random_values(count, 3 + static_cast<std::uint32_t>(step), 0.1F));
    inputs["hyper"] = to_bytes(f32, hyper);
    const auto outputs =
        run_kernel("adamw.nca", {{"N", text(count)}, {"W", text(width)}, {"T", std::string(name(type))}},
                   machine, inputs);
    const auto theta = to_floats(f32, state["theta"]), m = to_floats(f32, state["m"]),
               v = to_floats(f32, state["v"]), g = to_floats(type, inputs["g"]);
    std::vector<double> m1, v1, t1, m_bound, v_bound, t_bound;
    for (std::size_t i = 0; i < count; ++i) {
      m1.push_back(b1 * m[i] + (1 - b1) * g[i]);
      v1.push_back(b2 * v[i] + (1 - b2) * g[i] * g[i]);
      const double size = b1 * std::abs(m[i]) + (1 - b1) * std::abs(g[i]);  // m1 may cancel
      const double root = std::sqrt(v1.back()) * hyper[2] + 1e-8;
      t1.push_back(theta[i] * hyper[0] - hyper[1] * m1.back() / root);
      m_bound.push_back(4 * fp32_rounding * size + 1e-37);
      v_bound.push_back(8 * fp32_rounding * v1.back() + 1e-37);
      t_bound.push_back(4 * fp32_rounding * std::abs(theta[i]) + 16 * fp32_rounding * hyper[1] * size / root +
                        1e-37);
    }
    CHECK(worst_error(to_floats(f32, outputs.at("m")), m1, m_bound) < 1);
    CHECK(worst_error(to_floats(f32, outputs.at("v")), v1, v_bound) < 1);
    CHECK(worst_error(to_floats(f32, outputs.at("theta")), t1, t_bound) < 1);
    state = outputs;
  }
}

void check_silu(std::size_t rows, std::size_t columns, std::size_t width, DType type,
                const std::string& machine) {
  CAPTURE(machine);
  const Bytes bytes = to_bytes(type, random_values(rows * columns, 7, 10.0F));
  std::vector<double> expected, bound;
  // The function is within a unit of fp32; then one rounding, to 2^-24 or the smallest step of the type.
  const double last = type == f32 ? 0x1p-24 : type == DType::f16 ? 0x1p-11 : 0x1p-8;
  const double smallest = type == DType::f16 ? 0x1p-25 : 0x1p-134;
  for (const float x : to_floats(type, bytes)) {
    expected.push_back(x / (1 + std::exp(-static_cast<double>(x))));
    bound.push_back(std::abs(expected.back()) * (last + 4 * fp32_rounding) + smallest * 1.01);
  }
  const auto outputs = run_kernel(
      "silu.nca",
      {{"R", text(rows)}, {"C", text(columns)}, {"W", text(width)}, {"T", std::string(name(type))}}, machine,
      {{"x", bytes}});
  CHECK(worst_error(to_floats(type, outputs.at("y")), expected, bound) < 1);
}

}  // namespace

TEST_CASE("cross entropy is the double-precision loss, in one tile and over many") {
  for (const std::string& machine : all_machines) {
    check_cross_entropy(150, 700, 256, f32, machine);
    check_cross_entropy(3, 40, 64, f32, machine);
  }
  check_cross_entropy(1, 1, 4096, f32, "trn1");
  check_cross_entropy(129, 1025, 1024, DType::bf16, "trn1");
  check_cross_entropy(64, 2000, 100, DType::f16, "trn2");
}

TEST_CASE("cross entropy refuses a label outside the row") {
  const KernelResult result =
      run_program(assemble_kernel("cross_entropy.nca", {{"R", "2"}, {"V", "8"}, {"W", "8"}}, "trn1"),
                  {{"x", to_bytes(f32, random_values(16, 1))}, {"label", to_bytes(DType::i32, {3, 8})}}, {});
  CHECK(result.run.status != RunStatus::finished);  // row 1 has no place 8, and there is no row 2
}

TEST_CASE("three steps of AdamW are the formula up to its roundings, for any number of parameters") {
  for (const std::string& machine : all_machines) check_adamw(130 * 64 + 17, 64, f32, machine);
  check_adamw(5, 1024, f32, "trn1");
  check_adamw(1000, 1, f32, "trn2");
  check_adamw(128 * 100, 100, DType::bf16, "trn2");
}

TEST_CASE("silu is x * sigmoid(x) up to one rounding") {
  for (const std::string& machine : all_machines) check_silu(200, 300, 128, f32, machine);
  check_silu(1, 1, 4096, f32, "trn1");
  check_silu(129, 511, 4096, DType::bf16, "trn1");
  check_silu(128, 512, 512, DType::f16, "trn2");
}
