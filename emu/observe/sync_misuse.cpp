#include "emu/observe/sync_misuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "isa/sync.h"

namespace ncemu {
namespace {

std::string subject(const RunSite& site, const Program& program) {
  return fmt::format("{}'s {}", name(site.engine),
                     info(program.stream(site.engine)[site.index].opcode).mnemonic);
}

// What the instructions of one stream can add to each semaphore, each executed once.
struct Reach {
  std::array<std::uint64_t, 256> sum{};
  std::array<std::uint64_t, 256> most_set{};
  bool repeats = false;  // a branch leads back
};

Reach reach_of(const Program& program, Engine engine) {
  Reach reach;
  std::vector<Effect> effects;
  const auto& stream = program.stream(engine);
  for (std::uint32_t i = 0; i < stream.size(); ++i) {
    effects.clear();
    add_effects(stream[i], program.target, effects);
    for (const Effect& effect : effects) {
      if (effect.kind == Effect::Kind::increment) reach.sum[effect.semaphore] += effect.amount;
      std::uint64_t& set = reach.most_set[effect.semaphore];
      if (effect.kind == Effect::Kind::set) set = std::max<std::uint64_t>(set, effect.amount);
    }
    const auto* branch = std::get_if<CompareBranch>(&stream[i].operands);
    if (branch != nullptr && branch->target.index <= i) reach.repeats = true;
  }
  return reach;
}

// Why a wait of an engine can never hold, its own stream having signalled `own` before; empty: it can.
std::string impossible(const std::array<Reach, engine_count>& reach, Engine engine, std::uint8_t semaphore,
                       std::uint32_t need, std::uint64_t own) {
  std::uint64_t most = 0, most_set = 0;
  bool signalled = false;
  for (const Engine e : all_engines) {
    const Reach& one = reach[static_cast<std::size_t>(e)];
    if (one.repeats && one.sum[semaphore] > 0) return {};
    most += e == engine ? own : one.sum[semaphore];
    most_set = std::max(most_set, one.most_set[semaphore]);
    signalled = signalled || one.sum[semaphore] > 0;
  }
  most += most_set;
  if (most >= need) return {};
  if (!signalled) return "nothing signals it";
  if (most == 0) return "only its own later instructions signal it";
  return fmt::format("all that can signal it before add up to {}", most);
}

}  // namespace

std::string semaphore_in_words(const Program& program, std::uint8_t semaphore) {
  for (const NamedSemaphore& named : program.semaphores) {
    if (named.number == semaphore) return fmt::format("S[{}] ({})", semaphore, named.name);
  }
  return fmt::format("S[{}]", semaphore);
}

std::vector<Finding> find_impossible_waits(const Program& program) {
  std::array<Reach, engine_count> reach;
  for (const Engine e : all_engines) reach[static_cast<std::size_t>(e)] = reach_of(program, e);
  std::vector<Finding> findings;
  std::vector<Effect> effects;
  for (const Engine e : all_engines) {
    std::array<std::uint64_t, 256> own{};
    const auto& stream = program.stream(e);
    for (std::uint32_t i = 0; i < stream.size(); ++i) {
      const Wait& wait = stream[i].wait;
      const std::uint32_t need = wait.value_is_register ? 0 : need_of(wait);
      if (need > 0) {
        const std::string why = impossible(reach, e, wait.semaphore, need, own[wait.semaphore]);
        if (!why.empty()) {
          Finding f;
          f.kind = CheckKind::sync;
          f.message = fmt::format("{}'s {} waits for {} to reach {}, and {}", name(e),
                                  info(stream[i].opcode).mnemonic,
                                  semaphore_in_words(program, wait.semaphore), need, why);
          f.involved = {{e, i, fmt::format("waits for {}", need)}};
          f.fix = "signal the semaphore after what the wait is for (a transfer counts 16), or wait for less";
          findings.push_back(std::move(f));
        }
      }
      effects.clear();
      add_effects(stream[i], program.target, effects);
      for (const Effect& effect : effects) {
        if (effect.kind == Effect::Kind::increment) own[effect.semaphore] += effect.amount;
      }
    }
  }
  return findings;
}

std::vector<Finding> find_unused_signals(const RunTrace& trace) {
  const Program& program = trace.program();
  std::array<bool, 256> used{};
  // Automatic synchronisation gives every transfer a signal, whether or not anybody needs it.
  std::fill(used.begin() + sync_semaphores::dma, used.begin() + sync_semaphores::first_user, true);
  for (const auto& stream : program.streams) {
    for (const Instruction& i : stream) {
      if (i.wait.present()) used[i.wait.semaphore] = true;
      if (i.update.operation == UpdateOperation::sem_dec ||
          i.update.operation == UpdateOperation::sem_sub_imm)
        used[i.update.semaphore] = true;
    }
  }
  struct Unused {
    std::uint32_t site = no_index;
    std::uint64_t count = 0;
  };
  std::array<Unused, 256> unused;
  for (const std::uint32_t number : trace.order()) {
    for (const Effect& effect : trace.effects(trace.sites()[number])) {
      if (used[effect.semaphore] || effect.kind != Effect::Kind::increment) continue;
      Unused& one = unused[effect.semaphore];
      if (one.count++ == 0) one.site = number;
    }
  }
  std::vector<Finding> findings;
  for (std::size_t s = 0; s < unused.size(); ++s) {
    if (unused[s].count == 0) continue;
    const RunSite& site = trace.sites()[unused[s].site];
    const auto semaphore = static_cast<std::uint8_t>(s);
    Finding f;
    f.kind = CheckKind::sync;
    f.message = fmt::format("{} signals {}, and no instruction waits for it", subject(site, program),
                            semaphore_in_words(program, semaphore));
    f.involved = {{site.engine, site.index, "signals"}};
    f.fix = "wait for the semaphore where the result is used, or leave the signal out";
    f.count = unused[s].count;
    findings.push_back(std::move(f));
  }
  return findings;
}

Finding describe_hazard(const SemaphoreHazard& hazard, const RunTrace& trace) {
  const Program& program = trace.program();
  const RunSite& first = trace.sites()[hazard.first];
  const RunSite& second = trace.sites()[hazard.second];
  const std::string semaphore = semaphore_in_words(program, hazard.semaphore);
  Finding f;
  f.kind = CheckKind::sync;
  f.count = hazard.count;
  switch (hazard.kind) {
    case SemaphoreHazard::Kind::underflow: {
      std::uint32_t amount = 0;
      for (const Effect& effect : trace.effects(second)) {
        if (effect.kind == Effect::Kind::decrement && effect.semaphore == hazard.semaphore)
          amount = std::max(amount, effect.amount);
      }
      f.message = fmt::format("{} takes {} from {}, and in another timing there may be less in it",
                              subject(second, program), amount, semaphore);
      f.involved = {{second.engine, second.index, fmt::format("subtracts {}", amount)}};
      f.fix = fmt::format("wait and subtract in one step: event_semaphore wait {} >= {} signal {} -= {}",
                          semaphore, amount, semaphore, amount);
      break;
    }
    case SemaphoreHazard::Kind::lost_signal:
      f.message = fmt::format("{} sets {}, and nothing orders that and a signal of {}: it may be lost",
                              subject(second, program), semaphore, subject(first, program));
      f.involved = {{second.engine, second.index, "sets the semaphore"},
                    {first.engine, first.index, "signals"}};
      f.fix = fmt::format(
          "let {} wait for the signal before it sets the semaphore, or {} for the setting before "
          "it signals",
          name(second.engine), name(first.engine));
      break;
  }
  return f;
}

}  // namespace ncemu
