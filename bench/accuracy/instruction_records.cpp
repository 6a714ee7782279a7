// Single records of instructions. A record is known by the words of its item, never by its id, so that other
// measurements of the same kind are read as well.
#include "bench/accuracy/patterns.h"
#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"

namespace ncemu::accuracy {
namespace {

Instruction one_element_activation() {
  Activation a;
  a.dst = tile(Space::sbuf, DType::f32, 128, 1, 1024);
  a.src = tile(Space::sbuf, DType::f32, 128, 1);
  return instruction(Opcode::activation, a);
}

double activation_latency(const MachineConfig& m) {
  Streams streams(m);
  streams.add(Engine::scalar, {one_element_activation()});
  const Passage p = replay(m, streams.program()).starts[2].front().passage;
  return ns_from_ticks(m, p.complete - p.start);
}

// Each waits on the one before it through a semaphore.
Program dependent_chain(const MachineConfig& m, Engine engine, Instruction i) {
  Streams streams(m);
  i.update = {.semaphore = 1, .operation = UpdateOperation::sem_inc};
  streams.add(engine, {i});
  for (std::uint16_t n = 1; n < 4; ++n) {
    i.wait = {.semaphore = 1, .condition = Comparison::ge, .value = n};
    streams.add(engine, {i});
  }
  return streams.program();
}

double activation_chain(const MachineConfig& m) {
  const Replay r = replay(m, dependent_chain(m, Engine::scalar, one_element_activation()));
  return ns_from_ticks(m, r.starts[2][3].passage.start - r.starts[2][2].passage.start);
}

double vector_turn(const MachineConfig& m) {
  const Unary copy{tile(Space::sbuf, DType::f32, 128, 128, 4096), tile(Space::sbuf, DType::f32, 128, 128)};
  const Replay r = replay(m, dependent_chain(m, Engine::vector, instruction(Opcode::tensor_copy, copy)));
  return ns_from_ticks(m, r.starts[1][3].passage.start - r.starts[1][2].passage.complete);
}

std::string_view text_behind(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + word.size());
}

LoadStationary weights(int columns) { return {tile(Space::sbuf, DType::bf16, 128, columns)}; }

double weight_load(const MachineConfig& m, int columns) {
  Streams streams(m);
  streams.add(Engine::tensor, {instruction(Opcode::load_stationary, weights(columns))});
  const Passage p = replay(m, streams.program()).starts[0].front().passage;
  return ns_from_ticks(m, p.complete - p.start);
}

Replay matmuls(const MachineConfig& m, int columns, int n, int repeats, DType sums = DType::f32) {
  Streams streams(m);
  const Matmul matmul{.dst = tile(Space::psum, sums, columns, n),
                      .moving = tile(Space::sbuf, DType::bf16, 128, n, 64 * 1024)};
  streams.add(Engine::tensor, {instruction(Opcode::load_stationary, weights(columns))});
  streams.add(Engine::tensor, {instruction(Opcode::matmul, matmul)}, repeats);
  return replay(m, streams.program());
}

double matmul_latency(const MachineConfig& m, int columns, int n, DType sums) {
  MachineConfig open = m;
  open.gate.window = 0;
  const Passage p = matmuls(open, columns, n, 1, sums).of(Engine::tensor, Opcode::matmul).front().passage;
  return ns_from_ticks(m, p.complete - p.start);
}

// In cycles of the base clock.
double shortest_matmul_interval(const MachineConfig& m) {
  const std::vector<Start> all = matmuls(m, 128, 1, 8).of(Engine::tensor, Opcode::matmul);
  return core_cycles(m, all[7].passage.start - all[6].passage.start);
}

// How long a busy array stays gated: one window of the grid.
double gated_time(const MachineConfig& m) {
  for (const Start& s : matmuls(m, 128, 512, 64).of(Engine::tensor, Opcode::matmul)) {
    if (s.passage.gated == 0) {
      const Ticks window = m.gate.window * ticks_per_core_cycle(m);
      return ns_from_ticks(m, window == 0 ? 0 : s.passage.start / window * window);
    }
  }
  return 0;
}

double trigger_time(const MachineConfig& m) {
  Streams streams(m);
  DmaCopy copy;
  copy.mode = DgeMode::hardware;
  copy.src = rows_of(streams.tensor(DType::f32, {128, 128}), DType::f32, 128, 128);
  copy.dst = tile(Space::sbuf, DType::f32, 128, 128);
  Instruction i = instruction(Opcode::dma_copy, copy);
  i.update = {.semaphore = 0, .operation = UpdateOperation::sem_inc};
  streams.add(Engine::sync, {i, instruction(Opcode::nop)});
  const Replay r = replay(m, streams.program());
  return ns_from_ticks(m, r.starts[4][1].passage.start - r.starts[4][0].passage.start);
}

}  // namespace

std::optional<Case> instruction_record(const Csv& rows, std::size_t row) {
  const std::string& item = rows.text(row, "item");
  const std::string& unit = rows.text(row, "unit");
  const std::vector<double> values = numbers_in(rows.text(row, "value"));
  Case c{.id = rows.text(row, "id"),
         .group = "instruction records",
         .unit = unit,
         .machine = machine_of(rows.text(row, "hw")),
         .predict = {},
         .reason = {},
         .sections = {"tensor", "scalar", "vector", "semaphore", "gate", "dma", "control"}};
  if (!values.empty()) c.measured = values.front();
  if (unit == "range" || rows.text(row, "stat") == "range") {
    if (values.size() == 2) c.measured = (values[0] + values[1]) / 2;
  }
  if (c.machine.empty()) {
    c.reason = "the generation is not stated";
  } else if (contains(item, "ACTIVATE chain")) {
    c.predict = activation_chain;
  } else if (contains(item, "ACTIVATE")) {
    c.predict = activation_latency;
  } else if (contains(item, "LDWEIGHTS") && contains(item, "column")) {
    const auto columns = static_cast<int>(whole_number(number_in(text_behind(item, ",")), 1, 128, "columns"));
    c.predict = [columns](const MachineConfig& m) { return weight_load(m, columns); };
  } else if (contains(item, "MATMUL bf16, moving free size")) {
    const std::string& spec = rows.text(row, "spec");
    const auto columns = static_cast<int>(whole_number(number_in(spec, 1), 1, 128, "columns"));
    const auto n =
        static_cast<int>(whole_number(number_in(text_behind(item, "size")), 1, 512, "a moving size"));
    c.predict = [=](const MachineConfig& m) { return matmul_latency(m, columns, n, DType::f32); };
  } else if (contains(item, "transpose bf16 128x128")) {
    c.predict = [](const MachineConfig& m) { return matmul_latency(m, 128, 128, DType::bf16); };
  } else if (contains(item, "minimum matmul initiation interval")) {
    c.predict = shortest_matmul_interval;
  } else if (contains(item, "DMA_DIRECT2D")) {
    c.predict = trigger_time;
  } else if (contains(item, "same-engine dependent ops on VectorE")) {
    c.predict = vector_turn;
  } else if (contains(item, "clock gate: initial state")) {
    c.predict = gated_time;
  } else if (contains(item, "clock gate trace")) {
    c.reason = "the state over time of a kernel that is not among ours";
  } else {
    return std::nullopt;
  }
  return c;
}

}  // namespace ncemu::accuracy
