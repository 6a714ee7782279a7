#include "emu/machine/sequencer.h"

#include "emu/data/alu.h"
#include "emu/machine/semaphores.h"
#include "isa/fault.h"

namespace ncemu {

std::int32_t Sequencer::get(Register r) const {
  ensure(r.number < registers_.size(), "a control instruction names one of the registers r0 to r63");
  return registers_[r.number];
}

void Sequencer::set(Register r, std::int32_t value) {
  ensure(r.number < registers_.size(), "a control instruction names one of the registers r0 to r63");
  registers_[r.number] = value;
}

std::int32_t Sequencer::value(const IntOperand& operand) const {
  if (const auto* r = std::get_if<Register>(&operand)) return get(*r);
  return std::get<std::int32_t>(operand);
}

bool Sequencer::step() {
  const Instruction& instruction = current();
  if (const auto* branch = std::get_if<CompareBranch>(&instruction.operands)) {
    // `always` looks at no register, and then the operands may be absent.
    if (branch->op == Comparison::always || holds(branch->op, get(branch->a), value(branch->b))) {
      ensure(branch->target.index <= stream_->size(), "a branch stays inside its stream");
      index_ = branch->target.index;
      ended_ = index_ == stream_->size();
      return true;
    }
  } else if (const auto* move = std::get_if<RegisterMove>(&instruction.operands)) {
    set(move->dst, value(move->src));
  } else if (const auto* alu = std::get_if<RegisterAlu>(&instruction.operands)) {
    set(alu->dst, apply_register(alu->op, get(alu->src0), value(alu->src1)));
  }
  if (instruction.opcode == Opcode::halt) {
    ended_ = true;
  } else {
    ended_ = ++index_ == stream_->size();
  }
  return false;
}

}  // namespace ncemu
