#pragma once

// Small programs built by hand, and a listener that remembers what the machine told it.

#include <map>
#include <string>
#include <vector>

#include "emu/machine/machine.h"
#include "emu/machine_config.h"
#include "isa/program.h"

namespace ncemu::test {

// NeuronCore-v2 with the numbers of the datasheet that the tests compute with by hand, so that a better
// calibration of the machines does not move them. One tick is 1/5.6 ns; a scalar, gpsimd, sync or base cycle
// is 4 ticks, a vector cycle 5, a tensor cycle 2.
inline MachineConfig v2() {
  MachineConfig machine = builtin_machine("trn1");
  for (const char* assignment :
       {"scalar.l0=221", "scalar.ii_gap=64", "scalar.activate_gap=0", "scalar.activate_l0=0",
        "scalar.sbuf_source_gap=0", "scalar.sbuf_to_sbuf_l0=0", "scalar.few_lanes=0", "vector.l0=177",
        "vector.ii_gap=64", "vector.few_lanes=0", "gpsimd.start=150", "gpsimd.k=1", "semaphore.turn=42",
        "semaphore.cross_ns=40", "control.issue=12", "control.branch=12", "control.register_memory=140"}) {
    set_parameter(machine, assignment);
  }
  return machine;
}
inline constexpr Ticks scalar_cycle = 4, vector_cycle = 5, base_cycle = 4;
inline constexpr Ticks issue = 12 * base_cycle;  // CTRL_ISSUE
inline constexpr Ticks cross = 224;              // SEM_CROSS: 40 ns
inline constexpr Ticks scalar_turn = 42 * scalar_cycle;
// One element: start to @complete, start to @read, start to the next start.
inline constexpr Ticks scalar_latency = (221 + 1) * scalar_cycle, scalar_read = scalar_cycle,
                       scalar_interval = (1 + 64) * scalar_cycle;
inline constexpr Ticks vector_latency = (177 + 1) * vector_cycle, vector_read = vector_cycle,
                       vector_interval = (1 + 64) * vector_cycle;

inline AccessPattern sbuf(std::uint32_t offset, std::uint16_t elements = 1, std::uint8_t partitions = 1,
                          DType dtype = DType::f32) {
  AccessPattern p;
  p.space = Space::sbuf;
  p.dtype = dtype;
  p.partitions = partitions;
  p.offset = offset;
  p.dims[0] = {1, elements};
  return p;
}
inline AccessPattern psum(std::uint32_t offset, std::uint16_t elements = 1, std::uint8_t partitions = 1) {
  AccessPattern p = sbuf(offset, elements, partitions);
  p.space = Space::psum;
  return p;
}
// `rows` rows of `elements`, adjacent in the tensor.
inline HbmPattern hbm(std::uint16_t tensor, std::uint32_t elements, std::uint32_t rows = 1,
                      DType dtype = DType::f32) {
  HbmPattern p;
  p.tensor = tensor;
  p.dtype = dtype;
  p.dims[0] = {1, elements};
  p.dims[1] = {static_cast<std::int32_t>(elements), rows};
  return p;
}

inline Instruction op(Opcode opcode, Operands operands = NoOperands{}) {
  Instruction i;
  i.opcode = opcode;
  i.operands = std::move(operands);
  return i;
}
inline Instruction on(Instruction i, std::uint8_t semaphore, std::uint16_t value,
                      Comparison condition = Comparison::ge) {
  i.wait = {semaphore, condition, false, value};
  return i;
}
inline Instruction then(Instruction i, std::uint8_t semaphore, UpdateWhen when = UpdateWhen::complete,
                        UpdateOperation operation = UpdateOperation::sem_inc, std::uint16_t value = 0) {
  i.update = {semaphore, operation, when, value};
  return i;
}

inline Instruction activation(std::uint32_t dst, std::uint32_t src, std::uint16_t elements = 1) {
  Activation a;
  a.dst = sbuf(dst, elements);
  a.src = sbuf(src, elements);
  return op(Opcode::activation, a);
}
inline Instruction copy(std::uint32_t dst, std::uint32_t src, std::uint16_t elements = 1) {
  return op(Opcode::tensor_copy, Unary{sbuf(dst, elements), sbuf(src, elements)});
}
inline Instruction fill(std::uint32_t dst, float value, std::uint16_t elements = 1) {
  return op(Opcode::memset, Memset{sbuf(dst, elements), value});
}
inline Instruction semaphore_only() { return op(Opcode::event_semaphore); }
inline Instruction move(std::uint8_t dst, std::int32_t value) {
  return op(Opcode::register_move, RegisterMove{Register{dst}, value});
}
inline Instruction alu(std::uint8_t dst, std::uint8_t src, AluOp operation, std::int32_t value) {
  return op(Opcode::register_alu, RegisterAlu{Register{dst}, Register{src}, value, operation});
}
inline Instruction branch(std::uint8_t a, Comparison condition, std::int32_t b, std::uint32_t target) {
  return op(Opcode::compare_branch, CompareBranch{Register{a}, b, condition, BranchTarget{target}});
}
inline Instruction load(AccessPattern dst, HbmPattern src, std::uint8_t queue = 0) {
  return op(Opcode::dma_copy, DmaCopy{dst, src, queue, DgeMode::static_});
}
inline Instruction store(HbmPattern dst, AccessPattern src, std::uint8_t queue = 0) {
  return op(Opcode::dma_copy, DmaCopy{dst, src, queue, DgeMode::static_});
}

// A program on a target, its instructions on lines 1, 2, ... of "test.nca" per stream.
class ProgramOf {
 public:
  explicit ProgramOf(const Target& target) {
    program_.name = "test";
    program_.target = target;
    program_.files = {"test.nca"};
    program_.synchronised = true;
  }
  ProgramOf& stream(Engine e, std::vector<Instruction> instructions) {
    for (Instruction& i : instructions) {
      program_.sites.push_back({0, ++line_, 1, no_index});
      i.site = static_cast<std::uint32_t>(program_.sites.size() - 1);
    }
    program_.stream(e) = std::move(instructions);
    return *this;
  }
  ProgramOf& tensor(std::string name, std::vector<std::int64_t> shape, DType dtype = DType::f32) {
    Tensor t;
    t.name = std::move(name);
    t.dtype = dtype;
    t.shape = std::move(shape);
    program_.tensors.push_back(std::move(t));
    return *this;
  }
  ProgramOf& semaphore(std::string name, std::uint8_t number) {
    program_.semaphores.push_back({std::move(name), number});
    return *this;
  }
  Program& get() { return program_; }

 private:
  Program program_;
  std::uint32_t line_ = 0;
};

// Remembers the run.
struct Record : Observer {
  std::vector<Started> started;
  std::vector<SemaphoreChanged> semaphores;
  std::vector<TransferStarted> transfers;  // their `work` dies with the machine
  std::vector<std::int64_t> transfer_bytes;
  std::vector<DmaService::Event> done;  // engine_done only
  std::map<DmaService::TransferId, Ticks> transfer_done;
  std::map<Engine, Ticks> stream_end;
  Ticks end = -1;

  void on_start(const Started& s) override { started.push_back(s); }
  void on_semaphore(const SemaphoreChanged& s) override { semaphores.push_back(s); }
  void on_transfer(const TransferStarted& t) override {
    transfers.push_back(t);
    transfer_bytes.push_back(t.work->bytes);
  }
  void on_dma(const DmaService::Event& e) override {
    if (e.kind == DmaService::Event::Kind::engine_done) done.push_back(e);
  }
  void on_transfer_done(DmaService::TransferId id, Ticks t) override { transfer_done[id] = t; }
  void on_stream_end(Engine e, Ticks t) override { stream_end[e] = t; }
  void on_end(Ticks t) override { end = t; }

  // Of one engine, in order.
  std::vector<Started> of(Engine e) const {
    std::vector<Started> all;
    for (const Started& s : started) {
      if (s.engine == e) all.push_back(s);
    }
    return all;
  }
  std::vector<Ticks> starts(Engine e) const {
    std::vector<Ticks> all;
    for (const Started& s : of(e)) all.push_back(s.passage.start);
    return all;
  }
};

inline RunResult run(const MachineConfig& machine, const Program& program, Mode mode,
                     Record* record = nullptr, RunOptions options = {}) {
  options.mode = mode;
  Machine m(machine, program, std::move(options));
  if (record != nullptr) m.add(*record);
  return m.run();
}

}  // namespace ncemu::test
