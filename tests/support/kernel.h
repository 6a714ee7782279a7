#pragma once

// Assembles a kernel of the library, runs it on given bytes and hands back its outputs.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/observe/summary.h"
#include "isa/program.h"

namespace ncemu::test {

using Bytes = std::vector<std::byte>;
using Params = std::map<std::string, std::string>;

// Throws Fault with the diagnostics when the source does not assemble.
Program assemble_kernel(const std::string& name, const Params& params, const std::string& machine);
// The same, placed but with its text order, for the sequential interpreter.
Program kernel_in_text_order(const std::string& name, const Params& params, const std::string& machine);

struct KernelResult {
  RunResult run;
  std::map<std::string, Bytes> outputs;  // every output and inout tensor, by name
};
KernelResult run_program(const Program& program, const std::map<std::string, Bytes>& inputs,
                         RunOptions options);

// The counters of a timing-only run.
Summary time_kernel(const std::string& name, const Params& params, const std::string& machine);

// Values as the bytes of a tensor of the type, rounded by isa/number.h; and back.
Bytes to_bytes(DType type, const std::vector<float>& values);
std::vector<float> to_floats(DType type, const Bytes& bytes);

// `count` values from a seed: normal-like, negative ones and a wide spread included.
std::vector<float> random_values(std::size_t count, std::uint32_t seed, float scale = 1.0F);

}  // namespace ncemu::test
