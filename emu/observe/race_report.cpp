// A race in the user's words: what both instructions do to the same bytes, why nothing orders them, and what
// would.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "emu/observe/operands.h"
#include "emu/observe/races.h"
#include "emu/observe/sync_misuse.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Whether the instruction is executed once: its place in the source has made no other, and no branch leads
// back over it.
bool is_single(const Program& program, const RunSite& site) {
  const auto& stream = program.stream(site.engine);
  const std::uint32_t place = stream[site.index].site;
  std::size_t same = 0;
  for (const auto& others : program.streams) {
    same += static_cast<std::size_t>(std::count_if(others.begin(), others.end(), [&](const Instruction& i) {
      return i.site == place && i.opcode == stream[site.index].opcode;
    }));
  }
  if (same > 1) return false;
  for (std::uint32_t i = site.index; i < stream.size(); ++i) {
    const auto* branch = std::get_if<CompareBranch>(&stream[i].operands);
    if (branch != nullptr && branch->target.index <= site.index) return false;
  }
  return true;
}

// Whether the text has the instruction that the run came to first behind the other. A run may come to two
// streams in any order; what the writer means is the order of the text, where loops do not hide it.
bool comes_later(const Program& program, const RunSite& first, const RunSite& second) {
  if (first.engine == second.engine) return false;
  const std::uint32_t a = program.stream(first.engine)[first.index].site;
  const std::uint32_t b = program.stream(second.engine)[second.index].site;
  return a > b && is_single(program, first) && is_single(program, second);
}

class Report {
 public:
  Report(const Race& race, const RunTrace& trace)
      : race_(race),
        trace_(trace),
        program_(trace.program()),
        first_(trace.sites()[race.first.site]),
        second_(trace.sites()[race.second.site]) {
    const Footprints& all = trace.footprints();
    const bool some =
        shared_bytes(all[touch(race.first).footprint], all[touch(race.second).footprint], bytes_, lanes_);
    ensure(some, "two accesses that race share bytes");
  }

  // Whether the first instruction signals, on the right event, what the second could wait for.
  bool has_signal() const {
    const Effect* effect = signal();
    return effect != nullptr && reached(effect->semaphore).has_value();
  }

  Finding finding() const {
    Finding f;
    f.kind = CheckKind::races;
    // Nothing orders the two, so that "may still" includes "has yet to".
    f.message = fmt::format("{} {} {} while {} may still be {} it: nothing orders the two", subject(second_),
                            race_.second.write ? "overwrites" : "reads", place(race_.second), subject(first_),
                            race_.first.write ? "writing" : "reading");
    f.involved = {{second_.engine, second_.index, says(race_.second)},
                  {first_.engine, first_.index, says(race_.first)}};
    f.fix = fix();
    f.count = race_.count;
    return f;
  }

 private:
  const RunSite& site(const Access& access) const { return trace_.sites()[access.site]; }
  const Touch& touch(const Access& access) const { return trace_.touches(site(access))[access.touch]; }
  const Instruction& instruction(const RunSite& site) const {
    return program_.stream(site.engine)[site.index];
  }

  // "scalar's activation", "the dma_copy that sync has triggered".
  std::string subject(const RunSite& site) const {
    const std::string_view mnemonic = info(instruction(site).opcode).mnemonic;
    if (site.nature == Nature::transfer)
      return fmt::format("{}'s transfer ({})", name(site.engine), mnemonic);
    return fmt::format("{}'s {}", name(site.engine), mnemonic);
  }

  // Where the access is in memory: its first byte in common.
  std::string place(const Access& access) const {
    std::string text;
    std::size_t ordinal = 0;
    const Touch& wanted = touch(access);
    for_each_operand(instruction(site(access)), [&](std::string_view, const auto& pattern, Role) {
      if (ordinal++ != wanted.ordinal) return;
      if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, HbmPattern>) {
        text = describe_byte(program_, pattern.tensor, bytes_.begin);
      } else {
        text = describe_byte(program_, pattern.space, pattern.place, lanes_.first(), bytes_.begin);
      }
    });
    if (text.empty()) {  // a word of the address window
      text = fmt::format("{} partition {}, byte {}", memory() == psum_memory ? "PSUM" : "SBUF",
                         lanes_.first(), bytes_.begin);
    }
    return text;
  }

  std::uint32_t memory() const { return trace_.footprints()[touch(race_.first).footprint].memory; }

  // "writes dst: a[0, 0] (SBUF bytes 0 to 511 of partitions 0 to 127)"
  std::string says(const Access& access) const {
    std::string operand;
    std::size_t ordinal = 0;
    for_each_operand(instruction(site(access)), [&](std::string_view n, const auto&, Role) {
      if (ordinal++ == touch(access).ordinal) operand = fmt::format(" {}", n);
    });
    const std::int64_t last = bytes_.end - 1;
    std::string where;
    if (memory() >= first_tensor_memory) {
      where = fmt::format("bytes {} to {} of '{}'", bytes_.begin, last,
                          program_.tensors[memory() - first_tensor_memory].name);
    } else {
      where = fmt::format("{} bytes {} to {} of partition{} {}", memory() == psum_memory ? "PSUM" : "SBUF",
                          bytes_.begin, last, lanes_.first() == lanes_.last() ? "" : "s",
                          lanes_.first() == lanes_.last()
                              ? fmt::format("{}", lanes_.first())
                              : fmt::format("{} to {}", lanes_.first(), lanes_.last()));
    }
    return fmt::format("{}{} {} ({})", access.write ? "writes" : "reads", operand, place(access), where);
  }

  // What the first instruction signals when the access is over, if it does.
  const Effect* signal() const {
    for (const Effect& effect : trace_.effects(first_)) {
      if (effect.kind != Effect::Kind::increment) continue;
      if (!effect.at_read || !race_.first.write) return &effect;
    }
    return nullptr;
  }

  // What the semaphore has reached with the signal of the first instruction, since it was last set; nothing
  // where others signal it too or take from it.
  std::optional<std::uint64_t> reached(std::uint8_t semaphore) const {
    std::uint64_t value = 0;
    std::uint32_t position = 0;
    std::optional<std::uint64_t> result;
    for (const std::uint32_t number : trace_.order()) {
      const RunSite& s = trace_.sites()[number];
      const bool mine = s.engine == first_.engine;
      for (const Effect& effect : trace_.effects(s)) {
        if (effect.semaphore != semaphore) continue;
        if (effect.kind == Effect::Kind::decrement) return std::nullopt;
        if (effect.kind == Effect::Kind::increment && !mine) return std::nullopt;
        value = effect.kind == Effect::Kind::set ? effect.amount : value + effect.amount;
        if (mine && position == race_.first.position && effect.kind == Effect::Kind::increment)
          result = value;
      }
      position += mine;
    }
    return result;
  }

  std::string fix() const {
    const std::string_view waiter = name(second_.engine);
    const std::string_view mnemonic = info(instruction(first_).opcode).mnemonic;
    const bool reading = !race_.first.write && first_.nature == Nature::data;
    const Effect* effect = signal();
    if (effect == nullptr) {
      const auto effects = trace_.effects(first_);
      const bool wrong_event = !effects.empty() && effects.front().at_read;
      return fmt::format("{}signal a semaphore {} after the {} of {}, and let {} wait for it before its {}",
                         wrong_event ? "@read says nothing about the result: " : "",
                         first_.nature == Nature::transfer ? "(16 increments)"
                         : reading                         ? "@read"
                                                           : "@complete",
                         mnemonic, name(first_.engine), waiter, info(instruction(second_).opcode).mnemonic);
    }
    const std::string semaphore = semaphore_in_words(program_, effect->semaphore);
    const auto value = reached(effect->semaphore);
    if (!value) {
      return fmt::format(
          "give the {} of {} a semaphore of its own, as others change {} too, and let {} wait "
          "for it before its {}",
          mnemonic, name(first_.engine), semaphore, waiter, info(instruction(second_).opcode).mnemonic);
    }
    const bool waits = second_.need > 0 && second_.wait_semaphore == effect->semaphore;
    if (waits && second_.need >= *value) {
      return fmt::format(
          "{} counts transfers that are in flight together, so that {} can be reached without "
          "this one: give each transfer a semaphore of its own, or wait for all of them",
          semaphore, second_.need);
    }
    return fmt::format("{} must wait for {} >= {} before its {}{}{}", waiter, semaphore, *value,
                       info(instruction(second_).opcode).mnemonic,
                       waits ? fmt::format(" (it waits for {})", second_.need) : "",
                       race_.count > 1 ? ", the first time" : "");
  }

  const Race& race_;
  const RunTrace& trace_;
  const Program& program_;
  const RunSite& first_;
  const RunSite& second_;
  Extent bytes_;
  LaneSet lanes_;
};

}  // namespace

Finding describe_race(const Race& race, const RunTrace& trace) {
  const Report as_run(race, trace);
  Race exchanged = race;
  std::swap(exchanged.first, exchanged.second);
  const Report turned(exchanged, trace);
  const RunSite& first = trace.sites()[race.first.site];
  const RunSite& second = trace.sites()[race.second.site];
  // What the writer means shows in a signal that already waits to be used, else in the order of the text.
  if (first.engine == second.engine || as_run.has_signal()) {
    const bool written_first = comes_later(trace.program(), first, second) && turned.has_signal();
    return (written_first ? turned : as_run).finding();
  }
  if (turned.has_signal() || comes_later(trace.program(), first, second)) return turned.finding();
  return as_run.finding();
}

}  // namespace ncemu
