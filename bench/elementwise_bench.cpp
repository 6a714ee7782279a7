// Elements a second of the scalar and vector engines' arithmetic, on rows as instructions bring them.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "emu/data/activation_functions.h"
#include "emu/data/alu.h"

namespace ncemu {
namespace {

constexpr std::size_t row = 512;

std::vector<float> normal_values() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(row);
  for (float& value : values) value = normal(random);
  return values;
}

void count_elements(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(row));
}

void activation(benchmark::State& state, ActivationFunction function) {
  const std::vector<float> in = normal_values();
  std::vector<float> out(row);
  for (auto _ : state) {
    apply(function, 0.0F, in.data(), out.data(), row);
    benchmark::ClobberMemory();
  }
  count_elements(state);
}
BENCHMARK_CAPTURE(activation, copy, ActivationFunction::copy);
BENCHMARK_CAPTURE(activation, relu, ActivationFunction::relu);
BENCHMARK_CAPTURE(activation, exp, ActivationFunction::exp);
BENCHMARK_CAPTURE(activation, tanh, ActivationFunction::tanh);
BENCHMARK_CAPTURE(activation, sigmoid, ActivationFunction::sigmoid);
BENCHMARK_CAPTURE(activation, gelu, ActivationFunction::gelu);
BENCHMARK_CAPTURE(activation, rsqrt, ActivationFunction::rsqrt);
BENCHMARK_CAPTURE(activation, sin, ActivationFunction::sin);

void alu(benchmark::State& state, AluOp op) {
  const std::vector<float> a = normal_values(), b = a;
  std::vector<float> out(row);
  for (auto _ : state) {
    apply(op, a.data(), b.data(), out.data(), row);
    benchmark::ClobberMemory();
  }
  count_elements(state);
}
BENCHMARK_CAPTURE(alu, add, AluOp::add);
BENCHMARK_CAPTURE(alu, max, AluOp::max);
BENCHMARK_CAPTURE(alu, is_ge, AluOp::is_ge);
BENCHMARK_CAPTURE(alu, pow, AluOp::pow);

void reduction(benchmark::State& state, AluOp op) {
  const std::vector<float> a = normal_values();
  for (auto _ : state) benchmark::DoNotOptimize(reduce(op, a.data(), row));
  count_elements(state);
}
BENCHMARK_CAPTURE(reduction, add, AluOp::add);
BENCHMARK_CAPTURE(reduction, max, AluOp::max);

}  // namespace
}  // namespace ncemu
