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
#include "tests/support/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

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
  for (const LibraryKernel& kernel : small_library()) {
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
  for (const LibraryKernel& kernel : small_library()) listed.insert(kernel.file);
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
