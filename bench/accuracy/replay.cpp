#include "bench/accuracy/replay.h"

#include <algorithm>

#include "isa/asm/assembler.h"
#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

class Listener : public Observer {
 public:
  explicit Listener(Replay& replay) : replay_(replay) {}

  void on_start(const Started& s) override {
    replay_.starts[static_cast<std::size_t>(s.engine)].push_back({s.instruction->opcode, s.cost, s.passage});
  }
  void on_transfer(const TransferStarted& t) override {
    replay_.triggers.push_back(t.trigger);
    into_hbm_.push_back(t.work->hbm_written > 0);
  }
  void on_dma(const DmaService::Event& e) override {
    if (e.kind == DmaService::Event::Kind::packet) {
      replay_.packets.push_back({e, into_hbm_.at(e.transfer)});
    } else {
      replay_.increments.push_back({e.end, into_hbm_.at(e.transfer)});
    }
  }

 private:
  Replay& replay_;
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

Ticks Replay::first_packet(bool into_hbm) const {
  Ticks first = total;
  for (const Packet& p : packets) {
    if (p.into_hbm == into_hbm) first = std::min(first, p.event.begin);
  }
  return first;
}

Ticks Replay::last_packet(bool into_hbm) const {
  Ticks last = 0;
  for (const Increment& i : increments) {
    if (i.into_hbm == into_hbm) last = std::max(last, i.at);
  }
  return last + shown_after;
}

Replay replay(const MachineConfig& machine, const Program& program, Mode mode) {
  Replay result;
  Listener listener(result);
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

Program assemble_kernel(const std::string& path, const MachineConfig& machine,
                        std::initializer_list<std::pair<const char*, std::int64_t>> params) {
  AssembleOptions options;
  options.target = machine.target;
  for (const auto& [name, value] : params) options.params[name] = std::to_string(value);
  Assembly assembly = assemble_file(path, options);
  if (!assembly.ok()) throw Fault(FaultKind::input, path, "{}", assembly.diagnostics.text());
  return std::move(assembly.program);
}

}  // namespace ncemu::accuracy
