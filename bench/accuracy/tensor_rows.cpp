// The tensor engine: streams of matmuls, with a weight load before each where the row says so, and weight
// loads alone. The clock gate is off: intervals are compared with the 10th percentile, latencies with the
// minimum, which are those of an ungated array. An fp32 matmul is two instructions of the machine
// (datasheet 6.1), so a row's interval is half of ours; a transposing one is one.
#include "bench/accuracy/patterns.h"
#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"
#include "emu/timing/tensor_passes.h"

namespace ncemu::accuracy {
namespace {

MachineConfig ungated(const MachineConfig& machine) {
  MachineConfig open = machine;
  open.gate.window = 0;
  return open;
}

struct Shape {
  Matmul matmul;
  LoadStationary load;
  bool loads_between = true;
};

Replay stream_of(const Shape& shape, const MachineConfig& machine) {
  constexpr int repeats = 16;
  const Instruction load = instruction(Opcode::load_stationary, shape.load);
  const Instruction matmul = instruction(Opcode::matmul, shape.matmul);
  Streams streams(machine);
  if (shape.loads_between) {
    streams.add(Engine::tensor, {load, matmul}, repeats);
  } else {
    streams.add(Engine::tensor, {load}).add(Engine::tensor, {matmul}, repeats);
  }
  return replay(machine, streams.program());
}

// What the machine makes of one instruction of ours.
Ticks instructions_of(const Shape& shape, const MachineConfig& machine) {
  return passes(shape.matmul, machine.target.generation).matmuls;
}

double interval_of(const Shape& shape, const MachineConfig& machine) {
  const std::vector<Start> all = stream_of(shape, machine).of(Engine::tensor, Opcode::matmul);
  const Ticks apart = all.back().passage.start - all[all.size() - 2].passage.start;
  return ns_from_ticks(machine, apart) / static_cast<double>(instructions_of(shape, machine));
}

// Of the last instruction of the matmul.
double latency_of(const Shape& shape, const MachineConfig& machine) {
  const Start last = stream_of(shape, machine).of(Engine::tensor, Opcode::matmul).back();
  const Ticks interval = last.passage.busy_until - last.passage.start;
  const Ticks start = last.passage.busy_until - interval / instructions_of(shape, machine);
  return ns_from_ticks(machine, last.passage.complete - start);
}

// fp32 weights are two loads; the row is one of them.
double load_of(const LoadStationary& load, const MachineConfig& machine) {
  Streams streams(machine);
  streams.add(Engine::tensor, {instruction(Opcode::load_stationary, load)});
  const Cost cost = replay(machine, streams.program()).starts[0].front().cost;
  return ns_from_ticks(machine, cost.latency + cost.stream / loads(load, machine.target.generation));
}

AccessPattern operand(AccessPattern pattern, Space space, DType type, double partitions) {
  pattern.space = space;
  pattern.dtype = type;
  pattern.partitions = static_cast<std::uint8_t>(partitions);
  return pattern;
}

// The fast weight load is marked by a pattern that runs backwards; the model knows adjacent and apart.
LoadStationary load_of_columns(DType type, double rows, int columns, int step) {
  AccessPattern p = tile(Space::sbuf, type, static_cast<int>(rows), columns);
  p.dims[0].step = static_cast<std::int16_t>(step);
  return {p};
}

bool fits_array(double rows, double columns) {
  return rows >= 1 && rows <= 128 && columns >= 1 && columns <= 128;
}

int column_step(const AccessPattern& weights) { return std::max(1, std::abs(int{weights.dims[0].step})); }

// The same instructions in the table of weight loads: of one source, type and mode, and as many.
int weights_step(const Csv& rows, std::size_t row, const Csv* loads) {
  if (loads == nullptr || rows.number(row, "weights_loads_between").value_or(1) <= 0) return 1;
  for (std::size_t other = 0; other < loads->size(); ++other) {
    bool same = true;
    for (const char* column : {"hw", "dtype", "mode", "n", "repos"})
      same = same && rows.text(row, column) == loads->text(other, column);
    const std::optional<AccessPattern> weights = pattern_named(loads->text(other, "weights_ap"));
    if (same && weights) return column_step(*weights);
  }
  return 1;
}

const std::vector<std::string_view> tensor_sections = {"tensor", "stream"};

}  // namespace

Cases matmul_cases(const Csv& rows, const Csv* loads) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string& id = rows.text(row, "id");
    const std::string machine = machine_of(rows.text(row, "hw"));
    const std::optional<DType> type = dtype_named(rows.text(row, "dtype"));
    const std::optional<AccessPattern> moving = pattern_named(rows.text(row, "moving_ap"));
    const std::optional<AccessPattern> sums = pattern_named(rows.text(row, "psum_ap"));
    const std::optional<double> k = rows.number(row, "rows"), m = rows.number(row, "cols");
    std::string why;
    Shape shape;
    if (machine.empty() || !type || !moving || !sums || !k || !m) {
      why = "operands are not fully specified";
    } else if (!fits_array(*k, *m)) {
      why = "the array has 128 rows and 128 columns";
    } else {
      const bool transposes = contains(rows.text(row, "mode"), "transpose");
      shape.matmul.moving = operand(*moving, Space::sbuf, *type, *k);
      shape.matmul.dst = operand(*sums, Space::psum, transposes ? *type : DType::f32, *m);
      shape.load = load_of_columns(*type, *k, static_cast<int>(*m), weights_step(rows, row, loads));
      shape.load.src.offset = 64 * 1024;
      shape.matmul.transpose = shape.load.transpose = transposes;
      shape.loads_between = rows.number(row, "weights_loads_between").value_or(1) > 0;
    }
    const auto add = [&](const char* what, std::optional<double> measured, auto measure) {
      if (!measured) return;
      const std::string group = machine + " matmul " + what;
      if (!why.empty()) {
        cases.push_back(not_expressed(id, group, "ns", *measured, why));
        return;
      }
      cases.push_back(
          {.id = id,
           .group = group,
           .unit = "ns",
           .measured = *measured,
           .machine = machine,
           .predict = [shape, measure](const MachineConfig& c) { return measure(shape, ungated(c)); },
           .reason = {},
           .sections = tensor_sections});
    };
    add("interval", rows.number(row, "interval_p10_ns"), interval_of);
    add("latency", rows.number(row, "latency_min_ns"), latency_of);
  }
  return cases;
}

Cases weight_load_cases(const Csv& rows) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string& id = rows.text(row, "id");
    const std::string machine = machine_of(rows.text(row, "hw"));
    const std::string group = machine + " weight load";
    const std::optional<DType> type = dtype_named(rows.text(row, "dtype"));
    const std::optional<double> measured = rows.number(row, "p50_ns");
    const std::optional<double> k = rows.number(row, "rows"), m = rows.number(row, "cols");
    if (!measured) continue;
    const std::optional<AccessPattern> weights = pattern_named(rows.text(row, "weights_ap"));
    if (machine.empty() || !type || !k || !m || !weights) {
      cases.push_back(not_expressed(id, group, "ns", *measured, "operands are not fully specified"));
      continue;
    }
    if (!fits_array(*k, *m)) {
      cases.push_back(not_expressed(id, group, "ns", *measured, "the array has 128 rows and 128 columns"));
      continue;
    }
    LoadStationary load = load_of_columns(*type, *k, static_cast<int>(*m), column_step(*weights));
    load.transpose = contains(rows.text(row, "mode"), "transpose");
    cases.push_back({.id = id,
                     .group = group,
                     .unit = "ns",
                     .measured = *measured,
                     .machine = machine,
                     .predict = [load](const MachineConfig& c) { return load_of(load, ungated(c)); },
                     .reason = {},
                     .sections = tensor_sections});
  }
  return cases;
}

}  // namespace ncemu::accuracy
