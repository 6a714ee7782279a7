#pragma once

// Runs a check on every vector target this host can run, and puts the best one back.

#include <doctest/doctest.h>

#include <string>

#include "emu/data/vector_target.h"
#include "isa/fault.h"

namespace ncemu {

template <typename Check>
void on_every_target(Check check) {
  int targets = 0;
  for (const char* target : {"scalar", "avx2", "avx3", "neon"}) {
    try {
      restrict_vector_targets(target);
    } catch (const Fault&) {
      continue;  // not on this host
    }
    const std::string running = vector_target();
    CAPTURE(running);
    CHECK(running == target);
    check();
    ++targets;
  }
  restrict_vector_targets("best");
  CHECK(targets >= 1);
}

}  // namespace ncemu
