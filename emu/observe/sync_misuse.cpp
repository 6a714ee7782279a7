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

// Why a wait of an engine can never hold, its own stream having signalled `own` before; empty: it can.
std::string impossible(const SemaphoreUse& use, Engine engine, std::uint8_t semaphore, std::uint32_t need,
                       std::uint64_t own) {
  std::uint64_t most = 0, most_set = 0;
  bool signalled = false;
  for (const Engine e : all_engines) {
    const SemaphoreUse::One& one = use.of(e, semaphore);
    if (use.streams[static_cast<std::size_t>(e)].repeats && one.sum > 0) return {};
    most += e == engine ? own : one.sum;
    most_set = std::max(most_set, one.most_set);
    signalled = signalled || one.sum > 0;
  }
  most += most_set;
  if (most >= need) return {};
  if (!signalled) return "nothing signals it";
  if (most == 0) return "only its own later instructions signal it";
  return fmt::format("all that can signal it before add up to {}", most);
}

// Seen without looking at each wait: what the others signal is enough for all of them.
bool all_waits_can_hold(const SemaphoreUse& use, Engine engine) {
  for (std::size_t s = 0; s < 256; ++s) {
    const std::uint32_t need = use.of(engine, s).most_needed;
    if (need > 0 && !impossible(use, engine, static_cast<std::uint8_t>(s), need, 0).empty()) return false;
  }
  return true;
}

}  // namespace

std::string semaphore_in_words(const Program& program, std::uint8_t semaphore) {
  for (const NamedSemaphore& named : program.semaphores) {
    if (named.number == semaphore) return fmt::format("S[{}] ({})", semaphore, named.name);
  }
  return fmt::format("S[{}]", semaphore);
}

std::vector<Finding> find_impossible_waits(const Program& program) {
  return find_impossible_waits(program, semaphore_use(program));
}

std::vector<Finding> find_impossible_waits(const Program& program, const SemaphoreUse& use) {
  std::vector<Finding> findings;
  std::vector<Effect> effects;
  for (const Engine e : all_engines) {
    if (all_waits_can_hold(use, e)) continue;
    std::array<std::uint64_t, 256> own{};
    const auto& stream = program.stream(e);
    for (std::uint32_t i = 0; i < stream.size(); ++i) {
      const Wait& wait = stream[i].wait;
      const std::uint32_t need = wait.value_is_register ? 0 : need_of(wait);
      if (need > 0) {
        const std::string why = impossible(use, e, wait.semaphore, need, own[wait.semaphore]);
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
  bool any_unused = false;
  for (std::size_t s = 0; s < used.size(); ++s) {
    bool signalled = false;
    for (const Engine e : all_engines) {
      const SemaphoreUse::One& one = trace.use().of(e, s);
      used[s] = used[s] || one.waits || one.takes;
      signalled = signalled || one.sum > 0;
    }
    any_unused = any_unused || (signalled && !used[s]);
  }
  if (!any_unused) return {};
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
