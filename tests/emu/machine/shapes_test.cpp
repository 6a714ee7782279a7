// Instructions of one shape cost the same, so that the machine may ask once for all of them.

#include "emu/machine/shapes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "emu/machine/resolve.h"
#include "emu/timing/cost.h"
#include "emu/timing/ports.h"
#include "tests/support/library.h"
#include "tests/support/random_instruction.h"

using namespace ncemu;
using ncemu::test::RandomInstructions;

namespace {

// Everything the machine keeps for a shape.
auto all_of(const Instruction& i, Engine engine, const MachineConfig& machine) {
  const Cost c = cost(i, engine, machine);
  const Work w = work(i);
  const PortUse ports = port_use(i, engine, machine);
  return std::tuple(c.interval, c.stream, c.latency, c.write, c.write_ahead, w.elements, w.flops, w.sbuf_read,
                    w.sbuf_written, w.psum_read, w.psum_written, ports.of_banks(),
                    ports.of_banks() ? PortUse{} : ports, needs_resolving(i));
}

// Moves operands elsewhere; everything else stays.
struct Elsewhere {
  RandomInstructions& random;
  void operator()(std::string_view, AccessPattern& p, Role) const { move(p); }
  void operator()(std::string_view, std::optional<AccessPattern>& p, Role) const {
    if (p) move(*p);
  }
  void operator()(std::string_view, MemoryOperand& m, Role) const {
    std::visit([&](auto& p) { move(p); }, m);
  }
  void operator()(std::string_view, ScalarOperand& s, Role) const {
    if (auto* p = std::get_if<PointerOperand>(&s)) {
      p->offset += 4 * static_cast<std::uint32_t>(random.below(1000));
      p->place = static_cast<PlaceId>(random.below(9));
    }
  }
  template <typename T>
  void operator()(std::string_view, T&, Role) const {}

 private:
  void move(AccessPattern& p) const {
    p.offset += 4 * static_cast<std::uint32_t>(random.below(1000));
    p.place = static_cast<PlaceId>(random.below(9));
    if (p.index.present()) p.index.number = static_cast<std::uint8_t>(random.below(64));
  }
  void move(HbmPattern& p) const {
    p.offset += static_cast<std::int64_t>(random.below(1000));
    p.tensor = static_cast<std::uint16_t>(random.below(3));
  }
};

// Changes the n-th count of a dimension, if there are so many.
struct Longer {
  int n;
  bool done = false;
  void operator()(std::string_view, AccessPattern& p, Role) { change(p.dims[0].count); }
  void operator()(std::string_view, std::optional<AccessPattern>& p, Role) {
    if (p) change(p->dims[0].count);
  }
  void operator()(std::string_view, MemoryOperand& m, Role) {
    std::visit([&](auto& p) { change(p.dims[0].count); }, m);
  }
  template <typename T>
  void operator()(std::string_view, T&, Role) {}

 private:
  void change(auto& count) {
    if (n-- != 0) return;
    ++count;
    done = true;
  }
};

}  // namespace

TEST_CASE("an instruction whose operands lie elsewhere has the same shape, cost, work and ports") {
  for (const char* name : {"trn1", "trn2"}) {
    const MachineConfig machine = builtin_machine(name);
    RandomInstructions random(11, machine.target);
    Shapes shapes;
    for (int round = 0; round < 4000; ++round) {
      const RandomInstructions::Sample sample = random.next();
      Instruction moved = sample.instruction;
      for_each_field(moved.operands, Elsewhere{random});
      moved.site = 7;
      moved.update = {};
      INFO(name, " round ", round, " ", info(moved.opcode).mnemonic);
      CHECK(shapes.number(moved) == shapes.number(sample.instruction));
      CHECK(all_of(moved, sample.engine, machine) == all_of(sample.instruction, sample.engine, machine));
    }
  }
}

TEST_CASE("an instruction with one more element has another shape") {
  const MachineConfig machine = builtin_machine("trn1");
  RandomInstructions random(12, machine.target);
  Shapes shapes;
  int changed = 0;
  for (int round = 0; round < 4000; ++round) {
    const Instruction instruction = random.next().instruction;
    const Shapes::Number number = shapes.number(instruction);
    for (int n = 0; n < 3; ++n) {
      Instruction longer = instruction;
      Longer change{n};
      for_each_field(longer.operands, change);
      if (!change.done) continue;
      ++changed;
      INFO("round ", round, " operand ", n, " of ", info(instruction.opcode).mnemonic);
      CHECK(shapes.number(longer) != number);
    }
  }
  CHECK(changed > 4000);
}

TEST_CASE("instructions of one shape cost the same in every kernel of the library, and shapes are few") {
  std::size_t instructions = 0, shapes_in_all = 0;
  for (const test::LibraryKernel& kernel : test::small_library()) {
    const Program program = test::assemble_kernel(kernel.file, kernel.params, kernel.machine);
    const MachineConfig machine = builtin_machine(kernel.machine);
    for (const Engine e : all_engines) {
      Shapes shapes;
      std::map<Shapes::Number, const Instruction*> first;
      for (const Instruction& i : program.stream(e)) {
        const auto [known, fresh] = first.try_emplace(shapes.number(i), &i);
        INFO(kernel.file, " ", name(e), " ", info(i.opcode).mnemonic);
        CHECK(all_of(i, e, machine) == all_of(*known->second, e, machine));
        ++instructions;
      }
      shapes_in_all += shapes.size();
    }
  }
  CHECK(shapes_in_all < instructions / 2);
}
