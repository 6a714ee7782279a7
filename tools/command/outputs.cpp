#include "tools/command/outputs.h"

#include <algorithm>
#include <map>

#include "isa/fault.h"
#include "tools/command/options.h"
#include "tools/command/tensors.h"
#include "tools/files/file.h"
#include "tools/files/safetensors.h"

namespace ncemu::command {
namespace {

bool is_result(const Tensor& tensor) {
  return tensor.kind == TensorKind::output || tensor.kind == TensorKind::inout;
}

}  // namespace

Outputs::Outputs(const Program& program, const std::vector<std::string>& saves,
                 const std::vector<std::string>& expectations, const Tolerance& tolerance, bool bits)
    : program_(program) {
  for (const std::string& text : saves) add_save(text);
  for (const Save& s : saves_) check_writable(s.path);
  for (const std::string& text : expectations) add_expectation(text, tolerance, bits);
}

std::uint16_t Outputs::result(const std::string& name, const std::string& option) const {
  const std::uint16_t index = find_tensor(program_, name, option);
  const Tensor& tensor = program_.tensors[index];
  if (!is_result(tensor)) {
    throw Fault(FaultKind::input, option, "'{}' is {} {} of the kernel, not an output", name,
                tensor.kind == TensorKind::input ? "an" : "a", kind_name(tensor.kind));
  }
  return index;
}

void Outputs::add_save(const std::string& text) {
  if (text.find('=') == std::string::npos && text.ends_with(".safetensors")) {
    for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
      if (is_result(program_.tensors[t]))
        saves_.push_back({static_cast<std::uint16_t>(t), text, false, true});
    }
    return;
  }
  auto [name, path] =
      split_assignment("--out", text, "NAME=FILE.npy[:float32], NAME=FILE.safetensors or FILE.safetensors");
  Save save{.tensor = result(name, "--out"), .path = path, .as_float32 = false, .safetensors = false};
  if (path.ends_with(".npy:float32")) {
    save.path = path.substr(0, path.size() - std::string_view(":float32").size());
    save.as_float32 = true;
  } else if (path.ends_with(".safetensors")) {
    save.safetensors = true;
  } else if (!path.ends_with(".npy")) {
    throw Fault(FaultKind::input, "--out", "'{}' ends in neither .npy, .npy:float32 nor .safetensors", path);
  }
  const auto clash = std::find_if(saves_.begin(), saves_.end(), [&](const Save& other) {
    return same_file(other.path, save.path) && !(save.safetensors && other.tensor != save.tensor);
  });
  if (clash != saves_.end()) throw Fault(FaultKind::input, "--out", "'{}' is written twice", save.path);
  saves_.push_back(save);
}

void Outputs::add_expectation(const std::string& text, const Tolerance& tolerance, bool bits) {
  auto [name, source] = split_assignment("--expect", text, "NAME=FILE.npy or NAME=FILE.safetensors[:ENTRY]");
  expectations_.push_back({.tensor = result(name, "--expect"),
                           .source = source,
                           .file = parse_file_spec(source, "--expect " + name),
                           .tolerance = tolerance,
                           .bits = bits});
}

void Outputs::read_references() {
  values_.clear();
  patterns_.clear();
  for (const Expectation& e : expectations_) {
    const Wanted tensor = wanted(program_.tensors[e.tensor]);
    patterns_.push_back(e.bits ? load_tensor(e.file, tensor).bytes : std::vector<std::byte>());
    values_.push_back(e.bits ? std::vector<double>() : load_values(e.file, tensor));
  }
}

std::vector<Checked> Outputs::compare(const State& state) const {
  std::vector<Checked> all;
  for (std::size_t i = 0; i < expectations_.size(); ++i) {
    const Expectation& e = expectations_[i];
    const Tensor& tensor = program_.tensors[e.tensor];
    const std::vector<std::byte> got = tensor_bytes(state, e.tensor);
    const Difference difference = e.bits ? compare_bits(tensor.dtype, got, patterns_[i])
                                         : ncemu::compare(tensor.dtype, got, values_[i], e.tolerance);
    all.push_back({.tensor = tensor.name,
                   .source = e.source,
                   .text = ncemu::describe(difference, tensor.shape),
                   .difference = difference});
  }
  return all;
}

std::vector<std::string> Outputs::save(const State& state) const {
  std::vector<std::string> paths;
  std::map<std::string, std::vector<SafeTensor>> files;
  for (const Save& s : saves_) {
    const Tensor& tensor = program_.tensors[s.tensor];
    std::vector<std::byte> bytes = tensor_bytes(state, s.tensor);
    if (s.safetensors) {
      files[s.path].push_back({.name = tensor.name,
                               .type = stored_type(tensor.dtype),
                               .shape = tensor.shape,
                               .data = std::move(bytes)});
    } else {
      save_npy(s.path, wanted(tensor), bytes, s.as_float32);
      paths.push_back(s.path);
    }
  }
  for (const auto& [path, tensors] : files) {
    write_file(path, write_safetensors(tensors));
    paths.push_back(path);
  }
  return paths;
}

}  // namespace ncemu::command
