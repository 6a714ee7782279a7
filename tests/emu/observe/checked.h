#pragma once

// Runs a source with all its checks and hands back what they found.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "emu/data/state.h"
#include "emu/machine/machine.h"
#include "emu/observe/checks.h"
#include "isa/number.h"
#include "tests/isa/asm/assemble.h"

namespace ncemu::test {

struct CheckedRun {
  Program program;
  std::vector<Finding> findings;
  RunResult result;

  // "init warning 5: message", one per finding.
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const Finding& f : findings) {
      const std::uint32_t site =
          f.involved.empty() ? f.site : program.stream(f.involved[0].engine)[f.involved[0].index].site;
      const Severity severity = f.severity.value_or(info(f.kind).severity);
      all.push_back(fmt::format("{} {} {}: {}", info(f.kind).name,
                                severity == Severity::error ? "error" : "warning", program.sites[site].line,
                                f.message));
    }
    return all;
  }
};

// Inputs are `values` repeated, as fp32 bits or, for a 32-bit integer tensor, as integers.
inline CheckedRun run_checked(const std::string& source, Mode mode, const std::vector<float>& values = {1.0F},
                              CheckSet set = CheckSet::all()) {
  const Assembly assembly = assemble_text(source, "k.nca");
  REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
  CheckedRun run{.program = assembly.program, .findings = {}, .result = {}};
  Checks checks(run.program, set);
  RunOptions options;
  options.mode = mode;
  options.watch_values = true;
  Machine machine(builtin_machine(run.program.target.machine), run.program, options);
  for (Observer* observer : checks.observers()) machine.add(*observer);
  for (std::size_t t = 0; has_data(mode) && t < run.program.tensors.size(); ++t) {
    const Tensor& tensor = run.program.tensors[t];
    if (tensor.kind != TensorKind::input && tensor.kind != TensorKind::inout) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes()));
    const auto width = static_cast<std::size_t>(size_of(tensor.dtype));
    for (std::size_t i = 0; i * width < bytes.size(); ++i) {
      const float value = values[i % values.size()];
      const std::uint32_t bits = is_integer(tensor.dtype)
                                     ? integer_to_bits(tensor.dtype, static_cast<std::int64_t>(value))
                                     : to_bits(tensor.dtype, value);
      std::memcpy(bytes.data() + i * width, &bits, width);
    }
    machine.state().hbm.write(static_cast<std::uint16_t>(t), 0, bytes);
  }
  run.result = machine.run();
  run.findings = checks.findings(run.result.status == RunStatus::finished);
  return run;
}

using Texts = std::vector<std::string>;

}  // namespace ncemu::test
