#pragma once

// What changed between two profiles, largest contribution first. Lines are matched by their text where their
// numbers moved.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ncemu::command {

struct Changed {
  std::string what;  // "softmax.nca:24: tensor_scalar ...", "vector stalled by semaphore"
  double before_us = 0, after_us = 0;
  double change() const { return after_us - before_us; }
};

struct ProfileDifference {
  // One of the two runs.
  struct Run {
    std::string kernel, machine;  // with its configuration
    double total_us = 0;
    std::string partial;  // why it ended early; empty for a run that finished
  };
  Run before, after;
  // "1.20 us slower (41.3 to 42.5 us, +2.9 %): ..."; begins with PARTIAL if one of the runs ended early.
  std::string sentence;
  // By line: its part of the critical path. Together they are the change of the total.
  std::vector<Changed> lines;
  std::vector<Changed> engines;  // busy and idle, and each reason of stalls
  std::vector<Changed> stalls;   // engine, line waited on, reason, engine waited for
  double change() const { return after.total_us - before.total_us; }
};

// From the texts of two `ncemu profile --json`. Throws Fault(input) that names the file (`before`, `after`)
// for anything else.
ProfileDifference diff_profiles(std::string_view before_json, const std::string& before,
                                std::string_view after_json, const std::string& after);

std::string diff_text(const ProfileDifference& difference);
std::string diff_json(const ProfileDifference& difference);

}  // namespace ncemu::command
