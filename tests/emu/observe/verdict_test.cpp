// The first sentence of a profile, on kernels that have one planted fault each.
#include "emu/observe/verdict.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "isa/asm/assembler.h"
#include "tests/emu/observe/recorded_runs.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Judged {
  Verdict verdict;
  DmaTime dma;
  double share(DmaCause cause) const { return dma[cause].ticks / dma.in_all(); }
  bool says(std::string_view part) const { return verdict.sentence.find(part) != std::string::npos; }
};

Judged judged(Program program, Mode mode = Mode::timing_only) {
  SummaryObserver summary(builtin_machine(program.target.machine));
  const RecordedRun run = record(std::move(program), mode, {&summary});
  const Profile p(run.timeline, summary.summary(), run.program, run.machine, {}, 1);
  return {verdict(p), p.dma_time};
}

Judged judged(const std::string& machine, const std::string& text) {
  Assembly assembly = assemble_text(".machine " + machine + "\n" + text, "t.nca");
  REQUIRE(assembly.ok());
  return judged(std::move(assembly.program));
}

// Copies x to y, `rows` rows of `columns` at a time, through `buffers` tiles.
std::string copy(int tiles, int rows, int columns, int buffers) {
  return fmt::format(
      ".input  x : bf16[{0}, {1}, {2}]\n"
      ".output y : bf16[{0}, {1}, {2}]\n"
      ".for i in 0 .. {0}\n"
      "  .sbuf t : bf16[{1}, {2}], buffers = {3}\n"
      "  dma_copy t, x[i, :, :]\n"
      "  dma_copy y[i, :, :], t\n"
      ".end\n",
      tiles, rows, columns, buffers);
}

}  // namespace

TEST_CASE("what the transfers of the critical path spend adds up to their steps there, on every program") {
  for_each_program(30, [](Program program, Mode mode) {
    SummaryObserver summary(builtin_machine(program.target.machine));
    const RecordedRun run = record(std::move(program), mode, {&summary});
    const Profile p(run.timeline, summary.summary(), run.program, run.machine, {}, 1);
    Ticks steps = 0;
    for (const Step& s : p.path) {
      const bool dma = s.kind == StepKind::dma_start || s.kind == StepKind::dma_moves ||
                       s.kind == StepKind::dma_done || s.kind == StepKind::dma_queue_waits;
      if (dma) steps += s.end - s.begin;
    }
    CHECK(p.dma_time.in_all() == doctest::Approx(static_cast<double>(steps)));
    for (const DmaTime::Part& part : p.dma_time.parts) CHECK(part.ticks >= 0);
    CHECK(p.dma_time.quiet <= p.dma_time[DmaCause::start].ticks);
  });
}

TEST_CASE("long rows through enough buffers are bound by their bytes, and reach the engines' rate") {
  for (const char* machine : {"trn1", "trn2"}) {
    CAPTURE(machine);
    const Judged j = judged(machine, copy(32, 128, 4096, 4));
    CAPTURE(j.verdict.sentence);
    CHECK(j.verdict.bound == "DMA");
    CHECK(j.says("67108864 bytes have to move"));
    CHECK(j.says("for loads and stores together"));
    CHECK_FALSE(j.says("short"));
    CHECK(j.share(DmaCause::bytes) > 0.9);
  }
}

TEST_CASE("a mean that a few short transfers bring down does not blame descriptors") {
  // As many bytes as before, and a column of 4-byte descriptors beside each tile: half of all descriptors.
  const Judged j = judged("trn1",
                          ".input  x : bf16[16, 128, 8192]\n.input  s : f32[16, 128, 1]\n"
                          ".output y : bf16[16, 128, 8192]\n"
                          ".for i in 0 .. 16\n"
                          "  .sbuf t : bf16[128, 8192], buffers = 4\n"
                          "  .sbuf u : f32[128, 1], buffers = 4\n"
                          "  dma_copy t, x[i, :, :]\n"
                          "  dma_copy u, s[i, :, :]\n"
                          "  dma_copy y[i, :, :], t\n"
                          ".end\n");
  CAPTURE(j.verdict.sentence);
  CHECK(j.says("bytes have to move"));
  CHECK_FALSE(j.says("short"));
}

TEST_CASE("transfers that wait for each other are told from small ones") {
  const Judged serial = judged("trn1", copy(16, 128, 512, 1));
  CAPTURE(serial.verdict.sentence);
  CHECK(serial.says("transfers, 131072 bytes each on average"));
  CHECK(serial.says("on start and completion"));
  CHECK(serial.says("nothing else moves meanwhile"));
  CHECK_FALSE(serial.says("small"));
  const Judged small = judged("trn1", copy(64, 128, 16, 4));
  CAPTURE(small.verdict.sentence);
  CHECK(small.says("128 small transfers, 4096 bytes each on average"));
}

TEST_CASE("short descriptors are named with their size, their cost and their line") {
  // Each element lies 2 KiB from the next in HBM: a descriptor each.
  const Judged j = judged("trn1",
                          ".input  x : bf16[64, 128, 16, 1024]\n"
                          ".for i in 0 .. 64\n"
                          "  .sbuf t : bf16[128, 16], buffers = 8\n"
                          "  dma_copy t, x[i, :, :, 5]\n"
                          ".end\n");
  CAPTURE(j.verdict.sentence);
  CHECK(j.verdict.bound == "DMA");
  CHECK(j.says("2-byte descriptors are short"));
  CHECK(j.says("t.nca:5"));
  CHECK(j.dma.descriptor_bytes == doctest::Approx(2));
  // A DMA engine serves one in desc_min_ns = 7 ns, and its bytes need 2 / 18 of one.
  CHECK(j.says("each costs 7 ns beside its bytes"));
}

TEST_CASE("tiles of few partitions are named by the DMA engines that they leave idle") {
  // 16 partitions are two of the 16 engines.
  const Judged j = judged("trn1", copy(8, 16, 32768, 2));
  CAPTURE(j.verdict.sentence);
  CHECK(j.verdict.bound == "DMA");
  CHECK(j.says("only 2.0 of the 16 DMA engines move at a time"));
  CHECK(j.dma.engines == doctest::Approx(2).epsilon(0.05));
  // The rest: each engine at its own peak, 31 of the 18 GB/s that are its share when all move.
  CHECK(j.share(DmaCause::few_engines) == doctest::Approx(1 - 2 * 31.0 / 288).epsilon(0.1));
  CHECK_FALSE(judged("trn1", copy(8, 128, 4096, 2)).says("engines move at a time"));
}

TEST_CASE("copies inside HBM are told by what they take twice, and sums by the unit that makes them") {
  // 16 engines that read and write want 2 x 288 GB/s of 410: the rest is HBM's doing.
  const Judged copies = judged("trn1",
                               ".input  x : bf16[4096, 4096]\n.output y : bf16[4096, 4096]\n"
                               "dma_copy y, x\n");
  CAPTURE(copies.verdict.sentence);
  CHECK(copies.share(DmaCause::hbm_twice) == doctest::Approx(1 - 410.0 / 2 / 288).epsilon(0.05));
  const Judged sums = judged("trn1",
                             ".input  x : f32[2, 128, 16384]\n"
                             ".sbuf t : f32[128, 16384]\n"
                             "dma_compute t, x[0, :, :], x[1, :, :], op = add\n");
  CAPTURE(sums.verdict.sentence);
  // compute_share = 0.5 of a copy's rate.
  CHECK(sums.share(DmaCause::unit) == doctest::Approx(0.5).epsilon(0.1));
  CHECK(sums.says("compute"));
}

TEST_CASE("what is loaded again and again is named before the bytes it makes") {
  const Judged j = judged("trn1",
                          ".input  x : f32[128, 4096]\n.output y : f32[4, 128, 4096]\n"
                          ".for i in 0 .. 4\n"
                          "  .sbuf t : f32[128, 4096], buffers = 2\n"
                          "  dma_copy t, x\n"
                          "  dma_copy y[i, :, :], t\n"
                          ".end\n");
  CAPTURE(j.verdict.sentence);
  CHECK(j.says("tensor 'x' is loaded 4.0 times"));
}

TEST_CASE("descriptors that a program of gpsimd builds are said to be built") {
  const Judged gather = judged(assemble_kernel("embedding_gather.nca", {}, "trn1"), Mode::timing_only);
  CAPTURE(gather.verdict.sentence);
  CHECK(gather.verdict.bound == "gpsimd");
  CHECK(gather.says("building descriptors"));
}

TEST_CASE("the published kernels that stream through long rows are bound by bytes, not by descriptors") {
  for (const char* kernel : {"adamw.nca", "depthwise_conv1d.nca", "dequantize_rows.nca", "quantize_rows.nca",
                             "silu.nca", "rms_norm.nca", "prefix_scan.nca"}) {
    CAPTURE(kernel);
    const Judged j = judged(assemble_kernel(kernel, {}, "trn1"), Mode::timing_only);
    CAPTURE(j.verdict.sentence);
    CHECK(j.verdict.bound == "DMA");
    CHECK(j.says("bytes have to move"));
  }
}
