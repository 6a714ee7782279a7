#include "tools/command/interrupt.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace ncemu::command {
namespace {

// A signal handler can reach nothing but a global.
volatile std::sig_atomic_t interrupts = 0;

void on_interrupt(int) {
  interrupts = interrupts + 1;
  std::signal(SIGINT, SIG_DFL);
}

constexpr std::chrono::milliseconds progress_period{250};

}  // namespace

Watch::Watch(std::optional<double> limit_seconds, std::chrono::steady_clock::time_point started,
             std::function<bool()> ask_instead)
    : started_(started),
      start_(std::chrono::steady_clock::now()),
      shown_(start_),
      limit_(limit_seconds),
      terminal_(!ask_instead && isatty(STDERR_FILENO) == 1),
      ask_instead_(std::move(ask_instead)),
      previous_(ask_instead_ ? nullptr : std::signal(SIGINT, on_interrupt)) {
  if (!ask_instead_) interrupts = 0;
}

Watch::~Watch() {
  if (!ask_instead_) std::signal(SIGINT, previous_);
  if (line_open_) std::fputs("\r\x1b[K", stderr);
}

double Watch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Watch::ask(std::uint64_t instructions, double simulated_us, std::optional<std::uint64_t> expected) {
  if (ask_instead_ ? ask_instead_() : interrupts > 0) {
    reason_ = "interrupted";
    return true;
  }
  if (limit_ && std::chrono::steady_clock::now() - started_ >= std::chrono::duration<double>(*limit_)) {
    reason_ = fmt::format("the time limit of {} s of host time", *limit_);
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (terminal_ && now - shown_ >= progress_period) {
    shown_ = now;
    line_open_ = true;
    std::string text =
        fmt::format("running: {:.1f} s of host time, {} instructions", seconds(), instructions);
    if (simulated_us > 0) text += fmt::format(", {:.0f} us of device time", simulated_us);
    if (expected && instructions > 0 && instructions <= *expected) {
      const double rest = static_cast<double>(*expected - instructions) / static_cast<double>(instructions);
      text += fmt::format(", about {:.0f} s left", seconds() * rest);
    }
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
  }
  return false;
}

}  // namespace ncemu::command
