#pragma once

// What bounds a kernel and why, in one sentence.

#include <string>

#include "emu/observe/profile.h"

namespace ncemu {

struct Verdict {
  std::string
      bound;  // "DMA", "tensor", "vector", "scalar", "gpsimd", "sync", "PSUM eviction", "waits", "nothing"
  std::string sentence;  // "Bound by DMA: 81 % of the critical path (...), because ..."
};
Verdict verdict(const Profile& profile);

}  // namespace ncemu
