// Takes away each wait that automatic synchronisation has put into the kernels of the library, one at a time:
// the checks must notice, unless the wait follows from the others.

#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "emu/machine_config.h"
#include "emu/observe/races.h"
#include "isa/asm/assembler.h"
#include "tests/support/happens_before.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Kernel {
  std::string file;
  Params params;
  std::string machine = "trn1";
};

// The smallest sizes that use every buffer again.
const std::vector<Kernel> kernels = {
    {"fp8_gemm.nca", {{"M", "260"}, {"K", "260"}, {"N", "1030"}}},
    {"fp8_gemm.nca", {{"M", "260"}, {"K", "130"}, {"N", "520"}, {"SCALES", "row"}}},
    {"fp8_double_row_gemm.nca", {{"M", "260"}, {"K", "390"}, {"N", "520"}}, "trn2"},
    {"bf16_gemm.nca", {{"M", "130"}, {"K", "256"}, {"N", "520"}}},
    {"fp32_gemm.nca", {{"M", "130"}, {"K", "200"}, {"N", "513"}}},
    {"gemm_naive.nca", {{"M", "130"}, {"K", "130"}, {"N", "513"}}},
    {"gemm_stationary.nca", {{"M", "130"}, {"K", "130"}, {"N", "513"}}},
    {"gemm_buffered.nca", {{"M", "130"}, {"K", "260"}, {"N", "2100"}}},
    {"gemm_blocked.nca", {{"M", "260"}, {"K", "130"}, {"N", "513"}}},
    {"conv3x3.nca", {{"CI", "130"}, {"CO", "130"}, {"H", "7"}, {"W", "9"}}},
    {"vector_add.nca", {{"R", "1000"}, {"C", "700"}, {"W", "512"}}},
    {"softmax.nca", {{"R", "700"}, {"C", "130"}}},
    {"flash_attention.nca", {{"H", "2"}, {"S", "200"}, {"D", "40"}, {"CAUSAL", "true"}}},
    {"paged_decode_attention.nca",
     {{"B", "2"}, {"KVH", "2"}, {"H", "3"}, {"D", "24"}, {"MP", "130"}, {"NP", "12"}}},
    {"gemv_decode.nca", {{"B", "3"}, {"K", "200"}, {"N", "600"}}},
    {"quantize_rows.nca", {{"R", "500"}, {"C", "130"}}},
    {"dequantize_rows.nca", {{"R", "500"}, {"C", "130"}, {"Q", "i8"}}},
    {"rotary_embedding.nca", {{"S", "130"}, {"H", "2"}, {"D", "34"}}},
    {"transpose_tensor.nca", {{"R", "130"}, {"C", "200"}}},
    {"transpose_vector.nca", {{"R", "64"}, {"C", "320"}}},
    {"transpose_dma.nca", {{"R", "40"}, {"C", "130"}}},
    {"gelu_mlp.nca", {{"TOKENS", "70"}, {"D", "130"}, {"F", "140"}}},
    {"swiglu_mlp.nca", {{"TOKENS", "70"}, {"D", "130"}, {"F", "140"}}},
    {"moe_layer.nca", {{"TOKENS", "140"}, {"D", "40"}, {"F", "130"}, {"E", "3"}, {"CAPACITY", "70"}}},
    {"layer_norm.nca", {{"R", "300"}, {"C", "600"}}},
    {"rms_norm.nca", {{"R", "500"}, {"C", "130"}}},
    {"rms_norm_quantize.nca", {{"R", "500"}, {"C", "130"}}},
    {"cross_entropy.nca", {{"R", "300"}, {"V", "130"}, {"W", "50"}}},
    {"adamw.nca", {{"N", "10001"}, {"W", "64"}}},
    {"silu.nca", {{"R", "300"}, {"C", "130"}, {"W", "50"}}},
    {"max_pool.nca", {{"CH", "130"}, {"H", "9"}, {"W", "11"}}},
    {"average_pool.nca", {{"CH", "130"}, {"H", "9"}, {"W", "11"}, {"K", "3"}}},
    {"depthwise_conv1d.nca", {{"CH", "130"}, {"L", "100"}, {"W", "30"}}},
    {"prefix_scan.nca", {{"R", "300"}, {"L", "130"}, {"W", "50"}}},
    {"selective_scan.nca", {{"CH", "130"}, {"S", "3"}, {"L", "530"}}},
    {"embedding_gather.nca", {{"N", "600"}, {"V", "40"}, {"D", "33"}}},
    {"embedding_scatter_add.nca", {{"N", "300"}, {"V", "40"}, {"D", "530"}}},
    {"top_k.nca", {{"R", "300"}, {"C", "130"}, {"K", "20"}}},
    {"published/adamw.nca", {{"R", "300"}, {"C", "1024"}}},
    {"published/conv3x3.nca", {{"CI", "128"}, {"CO", "128"}, {"H", "7"}, {"W", "9"}}},
    {"published/fused_attention.nca", {}},
    {"published/hbm_read.nca", {{"TILES", "6"}, {"WIDTH", "32"}}},
    {"published/hbm_write.nca", {{"TILES", "3"}, {"WIDTH", "32"}}},
    {"published/mamba_v1.nca", {{"STATES", "3"}, {"T", "65"}}},
    {"published/mamba_v2.nca", {{"STATES", "3"}, {"T", "65"}}},
    {"published/mamba_v3.nca", {{"STATES", "3"}, {"T", "65"}, {"TILE", "32"}}},
    {"published/matmul_tiled.nca", {{"M", "256"}, {"K", "384"}, {"N", "1024"}}},
    {"published/matmul_hoisted.nca", {{"M", "256"}, {"K", "384"}, {"N", "1024"}}},
    {"published/matmul_blocked.nca", {{"M", "512"}, {"K", "1024"}, {"N", "1024"}}, "trn2"},
    {"published/matmul_blocked_mn.nca", {{"M", "256"}, {"K", "1024"}, {"N", "1024"}}},
    {"published/matmul_trn1.nca", {{"M", "256"}, {"K", "1024"}, {"N", "1024"}}},
    {"published/rmsnorm_quant.nca", {{"C", "1100"}}},
    {"published/silu.nca", {{"R", "384"}, {"C", "1024"}}},
    {"published/vector_add_rows.nca", {{"N", "20"}}},
    {"published/vector_add_tiles.nca", {{"TILES", "5"}, {"FD", "50"}}},
};

struct Verdict {
  RunStatus status = RunStatus::finished;
  std::vector<Finding> findings;
};

Verdict check(const Program& program) {
  RaceObserver races(program);
  RunOptions options;
  options.mode = Mode::check;
  Machine machine(builtin_machine(program.target.machine), program, options);
  machine.add(races);
  const RunResult result = machine.run();
  return {result.status, races.findings()};
}

}  // namespace

TEST_CASE("no kernel of the library has a race, and each wait that is needed is missed when it is gone") {
  std::size_t needed = 0, implied = 0;
  for (const Kernel& kernel : kernels) {
    CAPTURE(kernel.file);
    const Program program = assemble_kernel(kernel.file, kernel.params, kernel.machine);
    const Verdict whole = check(program);
    REQUIRE(whole.status == RunStatus::finished);
    for (const Finding& f : whole.findings) FAIL_CHECK(f.message);
    const Program text = kernel_in_text_order(kernel.file, kernel.params, kernel.machine);
    for (const Engine e : all_engines) {
      for (std::size_t i = 0; i < program.stream(e).size(); ++i) {
        if (!program.stream(e)[i].wait.present()) continue;
        Program broken = program;
        broken.stream(e)[i].wait = {};
        const Verdict verdict = check(broken);
        if (verdict.status == RunStatus::deadlock || !verdict.findings.empty()) {
          ++needed;
          continue;
        }
        // The definition must agree that nothing is missing.
        ++implied;
        CAPTURE(name(e));
        CAPTURE(i);
        for (const std::string& pair : unordered_accesses(text, broken, Compare::patterns)) FAIL_CHECK(pair);
      }
    }
  }
  MESSAGE(needed, " waits are needed, ", implied, " follow from others");
  CHECK(needed > 500);
}

TEST_CASE("every kernel of the library is among them") {
  // Not kernels by themselves: the others include them.
  const std::set<std::string> parts = {"std.nca",        "gemm_schedule.nca", "conv3x3_schedule.nca",
                                       "mlp_layers.nca", "pool_schedule.nca", "published/mamba_step.nca"};
  std::set<std::string> listed;
  for (const Kernel& kernel : kernels) listed.insert(kernel.file);
  const std::filesystem::path library = NCEMU_SOURCE_DIR "/kernels";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(library)) {
    const std::string file = std::filesystem::relative(entry.path(), library).string();
    if (entry.path().extension() != ".nca" || parts.contains(file)) continue;
    CHECK_MESSAGE(listed.contains(file), file);
  }
}

TEST_CASE("no source of the library has a race at the sizes that it declares") {
  int checked = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(NCEMU_SOURCE_DIR "/kernels")) {
    if (entry.path().extension() != ".nca") continue;
    CAPTURE(entry.path().string());
    for (const std::string_view machine : machine_names()) {
      AssembleOptions options;
      options.target = find_target(machine);
      const Assembly assembly = assemble_file(entry.path().string(), options);
      // Some are parts of others, some are for one generation.
      if (!assembly.ok() || assembly.program.instruction_count() == 0) continue;
      const Verdict verdict = check(assembly.program);
      for (const Finding& f : verdict.findings) FAIL_CHECK(f.message);
      ++checked;
    }
  }
  CHECK(checked > 30);
}
