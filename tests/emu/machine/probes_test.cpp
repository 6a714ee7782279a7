// What `.print` shows when a program runs: the values and their number follow from the text, in both modes
// with data. Expected values are worked out by hand.

#include "emu/machine/probes.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>

#include "emu/data/state.h"
#include "emu/machine/machine.h"
#include "isa/asm/assembler.h"
#include "isa/container.h"

using namespace ncemu;

namespace {

using Lines = std::vector<std::string>;

Program assembled(const std::string& source) {
  const Assembly assembly = assemble_text(source, "probes.nca");
  REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
  return assembly.program;
}

// The f32 values of a view that is one contiguous row.
std::string row(const MemoryOperand& view, const State& state) {
  std::vector<float> values;
  if (const auto* chip = std::get_if<AccessPattern>(&view)) {
    CHECK_FALSE(chip->index.present());
    values.resize(static_cast<std::size_t>(chip->elements()));
    const OnChipMemory& memory = chip->space == Space::sbuf ? state.sbuf : state.psum;
    std::memcpy(values.data(), memory.row(chip->partition) + chip->offset, values.size() * sizeof(float));
  } else {
    const auto& hbm = std::get<HbmPattern>(view);
    values.resize(static_cast<std::size_t>(hbm.elements()));
    const auto bytes =
        state.hbm.view(hbm.tensor, hbm.offset * 4, static_cast<std::int64_t>(values.size()) * 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return fmt::format("{}", fmt::join(values, " "));
}

// Inputs hold 5 everywhere.
Lines shown(const Program& program, Mode mode) {
  Lines lines;
  RunOptions options;
  options.mode = mode;
  options.on_probe = [&](const Probe& probe, State& state) {
    lines.push_back(fmt::format("{}: {}", probe.label, row(probe.view, state)));
  };
  Machine machine(builtin_machine("trn1"), program, options);
  for (std::uint16_t t = 0; t < program.tensors.size(); ++t) {
    if (program.tensors[t].kind != TensorKind::input) continue;
    const auto bytes = machine.state().hbm.edit(t, 0, machine.state().hbm.bytes(t));
    const std::vector<float> fives(bytes.size() / sizeof(float), 5.0F);
    std::memcpy(bytes.data(), fives.data(), bytes.size());
  }
  const RunResult result = machine.run();
  REQUIRE_MESSAGE(result.status == RunStatus::finished, result.message);
  return lines;
}

// The same in every mode with data, and after a container.
Lines shown(const std::string& source) {
  const Program program = assembled(source);
  const Lines lines = shown(program, Mode::timed);
  CHECK(shown(program, Mode::functional) == lines);
  CHECK(shown(read_container(write_container(program), "probes.ncb"), Mode::timed) == lines);
  return lines;
}

const std::string add_one = "tensor_scalar t, t, op0 = add, scalar0 = 1.0\n";
const std::string tile = ".sbuf t : f32[4, 2]\n";

}  // namespace

TEST_CASE("prints of a straight line show each value as it is there") {
  CHECK(shown(tile + "memset t, value = 1.0\n.print t[0:1, :]\n" + add_one + ".print t[0:1, :]\n" +
              add_one) == Lines{"t[0:1, :]: 1 1", "t[0:1, :]: 2 2"});
}

TEST_CASE("a print in a loop shows once per round, one behind it once") {
  CHECK(shown(tile + "memset t, value = 1.0\n.loop r = 0 .. 3\n  .print t[0:1, 0:1]\n" + add_one +
              ".end\n.print t[0:1, :]\n") ==
        Lines{"t[0:1, 0:1]: 1", "t[0:1, 0:1]: 2", "t[0:1, 0:1]: 3", "t[0:1, :]: 4 4"});
  CHECK(shown(tile + "memset t, value = 1.0\n.loop r = 0 .. 2\n" + add_one +
              "  .print t[0:1, 0:1]\n.end\n.print t[0:1, :]\n") ==
        Lines{"t[0:1, 0:1]: 2", "t[0:1, 0:1]: 3", "t[0:1, :]: 3 3"});
}

TEST_CASE("prints between nested loops know which of them they are in") {
  CHECK(shown(tile + "memset t, value = 0.0\n.loop r = 0 .. 2\n  .loop q = 0 .. 2\n" + add_one +
              "    .print t[0:1, 0:1]\n  .end\n  .print t[0:1, :]\n.end\n.print t[1:2, 0:1]\n") ==
        Lines{"t[0:1, 0:1]: 1", "t[0:1, 0:1]: 2", "t[0:1, :]: 2 2", "t[0:1, 0:1]: 3", "t[0:1, 0:1]: 4",
              "t[0:1, :]: 4 4", "t[1:2, 0:1]: 4"});
  // The outer loop writes, the inner one only reads.
  CHECK(shown(tile + ".sbuf u : f32[4, 2]\nmemset t, value = 0.0\n.loop r = 0 .. 2\n" + add_one +
              "  .loop q = 0 .. 2\n    tensor_copy u, t, engine = gpsimd\n    .print t[0:1, :]\n  "
              ".end\n.end\n") ==
        Lines{"t[0:1, :]: 1 1", "t[0:1, :]: 1 1", "t[0:1, :]: 2 2", "t[0:1, :]: 2 2"});
}

TEST_CASE("a loop that nobody enters is passed by its prints' engines all the same") {
  CHECK(shown(tile + "memset t, value = 1.0\n.loop r = 3 .. r9\n  .print t[0:1, 0:1]\n" + add_one +
              ".end\n.print t[0:1, :]\n") == Lines{"t[0:1, :]: 1 1"});
}

TEST_CASE("a loop that does not write the view shows it in each round") {
  CHECK(shown(tile + ".sbuf u : f32[4, 2]\nmemset t, value = 1.0\n.loop r = 0 .. 2\n  .print t[0:1, :]\n"
                     "  memset u, engine = gpsimd\n.end\n") == Lines{"t[0:1, :]: 1 1", "t[0:1, :]: 1 1"});
}

TEST_CASE("an unrolled loop shows each of its copies") {
  CHECK(shown(tile + "memset t, value = 0.0\n.loop r = 0 .. 3, unroll = 2\n" + add_one +
              "  .print t[0:1, :]\n.end\n") == Lines{"t[0:1, :]: 1 1", "t[0:1, :]: 2 2", "t[0:1, :]: 3 3"});
}

TEST_CASE("a view that two engines write shows when both have") {
  // The vector engine waits for the load, gpsimd for nothing.
  CHECK(shown(".input x : f32[4, 64]\n.sbuf big : f32[4, 64]\n" + tile +
              "dma_copy big, x\ntensor_reduce t[:, 0:1], big, op = add, engine = vector\n"
              "memset t[:, 1:2], value = 3.0, engine = gpsimd\n.print t[0:1, :]\n") ==
        Lines{"t[0:1, :]: 320 3"});
  CHECK(
      shown(".input x : f32[4, 64]\n.sbuf big : f32[4, 64]\n" + tile +
            ".loop r = 0 .. 2\n  dma_copy big, x\n  tensor_reduce t[:, 0:1], big, op = add, engine = vector\n"
            "  memset t[:, 1:2], value = 3.0, engine = gpsimd\n  .print t[0:1, :]\n.end\n") ==
      Lines{"t[0:1, :]: 320 3", "t[0:1, :]: 320 3"});
}

TEST_CASE("a write that follows the print in the text does not show, whoever makes it") {
  CHECK(shown(".input x : f32[4, 2]\n.sbuf u : f32[4, 2]\n" + tile +
              "memset t, value = 1.0, engine = vector\ndma_copy u, x\ntensor_copy u, u, engine = vector\n"
              ".print t[0:1, :]\nmemset t, value = 2.0, engine = gpsimd\n") == Lines{"t[0:1, :]: 1 1"});
}

TEST_CASE("a print before anything shows before anything runs") {
  CHECK(shown(".input x : f32[1, 2]\n" + tile + ".print x\nmemset t, value = 1.0\n") == Lines{"x: 5 5"});
}

TEST_CASE("a transfer shows in the tensor it writes") {
  CHECK(shown(".output y : f32[1, 2]\n" + tile +
              "memset t, value = 7.0\ndma_copy y, t[0:1, :]\n.print y\nmemset t, value = 8.0\n") ==
        Lines{"y: 7 7"});
}

TEST_CASE("of two tiles at one address the print of the first shows what the second wrote") {
  CHECK(shown(".input x : f32[4, 2]\n.sbuf a : f32[4, 2] @ offset = 0\n.sbuf b : f32[4, 2] @ offset = 0\n"
              "memset a, value = 1.0\ndma_copy b, x\n.print a[0:1, :]\n") == Lines{"a[0:1, :]: 5 5"});
}

TEST_CASE("an index of the view is the round's") {
  CHECK(shown(".sbuf t : f32[4, 4]\n.sbuf u : f32[4, 2]\nmemset t[:, 0:2], value = 1.0\n"
              "memset t[:, 2:4], value = 2.0\n.loop r = 0 .. 2\n"
              "  tensor_copy u, t[:, 2*r:+2], engine = vector\n  .print t[0:1, 2*r:+2]\n.end\n") ==
        Lines{"t[0:1, 2*r:+2]: 1 1", "t[0:1, 2*r:+2]: 2 2"});
}

TEST_CASE("a hand-written loop shows once per passage, and what is behind its block once") {
  const std::string block = ".engine vector\n  memset t, value = 0.0\n  register_move r1, 0\nagain:\n  " +
                            add_one +
                            "  .print t[0:1, :]\n  register_alu r1, r1, 1, op = add\n"
                            "  compare_branch r1, 3, op = lt, target = again\n.end\n.print t[0:1, 0:1]\n";
  const Lines expected = {"t[0:1, :]: 1 1", "t[0:1, :]: 2 2", "t[0:1, :]: 3 3", "t[0:1, 0:1]: 3"};
  CHECK(shown(".sync manual\n" + tile + block) == expected);
  CHECK(shown(tile + block) == expected);
}

TEST_CASE("hand-written streams show what each has written by its own order") {
  CHECK(shown(".sync manual\n.semaphore ready\n" + tile +
              "memset t[:, 0:1], value = 1.0, engine = vector wait ready >= 1\n"
              "memset t[:, 1:2], value = 2.0, engine = gpsimd signal ready += 1 @complete\n"
              ".print t[0:1, :]\n") == Lines{"t[0:1, :]: 1 2"});
}

TEST_CASE("a print behind a halt is not reached") {
  CHECK(shown(".sync manual\n" + tile +
              "memset t, value = 1.0, engine = vector\n.print t[0:1, :]\n"
              "halt engine = vector\nmemset t, value = 2.0, engine = vector\n.print t[0:1, 0:1]\n") ==
        Lines{"t[0:1, :]: 1 1"});
}

TEST_CASE("the k-th round shows when all that count rounds have arrived k times and the others at all") {
  std::vector<Probe> probes(1);
  probes[0].position = {no_index, 4, no_index, 2, 0};
  probes[0].rounds = EngineSet(Engine::vector) | Engine::gpsimd;
  ProbeWatch watch(probes);
  int count = 0;
  const auto show = [&](const Probe&) { ++count; };
  watch.begin(show);  // sync stands at its position
  const auto arrive = [&](Engine e, std::uint32_t index) {
    watch.arrive(e, index, show);
    return count;
  };
  CHECK(arrive(Engine::vector, 3) == 0);
  CHECK(arrive(Engine::vector, 4) == 0);
  CHECK(arrive(Engine::vector, 4) == 0);
  CHECK(arrive(Engine::gpsimd, 2) == 1);
  CHECK(arrive(Engine::gpsimd, 2) == 2);
  CHECK(arrive(Engine::gpsimd, 2) == 2);
  CHECK(arrive(Engine::vector, 4) == 3);
  CHECK_FALSE(watch.concerns(Engine::scalar));
}
