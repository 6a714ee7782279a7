#pragma once

// Which checks a run makes, and the listeners that make them.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emu/machine/observer.h"
#include "emu/observe/finding.h"

namespace ncemu {

inline constexpr std::size_t check_count = 0
#define NCEMU_CHECK(name, severity, sentence) +1
#include "emu/observe/checks.def"
#undef NCEMU_CHECK
    ;

class CheckSet {
 public:
  static CheckSet none() { return {}; }
  static CheckSet all();
  // "races,init", "all", "none", "all,-saturation"; "default" is all. Throws Fault(input, where, ...) for
  // another word.
  static CheckSet parse(std::string_view text, const std::string& where);

  bool has(CheckKind kind) const { return (bits_ >> static_cast<unsigned>(kind) & 1U) != 0; }
  void set(CheckKind kind, bool on);
  bool empty() const { return bits_ == 0; }
  friend bool operator==(CheckSet, CheckSet) = default;

 private:
  std::uint32_t bits_ = 0;
};

// True if the check looks at values and finds nothing in a run without data.
bool needs_data(CheckKind kind);

class Checks {
 public:
  // The program must outlive the checks.
  Checks(const Program& program, CheckSet set);
  ~Checks();

  // To be added to the machine before the run.
  std::vector<Observer*> observers();
  // After the run, in the order of the table of checks, then of their first occurrence. `finished`: the run
  // came to its end, so that what it did not do counts too.
  std::vector<Finding> findings(bool finished) const;
  // Source places of the transfers by index whose rows could not be followed, because there were no data.
  std::vector<std::uint32_t> unknown_rows() const;

 private:
  struct Listeners;
  CheckSet set_;
  std::unique_ptr<Listeners> listeners_;
};

}  // namespace ncemu
