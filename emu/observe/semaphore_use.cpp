#include "emu/observe/semaphore_use.h"

#include <algorithm>
#include <vector>

#include "emu/observe/run_trace.h"

namespace ncemu {

SemaphoreUse semaphore_use(const Program& program) {
  SemaphoreUse use;
  std::vector<Effect> effects;
  for (const Engine e : all_engines) {
    SemaphoreUse::Stream& stream = use.streams[static_cast<std::size_t>(e)];
    std::uint32_t index = 0;
    for (const Instruction& instruction : program.stream(e)) {
      if (const Wait& wait = instruction.wait; wait.present()) {
        SemaphoreUse::One& one = stream.semaphores[wait.semaphore];
        one.waits = true;
        if (!wait.value_is_register) one.most_needed = std::max(one.most_needed, need_of(wait));
      }
      effects.clear();
      add_effects(instruction, program.target, effects);
      for (const Effect& effect : effects) {
        SemaphoreUse::One& one = stream.semaphores[effect.semaphore];
        switch (effect.kind) {
          case Effect::Kind::increment: one.sum += effect.amount; break;
          case Effect::Kind::decrement: one.takes = true; break;
          case Effect::Kind::set: one.most_set = std::max<std::uint64_t>(one.most_set, effect.amount); break;
        }
      }
      if (instruction.opcode == Opcode::compare_branch &&
          std::get<CompareBranch>(instruction.operands).target.index <= index) {
        stream.repeats = true;
      }
      ++index;
    }
  }
  return use;
}

}  // namespace ncemu
