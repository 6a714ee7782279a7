// How close the tensor engine's arithmetic comes to this host's fused multiply-add peak on one core (design:
// 90 %). Every benchmark measures the peak beside itself and reports the ratio as `of_peak`.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <random>
#include <vector>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/matmul_bench.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Independent chains that stay in registers; returns the multiply-adds done.
double multiply_add_in_registers(std::size_t rounds, float* sink) {
  const hn::ScalableTag<float> df;
  using Vector = hn::Vec<decltype(df)>;
  constexpr std::size_t chains = 12;  // latency 4 or 5, two units
  Vector sums[chains];
  for (std::size_t i = 0; i < chains; ++i) sums[i] = hn::Set(df, static_cast<float>(i));
  const Vector factor = hn::Set(df, sink[0]), addend = hn::Set(df, sink[1]);
  for (std::size_t round = 0; round < rounds; ++round) {
    HWY_UNROLL(12)
    for (std::size_t i = 0; i < chains; ++i) sums[i] = hn::MulAdd(sums[i], factor, addend);
  }
  Vector total = sums[0];
  for (std::size_t i = 1; i < chains; ++i) total = hn::Add(total, sums[i]);
  sink[2] = hn::GetLane(hn::SumOfLanes(df, total));
  return static_cast<double>(rounds * chains * hn::Lanes(df));
}

}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "emu/data/convert.h"
#include "emu/data/matmul_kernel.h"
#include "emu/data/vector_target.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

HWY_EXPORT(multiply_add_in_registers);

// Of this thread on its processor, so that other load on the host does not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Multiply-adds per second of one short burst.
double peak_burst() {
  float sink[3] = {0.999999F, 1e-6F, 0};
  const double start = processor_seconds();
  const double done = HWY_DYNAMIC_DISPATCH(multiply_add_in_registers)(20'000, sink);
  const double elapsed = processor_seconds() - start;
  benchmark::DoNotOptimize(sink[2]);
  return done / elapsed;
}

// Times `work`, `multiply_adds` long, against bursts of peak in alternation, so that both meet the same clock
// frequency. The best of each counts.
template <typename Work>
void against_peak(benchmark::State& state, double multiply_adds, Work work) {
  double best = 0, peak = 0;
  for (auto _ : state) {
    const double start = processor_seconds();
    work();
    const double elapsed = processor_seconds() - start;
    state.SetIterationTime(elapsed);
    best = std::max(best, multiply_adds / elapsed);
    peak = std::max(peak, peak_burst());
  }
  state.counters["GFLOPS"] = 2e-9 * best;
  state.counters["peak_GFLOPS"] = 2e-9 * peak;
  state.counters["of_peak"] = best / peak;
}

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

constexpr std::size_t k = 128, m = 128, n = 512;
constexpr double tile_multiply_adds = static_cast<double>(k * m * n);

void one_tile(benchmark::State& state, const char* target) {
  try {
    restrict_vector_targets(target);
  } catch (const Fault& fault) {
    state.SkipWithError(fault.what());
    return;
  }
  const std::vector<float> stationary = normal_values(k * m), moving = normal_values(k * n);
  std::vector<float> result(m * n);
  PackingRoom room;
  against_peak(state, tile_multiply_adds, [&] {
    matmul_sum({stationary.data(), m}, moving_of({moving.data(), n}), {k, m, n}, {result.data(), n}, room);
    benchmark::ClobberMemory();
  });
}
BENCHMARK_CAPTURE(one_tile, avx2, "avx2")->UseManualTime();
BENCHMARK_CAPTURE(one_tile, best, "best")->UseManualTime();

// K = 8192 as a kernel has it: 64 pairs of instructions whose operands are f8e4m3, widened each time, and
// whose results are added up in PSUM.
void accumulate_f8e4m3(benchmark::State& state) {
  constexpr std::size_t k_tiles = 64;
  std::vector<std::byte> stationary(k_tiles * k * m), moving(k_tiles * k * n);
  const std::vector<float> values = normal_values(k_tiles * k * n);
  from_f32(DType::f8e4m3, values.data(), stationary.data(), stationary.size());
  from_f32(DType::f8e4m3, values.data(), moving.data(), moving.size());
  std::vector<float> wide_stationary(k * m), psum(m * n);
  PackingRoom room;
  against_peak(state, k_tiles * tile_multiply_adds, [&] {
    std::fill(psum.begin(), psum.end(), 0.0F);
    for (std::size_t tile = 0; tile < k_tiles; ++tile) {
      to_f32(DType::f8e4m3, stationary.data() + tile * k * m, wide_stationary.data(), k * m);
      matmul_add({wide_stationary.data(), m}, {DType::f8e4m3, moving.data() + tile * k * n, n}, {k, m, n},
                 {psum.data(), n}, room);
    }
    benchmark::ClobberMemory();
  });
}
BENCHMARK(accumulate_f8e4m3)->UseManualTime();

void widen(benchmark::State& state, DType type) {
  const std::vector<float> values = normal_values(k * n);
  std::vector<std::byte> codes(k * n * static_cast<std::size_t>(size_of(type)));
  std::vector<float> wide(k * n);
  from_f32(type, values.data(), codes.data(), values.size());
  for (auto _ : state) {
    to_f32(type, codes.data(), wide.data(), wide.size());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK_CAPTURE(widen, f8e4m3, DType::f8e4m3);
BENCHMARK_CAPTURE(widen, bf16, DType::bf16);

void narrow(benchmark::State& state, DType type) {
  const std::vector<float> values = normal_values(k * n);
  std::vector<std::byte> codes(k * n * static_cast<std::size_t>(size_of(type)));
  for (auto _ : state) {
    from_f32(type, values.data(), codes.data(), values.size());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK_CAPTURE(narrow, f8e4m3, DType::f8e4m3);
BENCHMARK_CAPTURE(narrow, bf16, DType::bf16);

}  // namespace
}  // namespace ncemu
#endif  // HWY_ONCE
