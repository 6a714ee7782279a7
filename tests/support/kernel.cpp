#include "tests/support/kernel.h"

#include <bit>
#include <cstring>
#include <random>

#include "emu/data/state.h"
#include "emu/machine_config.h"
#include "isa/asm/assembler.h"
#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu::test {
namespace {

std::uint16_t tensor_number(const Program& program, const std::string& name) {
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].name == name) return static_cast<std::uint16_t>(i);
  }
  throw Fault(FaultKind::input, name, "the kernel has no such tensor");
}

Program assemble(const std::string& name, const Params& params, const std::string& machine,
                 bool keep_text_order) {
  AssembleOptions options;
  options.params = params;
  options.keep_text_order = keep_text_order;
  options.target = find_target(machine);
  Assembly assembly = assemble_file(std::string(NCEMU_SOURCE_DIR) + "/kernels/" + name, options);
  if (!assembly.ok()) throw Fault(FaultKind::input, name, "{}", assembly.diagnostics.text());
  return std::move(assembly.program);
}

}  // namespace

Program assemble_kernel(const std::string& name, const Params& params, const std::string& machine) {
  return assemble(name, params, machine, false);
}

Program kernel_in_text_order(const std::string& name, const Params& params, const std::string& machine) {
  return assemble(name, params, machine, true);
}

KernelResult run_program(const Program& program, const std::map<std::string, Bytes>& inputs,
                         RunOptions options) {
  const MachineConfig config = builtin_machine(program.target.machine);
  const bool data = has_data(options.mode);
  Machine machine(config, program, std::move(options));
  if (data) {
    for (const auto& [name, bytes] : inputs)
      machine.state().hbm.write(tensor_number(program, name), 0, bytes);
  }
  KernelResult result;
  result.run = machine.run();
  if (!data) return result;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& tensor = program.tensors[i];
    if (tensor.kind != TensorKind::output && tensor.kind != TensorKind::inout) continue;
    Bytes bytes(static_cast<std::size_t>(tensor.bytes()));
    machine.state().hbm.read(static_cast<std::uint16_t>(i), 0, bytes);
    result.outputs[tensor.name] = std::move(bytes);
  }
  return result;
}

Summary time_kernel(const std::string& name, const Params& params, const std::string& machine) {
  const Program program = assemble_kernel(name, params, machine);
  const MachineConfig config = builtin_machine(machine);
  RunOptions options;
  options.mode = Mode::timing_only;
  Machine timed(config, program, options);
  SummaryObserver observer(config);
  timed.add(observer);
  const RunResult result = timed.run();
  if (result.status != RunStatus::finished) throw Fault(FaultKind::program, name, "{}", result.message);
  return observer.summary();
}

Bytes to_bytes(DType type, const std::vector<float>& values) {
  const auto size = static_cast<std::size_t>(size_of(type));
  Bytes bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = to_bits(type, values[i]);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

std::vector<float> to_floats(DType type, const Bytes& bytes) {
  const auto size = static_cast<std::size_t>(size_of(type));
  std::vector<float> values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    values[i] = from_bits(type, bits);
  }
  return values;
}

std::vector<float> random_values(std::size_t count, std::uint32_t seed, float scale) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    // The sum of four uniform values in [-1, 1): roughly normal, the same on every host.
    float sum = 0;
    for (int k = 0; k < 4; ++k)
      sum += static_cast<float>(static_cast<int>(random() >> 8) - (1 << 23)) / (1 << 23);
    value = sum * scale;
  }
  return values;
}

}  // namespace ncemu::test
