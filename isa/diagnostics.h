#pragma once

// What is wrong with a source, a program or an instruction: where, what, how bad, and a hint.
// Collected, so that ten mistakes take one run.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu {

enum class Severity : std::uint8_t { note, warning, error };

// Lines and columns count from 1; 0 means the whole file (or line).
struct Location {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 0;  // characters under the caret
};

struct Diagnostic {
  Severity severity = Severity::error;
  bool fails_run = false;  // of a warning: the program can run, but the run or check counts as failed
  Location where;
  std::string message;
  std::string hint;               // may be empty
  std::string reference;          // "datasheet 1.5"; may be empty
  std::string source;             // the line of text; may be empty
  std::vector<Diagnostic> notes;  // macro expansions, earlier declarations
};

class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  void error(Location where, std::string message, std::string hint = {});
  void warning(Location where, std::string message, std::string hint = {});

  bool has_errors() const { return errors_ > 0; }
  std::size_t errors() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

  // file:line:column: error: message, the line, a caret, the hint, the notes.
  std::string text() const;

 private:
  std::vector<Diagnostic> all_;
  std::size_t errors_ = 0;
};

std::string format(const Diagnostic& diagnostic);

// The candidate nearest to `word`, if near enough to be a typing mistake; empty otherwise.
std::string_view did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace ncemu
