#pragma once

// What can go wrong, in words. Libraries throw Fault; only `main` catches it, prints one line and
// exits as the design says. The assembler and the rules collect Diagnostics instead.

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace ncemu {

enum class FaultKind {
  program,   // the kernel or a check failed                       exit 1
  input,     // options, files, sources that cannot be used        exit 2
  internal,  // our own bug                                        exit 3
};

// `where` names the place in the user's words: "gemm.nca:12:3", "c.npy", "tensor 'at'". May be empty.
class Fault : public std::runtime_error {
 public:
  template <typename... Args>
  Fault(FaultKind kind, std::string where, fmt::format_string<Args...> text, Args&&... args)
      : Fault(kind, std::move(where), fmt::format(text, std::forward<Args>(args)...), Formatted{}) {}

  FaultKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  const std::string& message() const { return message_; }  // without the place

 private:
  struct Formatted {};
  Fault(FaultKind kind, std::string where, std::string message, Formatted)
      : std::runtime_error(where.empty() ? message : where + ": " + message),
        kind_(kind),
        where_(std::move(where)),
        message_(std::move(message)) {}

  FaultKind kind_;
  std::string where_;
  std::string message_;
};

// An invariant of our own, as a sentence: ensure(head <= tail, "the queue ran past its end").
inline void ensure(bool holds, const char* sentence) {
  if (!holds) throw Fault(FaultKind::internal, "ncemu", "internal error, not true: {}", sentence);
}

}  // namespace ncemu
