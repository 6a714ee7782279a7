#pragma once

// The loops and macros of a program's source files, and their lines, for the source view of a profile.

#include <string>
#include <vector>

#include "emu/observe/regions.h"

namespace ncemu::command {

struct SourceText {
  std::vector<std::vector<std::string>>
      files;  // by file of the program, its lines; empty if it cannot be read
  std::vector<SourceBlock> blocks;

  // The line without its surrounding blanks; empty if unknown.
  std::string line(const SourcePlace& place) const;
};
// Reads the files the program names, as far as they (still) exist.
SourceText read_sources(const Program& program);

}  // namespace ncemu::command
