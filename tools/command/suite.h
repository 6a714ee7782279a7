#pragma once

// A suite file: which kernels to run, at which sizes, on which machines, and what must hold of values and
// times. kernels/SUITE.md explains the keys.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emu/observe/checks.h"
#include "emu/observe/metrics.h"

namespace ncemu::command {

// "mfu_estimated_percent >= 80"
struct Requirement {
  enum class Relation : std::uint8_t { at_least, at_most, above, below, equal, unequal };
  Metric metric = Metric::total_time;
  Relation relation = Relation::at_least;
  double bound = 0;
  std::string text;

  bool holds(double value) const;
};
// Throws Fault(input, where, ...); an unknown metric is answered with the nearest.
Requirement parse_requirement(const std::string& text, const std::string& where);

// An output is right when |got - want| <= absolute + relative * |want| + terms * (sum of the terms'
// magnitudes, as the reference reports it), or, with bits, when it is the reference rounded to the output's
// type.
struct OutputTolerance {
  double relative = 0, absolute = 0, terms = 0;
  bool bits = false;
};

struct SuiteCase {
  std::string name;    // unique with the machine
  std::string kernel;  // path, ready to be opened
  std::vector<std::pair<std::string, std::string>> params;
  std::string machine;       // as the suite names it
  std::string machine_file;  // the same, a file's path ready to be opened
  std::vector<std::string> settings;
  std::map<std::string, std::string> inputs;          // generators, or files' paths ready to be opened
  std::string reference;                              // "builtin:softmax", "python:/path/ref.py", or empty
  std::map<std::string, std::string> expect;          // outputs whose values are in a file
  std::map<std::string, OutputTolerance> tolerances;  // "" stands for the outputs without one of their own
  bool data = false;                                  // values are computed
  std::optional<double> max_us, max_slower_percent, min_roofline_percent;
  std::vector<Requirement> requirements;
  CheckSet checks = CheckSet::all();
  bool strict = false;
  std::string table;  // its row in the table of kernels; empty: none
  std::string where;  // "suite.toml:12:1"

  std::string id() const { return name + " on " + machine; }
  const OutputTolerance& tolerance(const std::string& output) const;
};

struct Suite {
  std::string path;
  std::string baseline;  // path
  std::vector<SuiteCase> cases;
};

// Throws Fault(input) with file, line and column for whatever a suite cannot have.
Suite read_suite(const std::string& path);

}  // namespace ncemu::command
