#pragma once

// What the checks of a run find: one type for races, uninitialised reads, misuse of semaphores and
// all else, so that severity, suppression and every output format are written once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diagnostics.h"
#include "isa/program.h"

namespace ncemu {

enum class CheckKind : std::uint8_t {
#define NCEMU_CHECK(name, severity, sentence) name,
#include "emu/observe/checks.def"
#undef NCEMU_CHECK
};

struct CheckInfo {
  std::string_view name;  // as --checks takes it
  Severity severity;      // without --strict
  std::string_view sentence;
};

const CheckInfo& info(CheckKind kind);

// An instruction that a finding speaks of.
struct Involved {
  Engine engine = Engine::tensor;
  std::uint32_t index = no_index;  // in the engine's stream; no_index: the whole stream
  std::string says;                // "writes t[0:128, 0:512] (SBUF bytes 0 to 2047 of partitions 0 to 127)"
};

struct Finding {
  CheckKind kind = CheckKind::races;
  std::string message;                 // one sentence, in the user's vocabulary
  std::vector<Involved> involved;      // the one to blame first; may be empty (an output nobody wrote)
  std::string fix;                     // "vector must wait for S[3] >= 4"; may be empty
  std::uint64_t count = 1;             // how often the same instructions met in the run
  std::optional<Severity> severity{};  // where it is not that of its kind
  std::uint32_t site = 0;              // of a declaration, where no instruction is to blame
};

}  // namespace ncemu
