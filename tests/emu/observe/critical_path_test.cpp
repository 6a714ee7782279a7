#include "emu/observe/critical_path.h"

#include <random>

#include "tests/emu/observe/recorded_runs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

Ticks total_with(const Program& program, Mode mode, RunOptions options) {
  options.mode = mode;
  Machine machine(builtin_machine(program.target.machine), program, std::move(options));
  return machine.run().total;
}

}  // namespace

TEST_CASE("the steps of the critical path follow one another from the window's begin to its end") {
  for_each_program(60, [](Program program, Mode mode) {
    const RecordedRun run = record(std::move(program), mode);
    const std::vector<Step> path = critical_path(run.timeline, run.program, run.machine);
    Ticks until = run.timeline.begin, unexplained = 0;
    for (const Step& step : path) {
      CHECK(step.begin == until);
      CHECK(step.end > step.begin);
      until = step.end;
      if (step.kind == StepKind::before_start) unexplained += step.end - step.begin;
      if (step.kind == StepKind::runs) {
        REQUIRE(step.serial != no_serial);
        CHECK(run.timeline.instructions.start[step.serial] <= step.begin);
      }
    }
    CHECK(until == run.timeline.end);
    CHECK(unexplained == 0);
  });
}

// The chain of a kernel that does one thing after the other is all of it: load, double, store.
TEST_CASE("a kernel without overlap has its whole time on the path, in the order of the text") {
  const RecordedRun run =
      record(assemble_kernel("vector_add.nca", {{"R", "128"}, {"C", "512"}, {"W", "512"}}, "trn1"),
             Mode::timing_only);
  std::vector<Opcode> ran;
  for (const Step& step : critical_path(run.timeline, run.program, run.machine)) {
    const auto& all = run.timeline.instructions;
    ran.push_back(run.program.stream(all.engine[step.serial])[all.index[step.serial]].opcode);
  }
  REQUIRE(ran.size() >= 2);
  CHECK(ran.front() == Opcode::dma_copy);  // the load that came last
  CHECK(std::find(ran.begin(), ran.end(), Opcode::tensor_tensor) != ran.end());
  CHECK(ran.back() == Opcode::dma_copy);  // the store
}

TEST_CASE("slack is never negative, at most what the end leaves, and 0 on the last instruction of the path") {
  for_each_program(40, [](Program program, Mode mode) {
    const RecordedRun run = record(std::move(program), mode);
    const std::vector<Ticks> all = slack(run.timeline);
    REQUIRE(all.size() == run.timeline.instructions.size());
    for (Serial s = 0; s < all.size(); ++s) {
      CHECK(all[s] >= 0);
      CHECK(all[s] <= run.timeline.total());
    }
    const std::vector<Step> path = critical_path(run.timeline, run.program, run.machine);
    REQUIRE_FALSE(path.empty());
    CHECK(all[path.back().serial] == 0);
  });
}

// By the machine itself: the clock runs again with one instruction later by its slack. Slack knows the
// recorded waits, not what transfers take from each other when they meet otherwise; these kernels have room
// for that.
TEST_CASE(
    "an instruction of a GEMM, a sum or a softmax may complete later by its slack without a later end") {
  std::mt19937 random(7);
  int all_tried = 0;
  const std::vector<LibraryKernel> kernels = {
      {"fp8_gemm.nca", {{"M", "200"}, {"K", "650"}, {"N", "1030"}}},
      {"bf16_gemm.nca", {{"M", "130"}, {"K", "256"}, {"N", "520"}}},
      {"fp32_gemm.nca", {{"M", "130"}, {"K", "200"}, {"N", "513"}}},
      {"vector_add.nca", {{"R", "300"}, {"C", "700"}, {"W", "512"}}},
      {"softmax.nca", {{"R", "700"}, {"C", "130"}}},
  };
  for (const LibraryKernel& kernel : kernels) {
    for (const std::string name : {"trn1", "trn2"}) {
      CAPTURE(kernel.file);
      CAPTURE(name);
      const RecordedRun run = record(assemble_kernel(kernel.file, kernel.params, name), Mode::timing_only);
      const std::vector<Ticks> all = slack(run.timeline);
      int tried = 0;
      for (int attempt = 0; attempt < 400 && tried < 12; ++attempt) {
        const auto s = static_cast<Serial>(random() % all.size());
        const Engine engine = run.timeline.instructions.engine[s];
        const std::uint32_t index = run.timeline.instructions.index[s];
        const Instruction& chosen = run.program.stream(engine)[index];
        const InstructionInfo& row = info(chosen.opcode);
        if (row.is_control() || row.is_dma() || engine == Engine::tensor || all[s] == 0) continue;
        ++tried;
        CAPTURE(s);
        CAPTURE(all[s]);
        RunOptions options;
        options.perturb = [&](const Instruction& i, Engine e, Cost& cost) {
          if (e == engine && &i == &chosen) cost.latency += all[s];
        };
        CHECK(total_with(run.program, Mode::timing_only, std::move(options)) == run.result.total);
      }
      all_tried += tried;
    }
  }
  CHECK(all_tried >= 20);
}
