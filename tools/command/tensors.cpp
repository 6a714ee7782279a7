#include "tools/command/tensors.h"

#include "isa/diagnostics.h"
#include "isa/fault.h"

namespace ncemu::command {

std::uint16_t find_tensor(const Program& program, const std::string& name, const std::string& option) {
  std::vector<std::string_view> known;
  std::string list;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (tensor.name == name) return static_cast<std::uint16_t>(t);
    if (tensor.kind == TensorKind::constant || tensor.kind == TensorKind::scratch) continue;
    known.push_back(tensor.name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", tensor.name);
  }
  const std::string_view near = did_you_mean(name, known);
  throw Fault(FaultKind::input, option, "the kernel has no tensor '{}'{}", name,
              !near.empty()  ? fmt::format(", did you mean '{}'?", near)
              : list.empty() ? std::string(" (it has no inputs or outputs)")
                             : fmt::format(" (it has: {})", list));
}

std::string_view kind_name(TensorKind kind) {
  switch (kind) {
    case TensorKind::input: return "input";
    case TensorKind::output: return "output";
    case TensorKind::inout: return "inout";
    case TensorKind::scratch: return "scratch";
    case TensorKind::constant: return "constant";
  }
  return {};
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{} : {}[{}]", tensor.name, name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

Wanted wanted(const Tensor& tensor) {
  return {.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
}

std::vector<std::byte> tensor_bytes(const State& state, std::uint16_t tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(state.hbm.bytes(tensor)));
  state.hbm.read(tensor, 0, bytes);
  return bytes;
}

}  // namespace ncemu::command
