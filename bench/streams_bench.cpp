// Instructions a second of what has no data: assembling a stream, and the timing of it alone. Argument 1:
// with the default checks.

#include <benchmark/benchmark.h>

#include "emu/machine/machine.h"
#include "emu/observe/checks.h"
#include "emu/observe/summary.h"
#include "isa/asm/assembler.h"
#include "isa/fault.h"

using namespace ncemu;

namespace {

// bf16, in blocks of 512 x 2048 of C: a transfer for 32 matmuls and weight loads.
const char* const gemm = R"(
.let K = 4096
.let N = 8192
.input at : bf16[K, N]
.input b : bf16[K, N]
.output c : bf16[N, N]
.let KT = K / 128
.let KD = 4
.view ah = at.reshape(KT, 128, N).permute(1, 0, 2)
.view bh = b.reshape(KT, 128, N).permute(1, 0, 2)
.for n in 0 .. N step 512
  .sbuf w : bf16[128, KT, 512], buffers = 2
  dma_copy w, bh[:, :, n:+512]
  .for m in 0 .. N step 512
    .psum acc : f32[128, 4, 512], buffers = 2
    .for g in 0 .. KT step KD
      .sbuf a : bf16[128, KD, 512], buffers = 4
      dma_copy a, ah[:, g:+KD, m:+512]
      .for k in 0 .. KD
        .for j in 0 .. 4
          load_stationary a[:, k, j*128:+128]
          matmul acc[:, j, :], w[:, g + k, :], accumulate = g + k > 0
        .end
      .end
    .end
    .sbuf out : bf16[128, 4, 512], buffers = 2
    .for j in 0 .. 4
      activation out[:, j, :], acc[:, j, :], func = copy
      dma_copy c[m + 128*j:+128, n:+512], out[:, j, :]
    .end
  .end
.end
)";

// One element per lane, and a wait for each instruction.
const char* const vector = R"(
.input x : f32[128, 64]
.output y : f32[128, 64]
.sbuf t : f32[128, 64]
dma_copy t, x
.for i in 0 .. 40000
  .sbuf a : f32[128, 1], buffers = 2
  .sbuf b : f32[128, 1], buffers = 2
  tensor_copy a, t[:, i % 64:+1]
  activation b, a, func = copy
  tensor_tensor t[:, i % 64:+1], b, a, op = add, engine = gpsimd
.end
dma_copy y, t
)";

Program assemble(const std::string& source) {
  Assembly assembly = assemble_text(source, "streams_bench.nca");
  if (!assembly.ok()) throw Fault(FaultKind::input, "streams_bench", "{}", assembly.diagnostics.text());
  return std::move(assembly.program);
}

void count(benchmark::State& state, std::uint64_t instructions) {
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void assembling(benchmark::State& state, const char* source) {
  std::uint64_t instructions = 0;
  for (auto _ : state) instructions += assemble(source).instruction_count();
  count(state, instructions);
}
BENCHMARK_CAPTURE(assembling, gemm, gemm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(assembling, vector, vector)->Unit(benchmark::kMillisecond);

void timing(benchmark::State& state, const char* source) {
  const Program program = assemble(source);
  const MachineConfig config = builtin_machine("trn1");
  std::uint64_t instructions = 0;
  for (auto _ : state) {
    RunOptions options;
    options.mode = Mode::timing_only;
    Machine machine(config, program, options);
    SummaryObserver summary(config);
    machine.add(summary);
    Checks checks(program, state.range(0) != 0 ? CheckSet::all() : CheckSet::none());
    for (Observer* observer : checks.observers()) machine.add(*observer);
    const RunResult result = machine.run();
    if (result.status != RunStatus::finished) state.SkipWithError(result.message.c_str());
    if (!checks.findings(true).empty()) state.SkipWithError("a finding");
    instructions += result.instructions;
  }
  count(state, instructions);
}
BENCHMARK_CAPTURE(timing, gemm, gemm)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(timing, vector, vector)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

}  // namespace
