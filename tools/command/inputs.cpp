#include "tools/command/inputs.h"

#include <optional>
#include <utility>

#include "isa/fault.h"
#include "tools/command/options.h"
#include "tools/command/tensors.h"
#include "tools/files/checksum.h"
#include "tools/files/generate.h"

namespace ncemu::command {
namespace {

constexpr std::string_view form = "NAME=FILE.npy, NAME=FILE.safetensors[:ENTRY] or NAME=GENERATOR";

bool needs_input(const Tensor& tensor) {
  return tensor.kind == TensorKind::input || tensor.kind == TensorKind::inout;
}

// The source given for each tensor, by index.
std::vector<std::optional<std::string>> sources(const Program& program,
                                                const std::vector<std::string>& assignments) {
  std::vector<std::optional<std::string>> given(program.tensors.size());
  for (const std::string& assignment : assignments) {
    auto [name, source] = split_assignment("--in", assignment, form);
    const std::uint16_t index = find_tensor(program, name, "--in");
    const Tensor& tensor = program.tensors[index];
    if (!needs_input(tensor)) {
      throw Fault(FaultKind::input, "--in", "'{}' is {} {} of the kernel, not an input", name,
                  tensor.kind == TensorKind::output ? "an" : "a", kind_name(tensor.kind));
    }
    if (given[index]) throw Fault(FaultKind::input, "--in", "'{}' is given twice", name);
    given[index] = std::move(source);
  }
  return given;
}

void complain_of_missing(const Program& program, const std::vector<std::optional<std::string>>& given) {
  std::string missing, example;
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    if (!needs_input(program.tensors[t]) || given[t]) continue;
    missing += fmt::format("\n  {}", describe(program.tensors[t]));
    example += fmt::format(" --in {}=random", program.tensors[t].name);
  }
  if (missing.empty()) return;
  throw Fault(FaultKind::input, program.name, "the kernel needs data for{}\nfor example:{}", missing,
              example);
}

Input load(const Program& program, std::uint16_t index, const std::string& source) {
  const Tensor& tensor = program.tensors[index];
  Input input{
      .tensor = index, .name = tensor.name, .source = source, .bytes = {}, .checksum = 0, .overflowed = 0};
  const std::string where = fmt::format("--in {}", tensor.name);
  if (const auto generator = parse_generator(source, where)) {
    input.source = describe(*generator);
    input.bytes =
        generate(*generator, tensor.name, tensor.dtype, static_cast<std::size_t>(tensor.elements()));
  } else {
    LoadedTensor loaded = load_tensor(parse_file_spec(source, where), wanted(tensor));
    input.bytes = std::move(loaded.bytes);
    input.overflowed = loaded.overflowed;
  }
  input.checksum = checksum(input.bytes);
  return input;
}

}  // namespace

std::vector<Input> load_inputs(const Program& program, const std::vector<std::string>& assignments) {
  const auto given = sources(program, assignments);
  complain_of_missing(program, given);
  std::vector<Input> inputs;
  for (std::size_t t = 0; t < given.size(); ++t) {
    if (given[t]) inputs.push_back(load(program, static_cast<std::uint16_t>(t), *given[t]));
  }
  return inputs;
}

void check_input_names(const Program& program, const std::vector<std::string>& assignments) {
  sources(program, assignments);
}

void fill(State& state, std::vector<Input>& inputs) {
  for (Input& input : inputs) state.hbm.adopt(input.tensor, std::exchange(input.bytes, {}));
}

}  // namespace ncemu::command
