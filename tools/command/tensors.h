#pragma once

// Finding a kernel's tensor by the name an option gives.

#include <string>
#include <string_view>

#include "emu/data/state.h"
#include "isa/program.h"
#include "tools/files/load.h"

namespace ncemu::command {

// The index of the tensor. Throws Fault(input, option, ...) with the nearest name.
std::uint16_t find_tensor(const Program& program, const std::string& name, const std::string& option);

std::string_view kind_name(TensorKind kind);
// "at : f8e4m3[1024, 512]"
std::string describe(const Tensor& tensor);
Wanted wanted(const Tensor& tensor);

// All bytes of an HBM tensor.
std::vector<std::byte> tensor_bytes(const State& state, std::uint16_t tensor);

}  // namespace ncemu::command
