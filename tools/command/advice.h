#pragma once

// What a profile suggests to change: each finding crosses a stated threshold, names a line, and says what the
// run would take without the effect, by timing it again.

#include <optional>
#include <string>
#include <vector>

#include "tools/command/retime.h"

namespace ncemu::command {

struct Advice {
  std::string name;       // "small_descriptors"
  std::string threshold;  // "descriptors under 4096 bytes on average"
  std::string finding;    // one sentence with the figures
  std::string suggestion;
  PlaceNumber place = 0;       // where it matters most
  std::string removed;         // what was left out of the second run
  std::optional<Ticks> total;  // of that run; none if it could not run
};

// Largest gain first.
std::vector<Advice> advise(const Profile& profile, const Retimer& retimer);

}  // namespace ncemu::command
