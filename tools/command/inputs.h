#pragma once

// `--in name=source`: what the kernel needs, where it comes from, and the data.

#include <cstdint>
#include <string>
#include <vector>

#include "emu/data/state.h"
#include "isa/program.h"

namespace ncemu::command {

struct Input {
  std::uint16_t tensor = 0;
  std::string name, source;  // source as reports name it: a path, or a generator with its seed
  std::vector<std::byte> bytes;
  std::uint64_t checksum = 0;  // of the bytes, in the tensor's type
  std::size_t overflowed = 0;  // values that the type cannot hold
};

// Throws Fault(input) for a name the kernel does not have (or that is no input), for one given twice, for
// inputs that are missing (with an example to paste), and for what cannot be read.
std::vector<Input> load_inputs(const Program& program, const std::vector<std::string>& assignments);
// The same checks of names, without reading anything: for modes without data, which need no inputs.
void check_input_names(const Program& program, const std::vector<std::string>& assignments);

// Hands the bytes over: the state has them then, `inputs` no more.
void fill(State& state, std::vector<Input>& inputs);

}  // namespace ncemu::command
