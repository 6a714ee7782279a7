#pragma once

// What can end a long run early: Ctrl-C and a time limit; and the progress line meanwhile.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace ncemu::command {

// Asked now and then by the machine. The first Ctrl-C ends the run with a partial report, the second ends the
// process.
class Watch {
 public:
  // Progress is shown only if standard error is a terminal.
  // The limit counts from `started`.
  Watch(std::optional<double> limit_seconds, std::chrono::steady_clock::time_point started);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // `simulated_us`: device time so far, 0 without a clock. `expected`: instructions in all, if that is known.
  bool ask(std::uint64_t instructions, double simulated_us = 0, std::optional<std::uint64_t> expected = {});
  double seconds() const;  // since the watch was made
  // Why ask() returned true: "interrupted", "the time limit of 2 s"; empty if it did not.
  const std::string& reason() const { return reason_; }

 private:
  std::chrono::steady_clock::time_point started_, start_, shown_;
  std::optional<double> limit_;
  bool terminal_, line_open_ = false;
  std::string reason_;
  void (*previous_)(int);
};

}  // namespace ncemu::command
