#pragma once

// What can end a long run early: Ctrl-C and a time limit; and the progress line meanwhile.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ncemu::command {

// Asked now and then by the machine. The first Ctrl-C ends the run with a partial report, the second ends the
// process.
class Watch {
 public:
  // Progress is shown only if standard error is a terminal.
  // The limit counts from `started`. With `ask_instead`, which is asked now and then, Ctrl-C is left alone
  // and no progress is shown: a library has no business with either.
  Watch(std::optional<double> limit_seconds, std::chrono::steady_clock::time_point started,
        std::function<bool()> ask_instead = {});
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // `simulated_us`: device time so far, 0 without a clock. `expected`: instructions in all, if that is known.
  bool ask(std::uint64_t instructions, double simulated_us = 0, std::optional<std::uint64_t> expected = {});
  bool shows_progress() const { return terminal_; }
  double seconds() const;  // since the watch was made
  // Why ask() returned true: "interrupted", "the time limit of 2 s"; empty if it did not.
  const std::string& reason() const { return reason_; }

 private:
  std::chrono::steady_clock::time_point started_, start_, shown_;
  std::optional<double> limit_;
  bool terminal_, line_open_ = false;
  std::string reason_;
  std::function<bool()> ask_instead_;
  void (*previous_)(int);
};

}  // namespace ncemu::command
