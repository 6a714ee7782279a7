#include "emu/machine/semaphores.h"

#include "isa/fault.h"

namespace ncemu {

std::string describe_semaphore(const Program& program, std::uint8_t semaphore) {
  for (const NamedSemaphore& named : program.semaphores) {
    if (named.number == semaphore) return fmt::format("S[{}] ({})", semaphore, named.name);
  }
  return fmt::format("S[{}]", semaphore);
}

Semaphores::Semaphores(const Program& program, std::uint32_t max, Ticks memory)
    : program_(&program), memory_(memory), max_(max), counters_(256) {}

Semaphores::Change Semaphores::apply(UpdateOperation operation, std::uint8_t semaphore, std::uint32_t value,
                                     const Signaller& by, Ticks at) {
  Counter& counter = counters_[semaphore];
  const std::uint32_t before = counter.value;
  std::int64_t delta = 0;
  switch (operation) {
    case UpdateOperation::none: break;
    case UpdateOperation::sem_inc: delta = 1; break;
    case UpdateOperation::sem_dec: delta = -1; break;
    case UpdateOperation::sem_add_imm: delta = value; break;
    case UpdateOperation::sem_sub_imm: delta = -std::int64_t{value}; break;
    case UpdateOperation::sem_wr_imm: delta = std::int64_t{value} - before; break;
    case UpdateOperation::evt_set:
    case UpdateOperation::evt_clr: {
      const bool set = operation == UpdateOperation::evt_set;
      if (events_[semaphore] == set) {
        throw Fault(FaultKind::program, "", "event E[{}] is {} although it already is", semaphore,
                    set ? "set" : "cleared");
      }
      events_[semaphore] = set;
      return {before, before};
    }
  }
  const std::int64_t after = before + delta;
  if (after < 0 || after > std::int64_t{max_}) refuse(semaphore, before, delta);
  counter.value = static_cast<std::uint32_t>(after);
  remember(counter, {at, before, by});
  return {before, counter.value};
}

void Semaphores::remember(Counter& counter, const Entry& entry) const {
  // Without latencies only the last change can be asked for.
  while (counter.first < counter.entries.size() &&
         (memory_ == 0 || counter.entries[counter.first].at + memory_ < entry.at)) {
    ++counter.first;
  }
  if (counter.first == counter.entries.size()) {
    counter.entries.clear();
    counter.first = 0;
  } else if (counter.first >= 64) {
    counter.entries.erase(counter.entries.begin(),
                          counter.entries.begin() + static_cast<std::ptrdiff_t>(counter.first));
    counter.first = 0;
  }
  counter.entries.push_back(entry);
}

void Semaphores::refuse(std::uint8_t semaphore, std::uint32_t before, std::int64_t delta) const {
  const std::string name = describe_semaphore(*program_, semaphore);
  if (delta < 0) {
    throw Fault(FaultKind::program, "", "{} underflows: it is {}, and {} is subtracted", name, before,
                -delta);
  }
  throw Fault(FaultKind::program, "", "{} overflows: {} + {} is more than {}", name, before, delta, max_);
}

Semaphores::Satisfaction Semaphores::satisfaction(std::uint8_t semaphore, Comparison condition,
                                                  std::uint32_t value) const {
  const Counter& counter = counters_[semaphore];
  Satisfaction result;
  result.holds = holds(condition, counter.value, value);
  if (!result.holds) return result;
  for (std::size_t i = counter.entries.size(); i > counter.first; --i) {
    const Entry& entry = counter.entries[i - 1];
    if (!holds(condition, entry.before, value)) {
      result.remembered = true;
      result.since = entry.at;
      result.by = entry.by;
      return result;
    }
  }
  return result;
}

}  // namespace ncemu
