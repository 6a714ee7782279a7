#pragma once

// The assembler: a kernel's source to a placed and synchronised Program, with every mistake of the
// source in one list.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diagnostics.h"
#include "isa/program.h"
#include "isa/sync.h"

namespace ncemu {

struct AssembleOptions {
  // From -D NAME=VALUE. A value is an expression; a bare word is a type or a string.
  std::map<std::string, std::string> params;
  std::optional<Target> target;  // instead of the source's `.machine`
  bool explain_sync = false;     // fill SyncReport::records
  bool keep_text_order = false;  // placed and checked, but not synchronised: not for the machine
  // What `.machine NAME` means; find_target() when empty.
  std::function<std::optional<Target>(std::string_view)> find_machine;
  // Called now and then while the source runs; ends the assembly by throwing.
  std::function<void()> progress;
  // A source that unrolls without end stops here: statements executed, and instructions made.
  std::int64_t most_steps = 64'000'000;
  std::int64_t most_instructions = 16'000'000;
};

struct Assembly {
  Program program;  // of use only if ok()
  Diagnostics diagnostics;
  SyncReport sync;
  bool ok() const { return !diagnostics.has_errors(); }
};

// A file that cannot be read is an error among the diagnostics.
Assembly assemble_file(const std::string& path, const AssembleOptions& options = {});
// `name` stands for the file in messages; includes and constants are looked for beside it.
Assembly assemble_text(const std::string& text, const std::string& name, const AssembleOptions& options = {});

// What a source lets its user choose, in the order of the text.
struct ParamInfo {
  std::string name;
  std::string value;    // the default, as written
  std::string comment;  // behind it on its line, without '#'
};
std::vector<ParamInfo> parameters(const std::string& path);

}  // namespace ncemu
