#include "tools/command/suite_reference.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "isa/fault.h"
#include "isa/number.h"
#include "kernels/references/references.h"
#include "tools/command/tensors.h"
#include "tools/files/load.h"

namespace ncemu::command {
namespace {

bool is_result(const Tensor& tensor) {
  return tensor.kind == TensorKind::output || tensor.kind == TensorKind::inout;
}

references::Call call(const SuiteCase& c, const Program& program, const std::vector<Input>& inputs) {
  references::Call call;
  for (const Input& input : inputs) {
    const Tensor& tensor = program.tensors[input.tensor];
    references::Tensor& given = call.inputs[tensor.name];
    given = {tensor.dtype, tensor.shape, {}};
    const auto count = static_cast<std::size_t>(tensor.elements());
    given.values.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      given.values.push_back(static_cast<float>(element_value(tensor.dtype, input.bytes, i)));
  }
  for (const Tensor& tensor : program.tensors) {
    if (is_result(tensor)) call.outputs[tensor.name] = {tensor.dtype, tensor.shape, {}};
  }
  call.params.insert(c.params.begin(), c.params.end());
  return call;
}

// Rounded to the type as any value is: floats by way of fp32.
std::vector<std::byte> rounded(DType type, const std::vector<double>& values) {
  const auto size = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = is_integer(type) ? integer_to_bits(type, std::llround(values[i]))
                                                : to_bits(type, static_cast<float>(values[i]));
    for (std::size_t b = 0; b < size; ++b)
      bytes[i * size + b] = static_cast<std::byte>(bits >> (8 * b) & 0xFF);
  }
  return bytes;
}

std::vector<ExpectedOutput> builtin_outputs(const SuiteCase& c, const Program& program,
                                            const std::vector<Input>& inputs) {
  const std::string name = c.reference.substr(c.reference.find(':') + 1);
  references::Results results;
  try {
    results = references::find(name, c.where).run(call(c, program, inputs));
  } catch (const Fault& fault) {
    throw Fault(FaultKind::input, c.where, "{} with the kernel '{}': {}", c.reference, c.kernel,
                fault.message());
  } catch (const std::out_of_range&) {
    throw Fault(FaultKind::input, c.where, "{} does not fit the shapes of the kernel '{}'", c.reference,
                c.kernel);
  }
  std::vector<ExpectedOutput> all;
  for (auto& [output, expected] : results) {
    const std::uint16_t tensor = find_tensor(program, output, c.reference);
    if (static_cast<std::int64_t>(expected.values.size()) != program.tensors[tensor].elements()) {
      throw Fault(FaultKind::input, c.where, "{} gives {} values of {}", c.reference, expected.values.size(),
                  describe(program.tensors[tensor]));
    }
    all.push_back({.tensor = tensor,
                   .source = c.reference,
                   .tolerance = c.tolerance(output),
                   .values = std::move(expected.values),
                   .magnitude = std::move(expected.magnitude),
                   .patterns = {}});
    if (all.back().tolerance.bits)
      all.back().patterns = rounded(program.tensors[tensor].dtype, all.back().values);
  }
  return all;
}

std::vector<ExpectedOutput> file_outputs(const SuiteCase& c, const Program& program) {
  std::vector<ExpectedOutput> all;
  for (const auto& [output, path] : c.expect) {
    ExpectedOutput expected{.tensor = find_tensor(program, output, "expect"),
                            .source = path,
                            .tolerance = c.tolerance(output),
                            .values = {},
                            .magnitude = {},
                            .patterns = {}};
    const Tensor& tensor = program.tensors[expected.tensor];
    if (!is_result(tensor))
      throw Fault(FaultKind::input, c.where, "expect: '{}' is no output of the kernel", output);
    const FileSpec file = parse_file_spec(path, c.where);
    if (expected.tolerance.bits)
      expected.patterns = load_tensor(file, wanted(tensor)).bytes;
    else
      expected.values = load_values(file, wanted(tensor));
    all.push_back(std::move(expected));
  }
  return all;
}

}  // namespace

std::vector<ExpectedOutput> expected_outputs(const SuiteCase& c, const Program& program,
                                             const std::vector<Input>& inputs) {
  std::vector<ExpectedOutput> all = file_outputs(c, program);
  std::vector<ExpectedOutput> more;
  const std::string python = "python:";
  if (c.reference.starts_with(python))
    more = python_outputs(c.reference.substr(python.size()), c, program, inputs);
  else if (!c.reference.empty())
    more = builtin_outputs(c, program, inputs);
  for (ExpectedOutput& one : more) all.push_back(std::move(one));
  for (const auto& [name, tolerance] : c.tolerances) {
    const bool known =
        name.empty() || std::any_of(all.begin(), all.end(), [&, &output = name](const ExpectedOutput& e) {
          return program.tensors[e.tensor].name == output;
        });
    if (!known)
      throw Fault(FaultKind::input, c.where, "there is a tolerance for '{}', which nothing is compared with",
                  name);
  }
  return all;
}

std::vector<Checked> compare_outputs(const Program& program, const std::vector<ExpectedOutput>& expected,
                                     const State& state) {
  std::vector<Checked> all;
  for (const ExpectedOutput& e : expected) {
    const Tensor& tensor = program.tensors[e.tensor];
    const std::vector<std::byte> got = tensor_bytes(state, e.tensor);
    Difference difference;
    if (e.tolerance.bits) {
      difference = compare_bits(tensor.dtype, got, e.patterns);
    } else {
      std::vector<double> allowed(e.values.size());
      for (std::size_t i = 0; i < allowed.size(); ++i) {
        allowed[i] = e.tolerance.absolute + e.tolerance.relative * std::abs(e.values[i]) +
                     (e.magnitude.empty() ? 0 : e.tolerance.terms * e.magnitude[i]);
      }
      difference = compare(tensor.dtype, got, e.values, allowed);
    }
    all.push_back({.tensor = tensor.name,
                   .source = e.source,
                   .text = ncemu::describe(difference, tensor.shape),
                   .difference = difference});
  }
  return all;
}

}  // namespace ncemu::command
