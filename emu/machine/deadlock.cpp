#include "emu/machine/deadlock.h"

#include <algorithm>

#include "emu/machine/semaphores.h"
#include "isa/address_window.h"
#include "isa/comparison.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

bool raises(UpdateOperation operation) {
  return operation == UpdateOperation::sem_inc || operation == UpdateOperation::sem_add_imm ||
         operation == UpdateOperation::sem_wr_imm;
}

bool changes(UpdateOperation operation) {
  return raises(operation) || operation == UpdateOperation::sem_dec ||
         operation == UpdateOperation::sem_sub_imm;
}

// Whether the instruction could bring the wait nearer to being satisfied.
bool could_signal(const Instruction& instruction, const Wait& wait, const Target& target) {
  const bool more = wait.condition == Comparison::ge || wait.condition == Comparison::gt;
  const auto helps = [&](UpdateOperation operation, unsigned first, unsigned count) {
    return (more ? raises(operation) : changes(operation)) && wait.semaphore >= first &&
           wait.semaphore < first + count;
  };
  if (helps(instruction.update.operation, instruction.update.semaphore, 1)) return true;
  if (const auto* clear = std::get_if<SemaphoreRange>(&instruction.operands)) {
    return !more && helps(UpdateOperation::sem_wr_imm, clear->first, clear->count);
  }
  if (const auto* words = std::get_if<Write>(&instruction.operands)) {
    const auto writes = [&](std::uint32_t address, std::uint32_t data) {
      try {
        const auto decoded = decode_write(address, data, target);
        const auto* semaphore = std::get_if<SemaphoreWrite>(&decoded);
        return semaphore != nullptr && helps(semaphore->operation, semaphore->semaphore, 1);
      } catch (const Fault&) {
        return false;  // it would fail, not signal
      }
    };
    return writes(words->address0, words->data0) ||
           (words->count > 1 && writes(words->address1, words->data1));
  }
  return false;
}

// The first instruction that may still run: branches back from the remaining ones reach earlier ones.
std::size_t first_remaining(const std::vector<Instruction>& stream, std::size_t from) {
  for (std::size_t i = stream.size(); i > from; --i) {
    if (const auto* branch = std::get_if<CompareBranch>(&stream[i - 1].operands)) {
      if (branch->target.index < from) {
        from = branch->target.index;
        i = stream.size() + 1;
      }
    }
  }
  return from;
}

std::string signallers(const Program& program, std::span<const Standing> standings, const Standing& waiter) {
  std::string others;
  bool own = false;
  for (const Standing& s : standings) {
    if (s.ended) continue;
    const auto& stream = program.stream(s.engine);
    std::size_t count = 0, first = 0;
    for (std::size_t i = first_remaining(stream, s.index); i < stream.size(); ++i) {
      if (!could_signal(stream[i], waiter.wait, program.target)) continue;
      if (count++ == 0) first = i;
    }
    if (count == 0) continue;
    if (s.engine == waiter.engine) {
      own = true;
      continue;
    }
    others += fmt::format("{}{} ({} of its instructions, the first at {})", others.empty() ? "" : ", ",
                          name(s.engine), count, describe_site(program, stream[first].site));
  }
  if (!others.empty()) return "could be signalled by " + others;
  return own ? "only its own later instructions could signal it" : "no remaining instruction signals it";
}

std::string shortage(const Standing& s) {
  const std::uint32_t wanted = s.wait.value + (s.wait.condition == Comparison::gt ? 1U : 0U);
  const bool more = s.wait.condition == Comparison::ge || s.wait.condition == Comparison::gt;
  if (!more) return fmt::format("it is {}", s.semaphore_value);
  return fmt::format("it is {}, {} short", s.semaphore_value, wanted - s.semaphore_value);
}

}  // namespace

std::string describe_deadlock(const Program& program, std::span<const Standing> standings) {
  std::string text = "deadlock: no engine can go on";
  for (const Standing& s : standings) {
    if (s.ended) continue;
    const Instruction& instruction = program.stream(s.engine)[s.index];
    text += fmt::format("\n  {} at {}: {} (instruction {})", name(s.engine),
                        describe_site(program, instruction.site), info(instruction.opcode).mnemonic, s.index);
    if (s.wait.present()) {
      text +=
          fmt::format(" waits for {} {} {}; {}; {}", describe_semaphore(program, s.wait.semaphore),
                      sign(s.wait.condition), s.wait.value, shortage(s), signallers(program, standings, s));
    }
  }
  return text;
}

}  // namespace ncemu
