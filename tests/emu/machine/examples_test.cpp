// The example of every reference page, as the page prints it, assembles and runs.

#include <doctest/doctest.h>

#include <sstream>

#include "emu/machine/machine.h"
#include "isa/asm/assembler.h"
#include "isa/fault.h"
#include "isa/reference.h"

using namespace ncemu;

namespace {

// The lines of the page below "example", without their indentation.
std::string example_of(const std::string& page) {
  std::istringstream lines(page);
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "example") {
      inside = true;
    } else if (inside && line.empty()) {
      return text;
    } else if (inside) {
      text += line.substr(2) + "\n";
    }
  }
  return text;
}

std::string run(const Program& program, Mode mode) {
  RunOptions options;
  options.mode = mode;
  Machine machine(builtin_machine(program.target.machine), program, options);
  const RunResult result = machine.run();
  return result.status == RunStatus::finished ? "" : result.message;
}

}  // namespace

TEST_CASE(
    "the example on every page assembles as it stands there and runs to its end, with and without a clock") {
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    const std::string source = example_of(reference_page(row.mnemonic));
    CAPTURE(source);
    const Assembly assembly = assemble_text(source, "example.nca");
    REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
    for (const Mode mode : {Mode::functional, Mode::timed}) {
      const std::string message = run(assembly.program, mode);
      if (row.opcode == Opcode::core_barrier) {  // there is no other core to come
        CHECK(message.find("core_barrier") != std::string::npos);
      } else {
        CHECK(message == "");
      }
    }
  }
}
