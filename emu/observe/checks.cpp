#include "emu/observe/checks.h"

#include <algorithm>
#include <array>
#include <optional>

#include "emu/observe/accumulation.h"
#include "emu/observe/initialisation.h"
#include "emu/observe/races.h"
#include "emu/observe/value_checks.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

std::optional<CheckKind> find_check(std::string_view name) {
  for (std::size_t i = 0; i < check_count; ++i) {
    const auto kind = static_cast<CheckKind>(i);
    if (info(kind).name == name) return kind;
  }
  return std::nullopt;
}

[[noreturn]] void unknown(std::string_view word, const std::string& where) {
  std::vector<std::string_view> known = {"all", "none", "default"};
  for (std::size_t i = 0; i < check_count; ++i) known.push_back(info(static_cast<CheckKind>(i)).name);
  const std::string_view near = did_you_mean(word, known);
  throw Fault(FaultKind::input, where, "there is no check '{}'{}; the checks are: {}", word,
              near.empty() ? "" : fmt::format(", did you mean '{}'?", near),
              fmt::join(known.begin() + 3, known.end(), " "));
}

}  // namespace

CheckSet CheckSet::all() {
  CheckSet set;
  for (std::size_t i = 0; i < check_count; ++i) set.set(static_cast<CheckKind>(i), true);
  return set;
}

void CheckSet::set(CheckKind kind, bool on) {
  const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(kind);
  bits_ = on ? bits_ | bit : bits_ & ~bit;
}

CheckSet CheckSet::parse(std::string_view text, const std::string& where) {
  CheckSet set;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    const bool on = !word.starts_with('-');
    if (!on) word.remove_prefix(1);
    if (word == "all" || word == "default") {
      set = on ? all() : none();
    } else if (word == "none") {
      set = none();
    } else if (const auto kind = find_check(word)) {
      set.set(*kind, on);
    } else {
      unknown(word, where);
    }
    if (comma == text.size()) return set;
    text.remove_prefix(comma + 1);
  }
}

bool needs_data(CheckKind kind) {
  return kind == CheckKind::ranges || kind == CheckKind::nonfinite || kind == CheckKind::saturation;
}

struct Checks::Listeners {
  std::optional<RaceObserver> races;
  std::optional<Initialisation> initialisation;
  std::optional<Accumulation> accumulation;
  std::optional<ValueChecks> values;
};

Checks::Checks(const Program& program, CheckSet set) : set_(set), listeners_(std::make_unique<Listeners>()) {
  const auto any = [&](std::initializer_list<CheckKind> kinds) {
    return std::any_of(kinds.begin(), kinds.end(), [&](CheckKind kind) { return set.has(kind); });
  };
  if (any({CheckKind::races, CheckKind::sync})) listeners_->races.emplace(program);
  if (any({CheckKind::init, CheckKind::outputs, CheckKind::nonfinite}))
    listeners_->initialisation.emplace(program);
  if (any({CheckKind::groups})) listeners_->accumulation.emplace(program);
  if (any({CheckKind::ranges, CheckKind::nonfinite, CheckKind::saturation}))
    listeners_->values.emplace(program);
}

Checks::~Checks() = default;

std::vector<Observer*> Checks::observers() {
  std::vector<Observer*> all;
  if (listeners_->races) all.push_back(&*listeners_->races);
  if (listeners_->initialisation) all.push_back(&*listeners_->initialisation);
  if (listeners_->accumulation) all.push_back(&*listeners_->accumulation);
  if (listeners_->values) all.push_back(&*listeners_->values);
  return all;
}

std::vector<Finding> Checks::findings(bool finished) const {
  std::vector<Finding> all;
  const auto add = [&](std::vector<Finding> some) {
    for (Finding& f : some) {
      if (set_.has(f.kind)) all.push_back(std::move(f));
    }
  };
  if (listeners_->races) add(listeners_->races->findings());
  if (listeners_->initialisation) {
    add(listeners_->initialisation->reads());
    if (finished) add(listeners_->initialisation->outputs());
  }
  if (listeners_->accumulation) add(listeners_->accumulation->findings());
  if (listeners_->values) {
    std::vector<Finding> found = listeners_->values->findings();
    // A NaN that was in memory from the start is a matter of initialisation.
    std::erase_if(found, [&](const Finding& f) {
      return f.kind == CheckKind::nonfinite && listeners_->initialisation &&
             listeners_->initialisation->saw_unwritten(f.involved[0].engine, f.involved[0].index);
    });
    add(std::move(found));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Finding& a, const Finding& b) { return a.kind < b.kind; });
  return all;
}

std::vector<std::uint32_t> Checks::unknown_rows() const {
  return listeners_->initialisation ? listeners_->initialisation->unknown_rows()
                                    : std::vector<std::uint32_t>();
}

}  // namespace ncemu
