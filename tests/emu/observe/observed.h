#pragma once

// Feeds instructions to a listener as a machine would, one after another.

#include "emu/machine/observer.h"
#include "isa/program.h"

namespace ncemu::test {

// Appends the instruction to its engine's stream and tells the listener that it starts.
inline void start(Program& program, Observer& observer, Engine engine, Opcode opcode, Operands operands,
                  const std::vector<std::int64_t>* rows = nullptr) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands = std::move(operands);
  auto& stream = program.stream(engine);
  Started started;
  started.engine = engine;
  started.index = static_cast<std::uint32_t>(stream.size());
  started.rows = rows;
  stream.push_back(instruction);
  started.instruction = &instruction;
  started.work = work(instruction);
  observer.on_start(started);
}

}  // namespace ncemu::test
