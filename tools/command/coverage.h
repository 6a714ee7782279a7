#pragma once

// Which bytes of the output tensors a run has written, exactly, so that an output nobody wrote is an error
// instead of a file of whatever was there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/program.h"

namespace ncemu::command {

class Coverage {
 public:
  explicit Coverage(const Program& program);

  // Notes what a resolved instruction wrote.
  void note(const Instruction& instruction);

  // "output 'c' was never written", "output 'c': 512 of 4096 elements were never written, the first at [3,
  // 0]".
  std::vector<std::string> complaints() const;

 private:
  struct Output {
    std::uint16_t tensor = 0;
    std::vector<std::uint64_t> written;  // one bit per byte
  };
  void mark(Output& output, std::int64_t begin, std::int64_t length);

  const Program& program_;
  std::vector<Output> outputs_;
  std::vector<std::uint32_t> output_of_;  // by tensor; no_index: not an output
};

}  // namespace ncemu::command
