// Control instructions: from issue to completion, against the minimum, since an event_semaphore's duration
// includes its waiting and the others queue behind it.
#include "bench/accuracy/patterns.h"
#include "bench/accuracy/replay.h"
#include "bench/accuracy/rows.h"

namespace ncemu::accuracy {
namespace {

struct Known {
  std::string_view measured, mnemonic;
};

// clang-format off
constexpr Known known[] = {
    {"NOP",                         "nop"},
    {"DRAIN",                       "drain"},
    {"NOTIFY",                      "notify"},
    {"EVENT_SEMAPHORE",             "event_semaphore"},
    {"EVENT_SEMAPHORE_RANGE_CLEAR", "semaphore_clear"},
    {"COMPARE_BRANCH",              "compare_branch"},
    {"WRITE",                       "write"},
    {"TENSOR_LOAD",                 "register_load"},
    {"DMA_DIRECT2D",                "dma_copy"},
};
// clang-format on

std::optional<Engine> engine_named(std::string_view text) {
  for (const Engine e : all_engines) {
    std::string spelled(name(e));
    spelled.front() = static_cast<char>(spelled.front() - 'a' + 'A');
    if (text == spelled || (text == "GpSimd" && e == Engine::gpsimd)) return e;
  }
  return std::nullopt;
}

// The instruction issues, and a nop behind it shows when the engine is free again.
double busy_of(Opcode opcode, Engine engine, const MachineConfig& machine) {
  Streams streams(machine);
  Operands operands = default_operands(opcode);
  if (auto* load = std::get_if<RegisterLoad>(&operands)) {
    load->dst = {1};
    load->src = rows_of(streams.tensor(DType::i32, {1}), DType::i32, 1, 1);
  }
  if (auto* branch = std::get_if<CompareBranch>(&operands)) branch->target = {1};  // always taken, to the nop
  if (auto* write = std::get_if<Write>(&operands)) write->address0 = 0x1000;
  if (auto* copy = std::get_if<DmaCopy>(&operands)) {
    copy->src = rows_of(streams.tensor(DType::f32, {128, 128}), DType::f32, 128, 128);
    copy->dst = tile(Space::sbuf, DType::f32, 128, 128);
    // The measured machine generates descriptors: in hardware, on gpsimd by its program.
    copy->mode = engine == Engine::gpsimd ? DgeMode::software : DgeMode::hardware;
  }
  Instruction measured = instruction(opcode, operands);
  if (opcode == Opcode::dma_copy) measured.update = {.semaphore = 0, .operation = UpdateOperation::sem_inc};
  streams.add(engine, {measured, instruction(Opcode::nop)});
  // A register's value decides where a stream goes, so loading one needs data.
  const Mode mode = opcode == Opcode::register_load ? Mode::timed : Mode::timing_only;
  const Replay run = replay(machine, streams.program(), mode);
  const std::vector<Start>& starts = run.starts[static_cast<std::size_t>(engine)];
  return ns_from_ticks(machine, starts[1].passage.start - starts[0].passage.start);
}

}  // namespace

Cases control_cases(const Csv& rows) {
  Cases cases;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::string machine = machine_of(rows.text(row, "hw"));
    const std::string& opcode = rows.text(row, "opcode");
    const std::string id = rows.text(row, "hw") + " " + rows.text(row, "engine") + " " + opcode;
    const std::string group = machine + " control";
    const std::optional<double> measured = rows.number(row, "min_ns");
    if (!measured) continue;
    const std::optional<Engine> engine = engine_named(rows.text(row, "engine"));
    const InstructionInfo* found = nullptr;
    for (const Known& k : known) {
      if (opcode == k.measured) found = find_instruction(k.mnemonic);
    }
    if (machine.empty() || !engine || found == nullptr) {
      cases.push_back(not_expressed(id, group, "ns", *measured, "the instruction set has no " + opcode));
      continue;
    }
    cases.push_back(
        {.id = id,
         .group = group,
         .unit = "ns",
         .measured = *measured,
         .machine = machine,
         .predict = [what = found->opcode,
                     e = *engine](const MachineConfig& m) { return busy_of(what, e, m); },
         .reason = {},
         .sections = {"control", "dma", "fetch", "tensor", "vector", "scalar", "gpsimd", "sync"}});
  }
  return cases;
}

}  // namespace ncemu::accuracy
