#include "bench/accuracy/replay.h"

#include <algorithm>

#include "emu/timing/tensor_passes.h"
#include "isa/asm/assembler.h"
#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

class Listener : public Observer {
 public:
  Listener(Replay& replay, const MachineConfig& machine, Keep keep)
      : replay_(replay), generation_(machine.target.generation), keep_(keep == Keep::events) {}

  void on_start(const Started& s) override {
    if (const auto* matmul = std::get_if<Matmul>(&s.instruction->operands))
      replay_.matmuls += passes(*matmul, generation_).matmuls;
    if (keep_) {
      replay_.starts[static_cast<std::size_t>(s.engine)].push_back(
          {s.instruction->opcode, s.cost, s.passage});
    }
  }
  void on_transfer(const TransferStarted& t) override {
    replay_.hbm_read += t.work->hbm_read;
    replay_.hbm_written += t.work->hbm_written;
    into_hbm_.push_back(t.work->hbm_written > 0);
    if (keep_) replay_.triggers.push_back(t.trigger);
  }
  void on_dma(const DmaService::Event& e) override {
    const bool into_hbm = into_hbm_.at(e.transfer);
    const std::size_t side = into_hbm ? 1 : 0;
    if (e.kind == DmaService::Event::Kind::engine_done) {
      replay_.last_increment[side] = std::max(replay_.last_increment[side], e.end);
      return;
    }
    if (!seen_[side] || e.begin < replay_.first_begin[side]) replay_.first_begin[side] = e.begin;
    seen_[side] = true;
    if (keep_) replay_.packets.push_back({e, into_hbm});
  }

 private:
  Replay& replay_;
  int generation_;
  bool keep_;
  std::array<bool, 2> seen_{};
  std::vector<bool> into_hbm_;
};

// Begin to end of a semaphore's packet in a trace (measured rows: 71 to 77 ns on trn1, 131 to 138 ns on
// trn2).
double semaphore_packet_ns(int generation) { return generation == 2 ? 71 : 131; }

}  // namespace

std::vector<Start> Replay::of(Engine engine, Opcode opcode) const {
  std::vector<Start> found;
  for (const Start& s : starts[static_cast<std::size_t>(engine)]) {
    if (s.opcode == opcode) found.push_back(s);
  }
  return found;
}

Replay replay(const MachineConfig& machine, const Program& program, Mode mode, Keep keep) {
  Replay result;
  Listener listener(result, machine, keep);
  RunOptions options;
  options.mode = mode;
  Machine run(machine, program, std::move(options));
  run.add(listener);
  const RunResult outcome = run.run();
  if (outcome.status != RunStatus::finished)
    throw Fault(FaultKind::program, program.name, "the run did not finish: {}", outcome.message);
  result.total = outcome.total;
  result.shown_after =
      ticks_from_ns(machine, semaphore_packet_ns(machine.target.generation) - machine.dma.t_sem_ns);
  return result;
}

Streams::Streams(const MachineConfig& machine) {
  program_.name = "measured row";
  program_.target = machine.target;
  program_.synchronised = true;
}

Streams& Streams::add(Engine engine, std::initializer_list<Instruction> sequence, int times) {
  std::vector<Instruction>& stream = program_.stream(engine);
  for (int i = 0; i < times; ++i) stream.insert(stream.end(), sequence.begin(), sequence.end());
  return *this;
}

std::uint16_t Streams::tensor(DType dtype, std::vector<std::int64_t> shape) {
  Tensor t;
  t.name = "t" + std::to_string(program_.tensors.size());
  t.dtype = dtype;
  t.shape = std::move(shape);
  program_.tensors.push_back(std::move(t));
  return static_cast<std::uint16_t>(program_.tensors.size() - 1);
}

Instruction instruction(Opcode opcode, Operands operands) {
  Instruction i;
  i.opcode = opcode;
  i.operands = std::move(operands);
  return i;
}

Program assemble_kernel(const std::string& path, const MachineConfig& machine, const KernelParams& params) {
  AssembleOptions options;
  options.target = machine.target;
  for (const auto& [name, value] : params) options.params[name] = value;
  Assembly assembly = assemble_file(path, options);
  if (!assembly.ok()) throw Fault(FaultKind::input, path, "{}", assembly.diagnostics.text());
  return std::move(assembly.program);
}

}  // namespace ncemu::accuracy
