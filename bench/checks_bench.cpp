// What the race check costs: the same run with and without it, in turn. Argument 1: with the check.

#include <benchmark/benchmark.h>

#include "emu/machine/machine.h"
#include "emu/observe/races.h"
#include "isa/asm/assembler.h"
#include "isa/fault.h"

using namespace ncemu;

namespace {

Program assemble(const std::string& source) {
  Assembly assembly = assemble_text(source, "checks_bench.nca");
  if (!assembly.ok()) throw Fault(FaultKind::input, "checks_bench", "{}", assembly.diagnostics.text());
  return std::move(assembly.program);
}

// FP8 in, 2048 cubed, in the schedule of the design: 128 x 512 tiles, operands kept in SBUF.
const char* const gemm = R"(
.let K = 2048
.input at : f8e4m3[K, 2048]
.input b : f8e4m3[K, 2048]
.output c : bf16[2048, 2048]
.let KT = K / 128
.view ah = at.reshape(KT, 128, 2048).permute(1, 0, 2)
.view bh = b.reshape(KT, 128, 2048).permute(1, 0, 2)
.sbuf w : f8e4m3[128, KT, 2048]
dma_copy w, bh
.for m in 0 .. 2048 step 128
  .sbuf a : f8e4m3[128, KT, 128], buffers = 3
  .psum acc : f32[128, 4, 512]
  dma_copy a, ah[:, :, m:+128]
  .for k in 0 .. KT
    load_stationary a[:, k, :]
    .for j in 0 .. 4
      matmul acc[:, j, :], w[:, k, j*512:+512], accumulate = k > 0
    .end
  .end
  .sbuf out : bf16[128, 4, 512], buffers = 2
  .for j in 0 .. 4
    activation out[:, j, :], acc[:, j, :], func = copy
  .end
  dma_copy c[m:+128, :], out.reshape(128, 2048)
.end
)";

// One element per lane, and a wait for each instruction.
const char* const tiny = R"(
.input x : f32[128, 64]
.output y : f32[128, 64]
.sbuf t : f32[128, 64]
dma_copy t, x
.for i in 0 .. 20000
  .sbuf a : f32[128, 1], buffers = 2
  .sbuf b : f32[128, 1], buffers = 2
  tensor_copy a, t[:, i % 64:+1]
  activation b, a, func = copy
  tensor_tensor t[:, i % 64:+1], b, a, op = add, engine = gpsimd
.end
dma_copy y, t
)";

void run(benchmark::State& state, const char* source, Mode mode) {
  const Program program = assemble(source);
  const MachineConfig config = builtin_machine("trn1");
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    RunOptions options;
    options.mode = mode;
    RaceObserver races(program);
    Machine machine(config, program, options);
    if (state.range(0) != 0) machine.add(races);
    const RunResult result = machine.run();
    if (result.status != RunStatus::finished) state.SkipWithError(result.message.c_str());
    if (state.range(0) != 0 && !races.findings().empty()) state.SkipWithError("a race");
    instructions += result.instructions;
  }
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void fp8_gemm_2048_timed(benchmark::State& state) { run(state, gemm, Mode::timed); }
void fp8_gemm_2048_timing_only(benchmark::State& state) { run(state, gemm, Mode::timing_only); }
void tiny_timed(benchmark::State& state) { run(state, tiny, Mode::timed); }
void tiny_timing_only(benchmark::State& state) { run(state, tiny, Mode::timing_only); }
void tiny_check(benchmark::State& state) { run(state, tiny, Mode::check); }

}  // namespace

BENCHMARK(fp8_gemm_2048_timed)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(fp8_gemm_2048_timing_only)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(tiny_timed)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(tiny_timing_only)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(tiny_check)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
