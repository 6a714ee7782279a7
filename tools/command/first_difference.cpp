#include "tools/command/first_difference.h"

#include <array>
#include <cstring>
#include <functional>

#include "isa/fault.h"
#include "tools/command/interrupt.h"
#include "tools/command/show.h"
#include "tools/command/tensors.h"
#include "tools/files/checksum.h"

namespace ncemu::command {
namespace {

using Effect = std::function<void(Engine, std::uint32_t, const Instruction&, State&)>;

// One functional run; `effect` sees every instruction, `done` the final state.
void run_once(const Kernel& kernel, const RunRequest& request, const Effect& effect,
              const std::function<void(const State&)>& done = {}) {
  Watch watch(request.max_time, request.started);
  RunOptions options;
  options.mode = Mode::functional;
  options.max_instructions = request.max_instructions;
  options.stochastic_rounding_seed = request.stochastic_rounding_seed;
  options.interrupted = [&] { return watch.ask(0); };
  options.on_effect = effect;
  Machine machine(kernel.machine, kernel.program, std::move(options));
  std::vector<Input> inputs = load_inputs(kernel.program, request.in);
  fill(machine.state(), inputs);
  const RunResult result = machine.run();
  if (result.status != RunStatus::finished) {
    throw Fault(FaultKind::program, kernel.program.name, "{}{}",
                watch.reason().empty() ? "" : watch.reason() + ": ", result.message);
  }
  if (done) done(machine.state());
}

struct Step {
  Engine engine = Engine::tensor;
  Opcode opcode = Opcode::nop;
  std::uint32_t site = 0;
  std::uint64_t hash = 0;  // of what it wrote
};

// What an instruction has just written, all its destinations one after the other.
std::vector<std::byte> written(const Instruction& instruction, const State& state) {
  std::vector<std::byte> bytes;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if (role != Role::write) return;
    const std::vector<std::byte> part = read_operand(pattern, state);
    bytes.insert(bytes.end(), part.begin(), part.end());
  });
  return bytes;
}

struct Trace {
  std::vector<Step> steps;
  std::vector<std::vector<std::byte>> results;  // of each tensor that is a result, by its index
};

Trace trace(const Kernel& kernel, const RunRequest& request) {
  Trace t;
  run_once(
      kernel, request,
      [&](Engine engine, std::uint32_t, const Instruction& instruction, State& state) {
        t.steps.push_back({engine, instruction.opcode, instruction.site, fnv1a(written(instruction, state))});
      },
      [&](const State& state) {
        for (std::size_t i = 0; i < kernel.program.tensors.size(); ++i) {
          const TensorKind kind = kernel.program.tensors[i].kind;
          const bool result = kind == TensorKind::output || kind == TensorKind::inout;
          t.results.push_back(result ? tensor_bytes(state, static_cast<std::uint16_t>(i))
                                     : std::vector<std::byte>());
        }
      });
  return t;
}

struct Written {
  MemoryOperand destination;
  std::vector<std::byte> bytes;
};

// What the n-th step of an engine writes.
Written capture(const Kernel& kernel, const RunRequest& request, Engine engine, std::size_t n) {
  Written found;
  std::size_t seen = 0;
  run_once(kernel, request, [&](Engine e, std::uint32_t, const Instruction& instruction, State& state) {
    if (e != engine || seen++ != n) return;
    for_each_access(instruction, [&](const auto& pattern, Role role) {
      if (role == Role::write) found.destination = pattern;
    });
    found.bytes = written(instruction, state);
  });
  return found;
}

// The place in the source that last wrote a byte of an HBM tensor.
std::string last_writer(const Kernel& kernel, const RunRequest& request, std::uint16_t tensor,
                        std::int64_t byte) {
  std::string writer = "nothing in the program";
  run_once(kernel, request, [&](Engine engine, std::uint32_t, const Instruction& instruction, State&) {
    for_each_access(instruction, [&](const auto& pattern, Role role) {
      if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, HbmPattern>) {
        if (role != Role::write || pattern.tensor != tensor) return;
        for_each_run(pattern, [&](std::int64_t offset, std::int64_t length) {
          if (byte < offset || byte >= offset + length) return;
          writer = fmt::format("{} on {}, {}", info(instruction.opcode).mnemonic, name(engine),
                               describe_site(kernel.program, instruction.site));
        });
      }
    });
  });
  return writer;
}

std::size_t first_unequal(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t width) {
  std::size_t i = 0;
  while (std::memcmp(a.data() + i * width, b.data() + i * width, width) == 0) ++i;
  return i;
}

std::string values_text(DType dtype, std::span<const std::byte> a, std::span<const std::byte> b,
                        std::size_t i) {
  return fmt::format("{} (bits {:#x}) and {} (bits {:#x})", element_value(dtype, a, i),
                     element_bits(dtype, a, i), element_value(dtype, b, i), element_bits(dtype, b, i));
}

std::string describe_effect(const Kernel& one, const Kernel& other, const RunRequest& request,
                            const Step& step, std::size_t n, const std::string& site,
                            const std::string& other_site) {
  const Written a = capture(one, request, step.engine, n), b = capture(other, request, step.engine, n);
  std::string text =
      fmt::format("first difference: {} on {}, {}", info(step.opcode).mnemonic, name(step.engine), site);
  if (other_site != site) text += fmt::format(" (other: {})", other_site);
  const DType dtype = dtype_of(a.destination);
  const auto shape = shape_of(a.destination);
  if (dtype != dtype_of(b.destination) || shape != shape_of(b.destination) ||
      a.bytes.size() != b.bytes.size()) {
    const auto other_shape = shape_of(b.destination);
    return fmt::format("{}\n  writes {}{} and {}{}\n", text, name(dtype), shape_text(shape),
                       name(dtype_of(b.destination)), shape_text(other_shape));
  }
  const std::size_t i = first_unequal(a.bytes, b.bytes, static_cast<std::size_t>(size_of(dtype)));
  return fmt::format("{}\n  its result {}{} at {}: {}\n", text, name(dtype), shape_text(shape),
                     index_text(i, shape), values_text(dtype, a.bytes, b.bytes, i));
}

std::string compare_results(const Kernel& one, const Kernel& other, const RunRequest& request, const Trace& a,
                            const Trace& b) {
  for (std::size_t i = 0; i < a.results.size(); ++i) {
    const Tensor& tensor = one.program.tensors[i];
    for (std::size_t k = 0; k < b.results.size(); ++k) {
      const Tensor& twin = other.program.tensors[k];
      if (a.results[i].empty() || b.results[k].empty() || tensor.name != twin.name) continue;
      if (tensor.dtype != twin.dtype || tensor.shape != twin.shape) {
        return fmt::format("output {} and {} cannot be compared\n", describe(tensor), describe(twin));
      }
      if (a.results[i] == b.results[k]) continue;
      const auto width = static_cast<std::size_t>(size_of(tensor.dtype));
      const std::size_t at = first_unequal(a.results[i], b.results[k], width);
      const auto byte = static_cast<std::int64_t>(at * width);
      return fmt::format("output '{}' differs first at {}: {}\n  last written by {}\n  in the other by {}\n",
                         tensor.name, index_text(at, tensor.shape),
                         values_text(tensor.dtype, a.results[i], b.results[k], at),
                         last_writer(one, request, static_cast<std::uint16_t>(i), byte),
                         last_writer(other, request, static_cast<std::uint16_t>(k), byte));
    }
  }
  return {};
}

}  // namespace

std::string first_difference(const Kernel& one, const Kernel& other, const RunRequest& request) {
  const Trace a = trace(one, request), b = trace(other, request);
  std::array<std::vector<const Step*>, engine_count> twins;
  for (const Step& step : b.steps) twins[static_cast<std::size_t>(step.engine)].push_back(&step);

  std::array<std::size_t, engine_count> at{};
  for (const Step& step : a.steps) {
    const auto e = static_cast<std::size_t>(step.engine);
    const std::size_t n = at[e]++;
    const auto site = [&] { return describe_site(one.program, step.site); };
    if (n >= twins[e].size() || twins[e][n]->opcode != step.opcode) {
      const std::string what = n >= twins[e].size()
                                   ? std::string("nothing more")
                                   : fmt::format("{} ({})", info(twins[e][n]->opcode).mnemonic,
                                                 describe_site(other.program, twins[e][n]->site));
      const std::string results = compare_results(one, other, request, a, b);
      return fmt::format("the programs part at {} on {} ({}): the other executes {} there\n{}",
                         info(step.opcode).mnemonic, name(step.engine), site(), what,
                         results.empty() ? "outputs of the same name are equal\n" : results);
    }
    if (twins[e][n]->hash != step.hash) {
      return describe_effect(one, other, request, step, n, site(),
                             describe_site(other.program, twins[e][n]->site));
    }
  }
  return compare_results(one, other, request, a, b);
}

}  // namespace ncemu::command
