#pragma once

// Errors of the language. Code that cannot go on throws Stop; the statement that contains it catches
// it, reports it and the assembly goes on, so that ten mistakes take one run.

#include <stdexcept>
#include <string>
#include <vector>

#include "isa/asm/source.h"
#include "isa/diagnostics.h"

namespace ncemu::language {

struct Stop {
  Where where;
  std::string message;
  std::string hint;
  std::vector<Diagnostic> notes;
  bool reported = false;  // the cause has been reported already; nothing to add
};

[[noreturn]] inline void stop(Where where, std::string message, std::string hint = {}) {
  throw Stop{where, std::move(message), std::move(hint), {}, false};
}

// Too many errors: ends the assembly.
struct GiveUp {};

class Reporter {
 public:
  static constexpr std::size_t most_errors = 50;

  Reporter(const Sources& sources, Diagnostics& diagnostics) : sources_(sources), diagnostics_(diagnostics) {}

  void report(const Stop& error);
  void error(Where where, std::string message, std::string hint = {});
  void warning(Where where, std::string message, std::string hint = {});
  // A note for the notes of an error: "called from here".
  Diagnostic note(Where where, std::string message) const;

  const Sources& sources() const { return sources_; }
  bool failed() const { return diagnostics_.has_errors(); }

 private:
  void add(Severity severity, Where where, std::string message, std::string hint,
           std::vector<Diagnostic> notes);

  const Sources& sources_;
  Diagnostics& diagnostics_;
};

}  // namespace ncemu::language
