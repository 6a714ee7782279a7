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

// One element per lane, and a wait for each instruction.
const char* const small_vectors = R"(
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

Program program(Assembly assembly) {
  if (!assembly.ok()) throw Fault(FaultKind::input, "streams_bench", "{}", assembly.diagnostics.text());
  return std::move(assembly.program);
}

// The published kernel at 8192 x 2048 x 8192.
Program gemm() {
  AssembleOptions options;
  options.params = {{"M", "8192"}, {"K", "2048"}, {"N", "8192"}};
  return program(assemble_file(NCEMU_SOURCE_DIR "/kernels/bf16_gemm.nca", options));
}
Program vector() { return program(assemble_text(small_vectors, "streams_bench.nca")); }

void count(benchmark::State& state, std::uint64_t instructions) {
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void assembling(benchmark::State& state, Program (*make)()) {
  std::uint64_t instructions = 0;
  for (auto _ : state) instructions += make().instruction_count();
  count(state, instructions);
}
BENCHMARK_CAPTURE(assembling, gemm, gemm)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(assembling, vector, vector)->Unit(benchmark::kMillisecond);

void timing(benchmark::State& state, Program (*make)()) {
  const Program program = make();
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
