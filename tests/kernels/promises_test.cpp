// The promises of the design (function and time), over every kernel of the library on every machine.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "emu/data/state.h"
#include "emu/data/vector_target.h"
#include "emu/machine_config.h"
#include "emu/observe/summary.h"
#include "isa/asm/assembler.h"
#include "isa/codec.h"
#include "isa/text.h"
#include "tests/support/kernel.h"
#include "tests/support/library.h"
#include "tests/support/sequential.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Each kernel runs on trn2 and on inf2 or trn1, by turns: those two share a core model.
void for_each_kernel(auto&& check) {
  const std::vector<LibraryKernel>& kernels = small_library();
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const LibraryKernel& kernel = kernels[i];
    for (const std::string machine : {i % 2 == 0 ? "inf2" : "trn1", "trn2"}) {
      if (machine != "trn2" && kernel.machine == "trn2") continue;
      CAPTURE(kernel.file);
      CAPTURE(machine);
      check(kernel, machine);
    }
  }
}

std::map<std::string, Bytes> inputs(const Program& program) {
  std::map<std::string, Bytes> all;
  std::uint32_t seed = 11;
  for (const Tensor& t : program.tensors) {
    if (t.kind != TensorKind::input && t.kind != TensorKind::inout) continue;
    std::vector<float> values = random_values(static_cast<std::size_t>(t.elements()), seed++);
    // Integers are row numbers and counts: small ones.
    if (is_integer(t.dtype)) {
      for (float& value : values) value = std::abs(value);
    }
    all[t.name] = to_bytes(t.dtype, values);
  }
  return all;
}

KernelResult run(const Program& program, Mode mode) {
  RunOptions options;
  options.mode = mode;
  return run_program(program, inputs(program), options);
}

Summary summarise(const Program& program, Mode mode) {
  const MachineConfig config = builtin_machine(program.target.machine);
  RunOptions options;
  options.mode = mode;
  Machine machine(config, program, options);
  if (has_data(mode)) {
    const auto bytes = inputs(program);
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const auto found = bytes.find(program.tensors[i].name);
      if (found != bytes.end()) machine.state().hbm.write(static_cast<std::uint16_t>(i), 0, found->second);
    }
  }
  SummaryObserver observer(config);
  machine.add(observer);
  machine.run();
  return observer.summary();
}

// What a run tells of its values.
struct Values : Observer {
  void on_numeric(const NumericEvent& e) override {
    events.push_back(fmt::format("{} {} {} [{}, {}] {} x{}", name(e.engine), e.index, e.what, e.partition,
                                 e.element, e.value.value_or(0), e.count));
  }
  std::vector<std::string> events;
};

struct Watched {
  RunResult run;
  std::vector<Bytes> outputs;
  std::vector<std::string> events;
};

// On inputs so large that values saturate, leave the ranges of functions and overflow.
Watched watched(const Program& program, int threads) {
  RunOptions options;
  options.threads = threads;
  options.share_from = 256;
  options.watch_values = true;
  Machine machine(builtin_machine(program.target.machine), program, options);
  Values values;
  machine.add(values);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const Tensor& t = program.tensors[i];
    if (t.kind != TensorKind::input && t.kind != TensorKind::inout) continue;
    Bytes bytes = inputs(program).at(t.name);
    if (is_float(t.dtype))
      bytes = to_bytes(t.dtype, random_values(static_cast<std::size_t>(t.elements()), 5, 300.0F));
    machine.state().hbm.write(static_cast<std::uint16_t>(i), 0, bytes);
  }
  Watched result{.run = machine.run(), .outputs = {}, .events = {}};
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    Bytes bytes(static_cast<std::size_t>(program.tensors[i].bytes()));
    machine.state().hbm.read(static_cast<std::uint16_t>(i), 0, bytes);
    result.outputs.push_back(std::move(bytes));
  }
  result.events = values.events;
  return result;
}

std::vector<Word> words(const Program& program) {
  std::vector<Word> all;
  for (const auto& stream : program.streams) {
    for (const Instruction& i : stream) all.push_back(encode(i));
  }
  return all;
}

}  // namespace

TEST_CASE("functional and timed runs leave the outputs of the text executed in sequence") {
  for_each_kernel([](const LibraryKernel& kernel, const std::string& machine) {
    const Program text = kernel_in_text_order(kernel.file, kernel.params, machine);
    State oracle(text);
    const auto bytes = inputs(text);
    for (std::size_t i = 0; i < text.tensors.size(); ++i) {
      const auto found = bytes.find(text.tensors[i].name);
      if (found != bytes.end()) oracle.hbm.write(static_cast<std::uint16_t>(i), 0, found->second);
    }
    run_sequentially(text, oracle);
    const Program program = assemble_kernel(kernel.file, kernel.params, machine);
    for (const Mode mode : {Mode::functional, Mode::timed}) {
      const KernelResult result = run(program, mode);
      REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
      for (std::size_t i = 0; i < text.tensors.size(); ++i) {
        const TensorKind kind = text.tensors[i].kind;
        if (kind != TensorKind::output && kind != TensorKind::inout) continue;
        Bytes expected(static_cast<std::size_t>(text.tensors[i].bytes()));
        oracle.hbm.read(static_cast<std::uint16_t>(i), 0, expected);
        CHECK((result.outputs.at(text.tensors[i].name) == expected));
      }
    }
  });
}

TEST_CASE("no legal timing that was tried changes an output") {
  for_each_kernel([](const LibraryKernel& kernel, const std::string& machine) {
    const Program program = assemble_kernel(kernel.file, kernel.params, machine);
    const auto expected = run(program, Mode::functional).outputs;
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const auto random = std::make_shared<std::mt19937_64>(seed);
      RunOptions options;
      options.perturb = [random](const Instruction&, Engine, Cost& cost) {
        cost.interval = 1 + static_cast<Ticks>((*random)() % 5000);
        cost.stream = 1 + static_cast<Ticks>((*random)() % 5000);
        cost.latency = static_cast<Ticks>((*random)() % 5000);
      };
      options.perturb_transfer = [random](const Instruction&, Engine, Ticks& delay) {
        delay += static_cast<Ticks>((*random)() % 50000);
      };
      const KernelResult result = run_program(program, inputs(program), options);
      REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
      CHECK((result.outputs == expected));
    }
  });
}

TEST_CASE("timed and timing-only runs agree to the tick, and a second run with the first") {
  for_each_kernel([](const LibraryKernel& kernel, const std::string& machine) {
    const Program program = assemble_kernel(kernel.file, kernel.params, machine);
    const KernelResult timed = run(program, Mode::timed);
    CHECK(timed.run.total > 0);
    CHECK(run(program, Mode::timing_only).run.total == timed.run.total);
    const KernelResult again = run(program, Mode::timed);
    CHECK(again.run.total == timed.run.total);
    CHECK((again.outputs == timed.outputs));
  });
}

TEST_CASE("timed and timing-only runs count the same") {
  for_each_kernel([](const LibraryKernel& kernel, const std::string& machine) {
    const Program program = assemble_kernel(kernel.file, kernel.params, machine);
    const Summary a = summarise(program, Mode::timed), b = summarise(program, Mode::timing_only);
    CHECK(a.instructions == b.instructions);
    CHECK(a.hardware_flops == b.hardware_flops);
    CHECK(a.dma.bytes == b.dma.bytes);
    CHECK(a.dma.active == b.dma.active);
    for (const Engine e : all_engines) {
      CHECK(a.engine(e).busy == b.engine(e).busy);
      CHECK(a.engine(e).active == b.engine(e).active);
      CHECK(a.engine(e).stalled == b.engine(e).stalled);
    }
  });
}

TEST_CASE("busy, stalled and idle of every engine are the total, to the tick") {
  for_each_kernel([](const LibraryKernel& kernel, const std::string& machine) {
    const Summary s = summarise(assemble_kernel(kernel.file, kernel.params, machine), Mode::timing_only);
    for (const Engine e : all_engines) {
      CHECK(s.engine(e).busy + s.engine(e).stalled_in_all() + s.engine(e).idle == s.total);
    }
    if (s.mfu_estimated_percent) {
      CHECK(*s.mfu_estimated_percent > 0);
      CHECK(*s.mfu_estimated_percent <= 100);
    }
  });
}

TEST_CASE("threads change no output, no tick and nothing that is reported of values") {
  std::size_t reported = 0;
  int threads = 2;
  for_each_kernel([&](const LibraryKernel& kernel, const std::string& machine) {
    const Program program = assemble_kernel(kernel.file, kernel.params, machine);
    const Watched one = watched(program, 1), shared = watched(program, threads);
    REQUIRE_MESSAGE(one.run.status == RunStatus::finished, one.run.message);
    CHECK(shared.run.total == one.run.total);
    CHECK((shared.outputs == one.outputs));
    CHECK(shared.events == one.events);
    reported += one.events.size();
    threads = 5 - threads;  // 2 and 3 by turns
  });
  MESSAGE(reported, " reports");
  CHECK(reported > 0);
}

TEST_CASE("a kernel disassembles to source of the same words, tensors and constants") {
  for_each_kernel([](const LibraryKernel& kernel, const std::string& machine) {
    const Program program = assemble_kernel(kernel.file, kernel.params, machine);
    const Assembly again = assemble_text(disassemble(program), "again.nca");
    REQUIRE_MESSAGE(again.ok(), again.diagnostics.text());
    CHECK((words(again.program) == words(program)));
    REQUIRE(again.program.tensors.size() == program.tensors.size());
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const Tensor &a = again.program.tensors[i], &b = program.tensors[i];
      CHECK((a.name == b.name && a.kind == b.kind && a.dtype == b.dtype && a.shape == b.shape &&
             a.data == b.data));
    }
  });
}

TEST_CASE("results are the same bits on every vector target of the host") {
  const Program gemm = assemble_kernel("fp8_gemm.nca", {{"M", "200"}, {"K", "300"}, {"N", "530"}}, "trn1");
  const Program softmax = assemble_kernel("softmax.nca", {{"R", "700"}, {"C", "130"}}, "trn2");
  restrict_vector_targets("scalar");
  const auto expected_gemm = run(gemm, Mode::functional).outputs;
  const auto expected_softmax = run(softmax, Mode::functional).outputs;
  for (const char* target : {"avx2", "best"}) {
    restrict_vector_targets(target);
    CHECK((run(gemm, Mode::functional).outputs == expected_gemm));
    CHECK((run(softmax, Mode::functional).outputs == expected_softmax));
  }
}
