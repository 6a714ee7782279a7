#pragma once

// `--dump NAME@line=42`: shows a tensor or tile whenever an instruction of that source line has taken effect.

#include <string>
#include <vector>

#include "emu/data/state.h"
#include "isa/program.h"

namespace ncemu::command {

class Dump {
 public:
  // Throws Fault(input) if the kernel has no such tensor or tile, or no instruction at that line (with the
  // nearest lines that have one).
  Dump(const Program& program, const std::string& text);

  // What to print after this instruction; empty if it is of another line. A tile is shown at the place that
  // the instruction uses; at all of its places if it uses none.
  std::string after(Engine engine, std::uint32_t index, const Instruction& instruction,
                    const State& state) const;

 private:
  bool at_line(std::uint32_t site) const;

  const Program& program_;
  std::string name_;
  std::uint32_t line_ = 0;
  std::uint32_t tensor_ = no_index;
  std::vector<std::uint32_t> tiles_;  // declarations of that name
};

}  // namespace ncemu::command
