// What the reports of 100,000 instructions cost, beside the run they tell of. Two kernels: an FP8 GEMM of 64
// columns a matmul, whose instructions do much, and one element per lane with a wait for each instruction,
// where they do least.
//
//   run/K/MODE           the run alone; K: 0 the GEMM, 1 the small instructions; MODE: 1 timed, 2 timing-only
//   recorded/K           a timing-only run that is recorded for reports and traces ("with tracing")
//   model, text, json, perfetto, html, all_reports    from a recorded run to bytes in memory
//   what_if              the questions and the advice: the clock runs again for each

#include <benchmark/benchmark.h>

#include "isa/asm/assembler.h"
#include "isa/fault.h"
#include "tools/command/profile.h"
#include "tools/trace/perfetto.h"

using namespace ncemu;
using namespace ncemu::command;

namespace {

const char* const gemm = R"(.machine trn1
.let K = 4096
.input at : f8e4m3[K, 3840]
.input b : f8e4m3[K, 6144]
.output c : bf16[3840, 6144]
.let KT = K / 128
.view ah = at.reshape(KT, 128, 3840).permute(1, 0, 2)
.view bh = b.reshape(KT, 128, 6144).permute(1, 0, 2)
.for n in 0 .. 6144 step 1024
  .sbuf w : f8e4m3[128, KT, 1024], buffers = 2
  dma_copy w, bh[:, :, n:+1024]
  .for m in 0 .. 3840 step 128
    .sbuf a : f8e4m3[128, KT, 128], buffers = 3
    .psum acc : f32[128, 2, 512], buffers = 2
    dma_copy a, ah[:, :, m:+128]
    .for k in 0 .. KT
      load_stationary a[:, k, :]
      .for j in 0 .. 2
        .for h in 0 .. 8
          matmul acc[:, j, h*64:+64], w[:, k, j*512 + h*64:+64], accumulate = k > 0
        .end
      .end
    .end
    .sbuf out : bf16[128, 2, 512], buffers = 2
    .for j in 0 .. 2
      activation out[:, j, :], acc[:, j, :], func = copy
    .end
    dma_copy c[m:+128, n:+1024], out.reshape(128, 1024)
  .end
.end
)";

const char* const small = R"(.machine trn1
.input x : f32[128, 64]
.output y : f32[128, 64]
.sbuf t : f32[128, 64]
dma_copy t, x
.for i in 0 .. 33000
  .sbuf a : f32[128, 1], buffers = 2
  .sbuf b : f32[128, 1], buffers = 2
  tensor_copy a, t[:, i % 64:+1]
  activation b, a, func = copy
  tensor_tensor t[:, i % 64:+1], b, a, op = add, engine = gpsimd
.end
dma_copy y, t
)";

Kernel kernel(std::int64_t number) {
  Assembly assembly = assemble_text(number == 0 ? gemm : small, "reports_bench.nca");
  if (!assembly.ok()) throw Fault(FaultKind::input, "reports_bench", "{}", assembly.diagnostics.text());
  MachineConfig machine = builtin_machine("trn1");
  machine.target = assembly.program.target;
  return {.program = std::move(assembly.program),
          .machine = std::move(machine),
          .diagnostics = {},
          .overlaps = {},
          .sync = {}};
}

RunResult finish(Machine& machine) {
  RunResult result = machine.run();
  if (result.status != RunStatus::finished)
    throw Fault(FaultKind::program, "reports_bench", "{}", result.message);
  return result;
}

void count(benchmark::State& state, const Kernel& k) {
  state.counters["instructions"] = static_cast<double>(k.program.instruction_count());
}

void run(benchmark::State& state) {
  const Kernel k = kernel(state.range(0));
  for (auto _ : state) {
    RunOptions options;
    options.mode = static_cast<Mode>(state.range(1));
    Machine machine(k.machine, k.program, std::move(options));
    SummaryObserver summary(k.machine);
    machine.add(summary);
    benchmark::DoNotOptimize(finish(machine));
  }
  count(state, k);
}

// A run with everything that reports are made of.
struct Recorded {
  explicit Recorded(std::int64_t number) : kernel(::kernel(number)) {
    RunOptions options;
    options.mode = report.mode = Mode::timing_only;
    Machine machine(kernel.machine, kernel.program, std::move(options));
    SummaryObserver summary(kernel.machine);
    TimelineObserver recorder;
    machine.add(summary);
    machine.add(recorder);
    report.result = finish(machine);
    report.summary = summary.summary();
    timeline = recorder.take();
    source = read_sources(kernel.program);
  }
  Profile profile() const {
    return Profile(timeline, report.summary, kernel.program, kernel.machine, source.blocks, 1);
  }
  ProfileReport reports(const Profile& p) const {
    return {
        {.command_line = "ncemu profile", .kernel = "kernel"}, kernel, report, p, source, verdict(p), {}, {}};
  }

  Kernel kernel;
  RunReport report;
  Timeline timeline;
  SourceText source;
};

void recorded(benchmark::State& state) {
  const Kernel k = kernel(state.range(0));
  for (auto _ : state) {
    RunOptions options;
    options.mode = Mode::timing_only;
    Machine machine(k.machine, k.program, std::move(options));
    SummaryObserver summary(k.machine);
    TimelineObserver recorder;
    machine.add(summary);
    machine.add(recorder);
    benchmark::DoNotOptimize(finish(machine));
    benchmark::DoNotOptimize(recorder.take());
  }
  count(state, k);
}

void model(benchmark::State& state) {
  const Recorded r(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(r.profile());
}

template <typename Write>
void written(benchmark::State& state, Write&& write) {
  const Recorded r(state.range(0));
  const Profile p = r.profile();
  const ProfileReport report = r.reports(p);
  std::size_t bytes = 0;
  for (auto _ : state) bytes = write(report);
  state.counters["bytes"] = static_cast<double>(bytes);
}

void text(benchmark::State& state) {
  written(state, [](const ProfileReport& r) { return profile_text(r, false).size(); });
}
void json(benchmark::State& state) {
  written(state, [](const ProfileReport& r) { return profile_json(r).size(); });
}
void perfetto(benchmark::State& state) {
  written(state, [](const ProfileReport& r) { return perfetto_trace("kernel", r.profile).size(); });
}
void html(benchmark::State& state) {
  written(state, [](const ProfileReport& r) { return profile_html(r).size(); });
}

void all_reports(benchmark::State& state) {
  const Recorded r(state.range(0));
  for (auto _ : state) {
    const Profile p = r.profile();
    const ProfileReport report = r.reports(p);
    benchmark::DoNotOptimize(profile_text(report, false));
    benchmark::DoNotOptimize(profile_json(report));
    benchmark::DoNotOptimize(perfetto_trace("kernel", p));
    benchmark::DoNotOptimize(profile_html(report));
  }
}

void what_if(benchmark::State& state) {
  const Recorded r(state.range(0));
  const Profile p = r.profile();
  std::size_t runs = 0;
  for (auto _ : state) {
    const Retimer retimer(r.kernel);
    benchmark::DoNotOptimize(command::what_if(p, retimer));
    benchmark::DoNotOptimize(advise(p, retimer));
    runs = retimer.runs();
  }
  state.counters["runs"] = static_cast<double>(runs);
}

}  // namespace

// clang-format off
BENCHMARK(run)->ArgsProduct({{0, 1}, {static_cast<int>(Mode::timed), static_cast<int>(Mode::timing_only)}})->Unit(benchmark::kMillisecond);
BENCHMARK(recorded)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(model)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(text)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(json)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(perfetto)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(html)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(all_reports)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
BENCHMARK(what_if)->DenseRange(0, 1)->Unit(benchmark::kMillisecond);
// clang-format on
