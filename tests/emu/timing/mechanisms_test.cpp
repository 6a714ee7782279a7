// Single mechanisms of the measured mode: the earliest legal moment, not a tick sooner, and what is left when
// the mechanism is switched off.

#include <doctest/doctest.h>

#include <string>

#include "emu/timing/engine_timeline.h"
#include "isa/fault.h"
#include "tests/emu/timing/shapes.h"

using namespace ncemu;
using namespace ncemu::shapes;

namespace {

constexpr DType f32 = DType::f32, bf16 = DType::bf16, f16 = DType::f16;

MachineConfig trn2(std::initializer_list<const char*> settings = {}) {
  MachineConfig m = builtin_machine("trn2");
  set_parameter(m, "gate.window=0");
  for (const char* s : settings) set_parameter(m, s);
  return m;
}

// Equal instructions one after the other, each as early as it can; in cycles of the engine.
struct Row {
  std::vector<Cycles> starts, durations;
};
Row repeated(const Instruction& i, Engine engine, int times, const MachineConfig& m) {
  const Ticks cycle = ticks_per_cycle(m, engine);
  EngineTimeline timeline(m);
  Row row;
  for (int k = 0; k < times; ++k) {
    const Cost c = cost(i, engine, m);
    const Ticks earliest = timeline.earliest_start(i, c);
    if (k > 0) {
      EngineTimeline sooner = timeline;
      CHECK_THROWS_AS(sooner.start(i, c, earliest - 1), Fault);
    }
    const Passage p = timeline.start(i, c, earliest);
    row.starts.push_back(p.start / cycle);
    row.durations.push_back((p.complete - p.start) / cycle);
  }
  return row;
}

}  // namespace

TEST_CASE("parts of words far apart leave the engine as the memory takes them, a queue of 46 in advance") {
  // 128 fp16 from PSUM, 36 bytes apart: 128 lines of 4 cycles. The engine is free when all but 46 are
  // written.
  const Instruction i = copy(sbuf(f16, 128, 18), psum(f16, 128));
  const Row row = repeated(i, Engine::vector, 4, trn2());
  CHECK(row.starts == std::vector<Cycles>{0, (128 - 46) * 4, (128 - 46) * 4 + 512, (128 - 46) * 4 + 1024});
  CHECK(row.durations[0] == 150 + 512);
  CHECK(row.durations[2] == 150 + 512 + 46 * 4);  // behind what is still in the queue
  // Without a queue the writes themselves are the interval, without the mechanism the stride's factor.
  CHECK(repeated(i, Engine::vector, 2, trn2({"vector.write_queue=0"})).starts[1] == 512);
  const Row off = repeated(i, Engine::vector, 2, trn2({"vector.write_line_k=0"}));
  CHECK(off.starts[1] == 2 * 128 + 70);
  CHECK(off.durations[1] == 150 + 2 * 128);
}

TEST_CASE("lines of 32 bytes are shared by elements 18 bytes apart, and whole words cost less") {
  const auto alone = [](const Instruction& i) {
    return repeated(i, Engine::vector, 1, trn2()).durations[0] - 150;
  };
  CHECK(alone(copy(sbuf(f16, 128, 9), sbuf(f16, 128))) == 4 * 128 * 18 / 32);
  CHECK(alone(copy(sbuf(f32, 100, 9), psum(f32, 100))) == 180);       // 1.8 cycles for each of 100 lines
  CHECK(alone(copy(sbuf(f32, 100, 4), psum(f32, 100))) == 100);       // 16 bytes are not far
  CHECK(alone(copy(psum(f16, 128, 18), sbuf(f16, 128))) == 2 * 128);  // not SBUF: the stride's factor
}

TEST_CASE("a second input in SBUF costs 4 cycles of the interval and 3 of the latency") {
  const Row two =
      repeated(tensor_tensor(sbuf(f32, 14), sbuf(f32, 14), sbuf(f32, 14)), Engine::vector, 2, trn2());
  const Row one =
      repeated(tensor_tensor(sbuf(f32, 14), sbuf(f32, 14), psum(f32, 14)), Engine::vector, 2, trn2());
  CHECK(two.starts[1] == one.starts[1] + 4);
  CHECK(two.durations[1] == one.durations[1] + 3);
  const MachineConfig off = trn2({"vector.pair_gap=0", "vector.pair_l0=0"});
  CHECK(repeated(tensor_tensor(sbuf(f32, 14), sbuf(f32, 14), sbuf(f32, 14)), Engine::vector, 2, off).starts ==
        one.starts);
}

TEST_CASE("a result of less than a column group takes 112 cycles longer and 8 between two") {
  const auto row = [](int columns, const MachineConfig& m) {
    return repeated(matmul(bf16, 128, columns), Engine::tensor, 3, m);
  };
  const Row whole = row(128, trn2()), few = row(31, trn2());
  CHECK(row(32, trn2()).durations == whole.durations);
  CHECK(few.durations[1] == whole.durations[1] + 112);
  CHECK(few.starts[2] - few.starts[1] == whole.starts[2] - whole.starts[1] + 8);
  CHECK(row(31, trn2({"tensor.few_columns=0"})).starts == whole.starts);
}

TEST_CASE("strided 16-bit weights load in 0.55 cycles per column and arrive 128 cycles later") {
  const MachineConfig m = trn2();
  const Cost strided = cost(load(bf16, 128, 18), Engine::tensor, m),
             plain = cost(load(bf16, 128), Engine::tensor, m);
  CHECK(strided.stream == 2 * 71);
  CHECK(plain.stream == 2 * 32);
  CHECK(strided.latency - plain.latency == 2 * 128);
  CHECK(cost(load(bf16, 128, 18), Engine::tensor,
             trn2({"tensor.load_strided_k=0.25", "tensor.load_strided_l0=210"}))
            .stream == plain.stream);
}

TEST_CASE("each engine's sequencer has its own times for control instructions, or the common one") {
  const auto ns = [](Opcode opcode, Engine e, const MachineConfig& m) {
    return ns_from_ticks(m, cost(instruction(opcode, default_operands(opcode)), e, m).interval);
  };
  const MachineConfig m = trn2();
  const double half_tick = 0.5 / 4.8;
  CHECK(std::abs(ns(Opcode::event_semaphore, Engine::tensor, m) - 52) <= half_tick);
  CHECK(std::abs(ns(Opcode::event_semaphore, Engine::gpsimd, m) - 19) <= half_tick);
  CHECK(std::abs(ns(Opcode::drain, Engine::scalar, m) - 7) <= half_tick);
  CHECK(std::abs(ns(Opcode::compare_branch, Engine::scalar, m) - 233) <= half_tick);
  CHECK(std::abs(ns(Opcode::dma_copy, Engine::gpsimd, m) - 31) <= half_tick);
  const MachineConfig off = trn2({"tensor.event_ns=0", "scalar.branch_ns=0"});
  CHECK(ns(Opcode::event_semaphore, Engine::tensor, off) == ns(Opcode::nop, Engine::tensor, off));
  CHECK(ns(Opcode::compare_branch, Engine::scalar, off) == ns(Opcode::compare_branch, Engine::tensor, off));
}
