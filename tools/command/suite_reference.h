#pragma once

// The values that a case must give: from a compiled reference, a Python script or files.

#include <string>
#include <vector>

#include "emu/data/state.h"
#include "isa/program.h"
#include "tools/command/inputs.h"
#include "tools/command/outputs.h"
#include "tools/command/suite.h"

namespace ncemu::command {

struct ExpectedOutput {
  std::uint16_t tensor = 0;
  std::string source;  // "builtin:softmax", "y.npy"
  OutputTolerance tolerance;
  std::vector<double> values;
  std::vector<double> magnitude;    // of the terms; may be empty
  std::vector<std::byte> patterns;  // with `bits` only
};

// `inputs` with their bytes. Throws Fault(input) for a reference that does not fit the kernel or that fails,
// with what it printed to standard error.
std::vector<ExpectedOutput> expected_outputs(const SuiteCase& c, const Program& program,
                                             const std::vector<Input>& inputs);

std::vector<Checked> compare_outputs(const Program& program, const std::vector<ExpectedOutput>& expected,
                                     const State& state);

// Runs `python3 SCRIPT INPUTS OUTPUTS` (another Python is named by NCEMU_PYTHON): two directories, of which
// the first has each input as NAME.npy (bf16 and 8-bit floats as float32) and the parameters as params.json,
// and the second gets each output as NAME.npy.
std::vector<ExpectedOutput> python_outputs(const std::string& script, const SuiteCase& c,
                                           const Program& program, const std::vector<Input>& inputs);

}  // namespace ncemu::command
