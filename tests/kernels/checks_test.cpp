// Checks observe: no kernel of the library takes another tick with them.

#include <doctest/doctest.h>

#include "emu/machine/machine.h"
#include "emu/machine_config.h"
#include "emu/observe/checks.h"
#include "tests/support/kernel.h"
#include "tests/support/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

RunResult run(const Program& program, Mode mode, CheckSet set, std::size_t& findings) {
  Checks checks(program, set);
  RunOptions options;
  options.mode = mode;
  options.watch_values = set.has(CheckKind::nonfinite);
  Machine machine(builtin_machine(program.target.machine), program, options);
  for (Observer* observer : checks.observers()) machine.add(*observer);
  const RunResult result = machine.run();
  findings = checks.findings(true).size();
  return result;
}

}  // namespace

TEST_CASE("checks change no tick and no instruction, and find nothing in the library without data") {
  for (const LibraryKernel& kernel : small_library()) {
    CAPTURE(kernel.file);
    const Program program = assemble_kernel(kernel.file, kernel.params, kernel.machine);
    std::size_t none = 0, all = 0;
    const RunResult without = run(program, Mode::timing_only, CheckSet::none(), none);
    const RunResult with = run(program, Mode::timing_only, CheckSet::all(), all);
    CHECK(without.status == RunStatus::finished);
    CHECK(with.total == without.total);
    CHECK(with.instructions == without.instructions);
    CHECK(all == 0);
  }
}
