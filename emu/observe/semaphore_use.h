#pragma once

// What the instructions of a program do with each semaphore, each of them executed once: seen in one pass
// over the streams, which for a long program costs as much as a good part of its run.

#include <array>
#include <cstdint>

#include "isa/program.h"

namespace ncemu {

struct SemaphoreUse {
  struct One {
    std::uint64_t sum = 0;          // of all increments
    std::uint64_t most_set = 0;     // the largest value it is set to
    std::uint32_t most_needed = 0;  // the most that a wait for a known value needs
    bool waits = false;
    bool takes = false;  // subtracts
  };
  struct Stream {
    std::array<One, 256> semaphores{};
    bool repeats = false;  // a branch leads back
  };
  std::array<Stream, engine_count> streams{};

  const One& of(Engine engine, std::size_t semaphore) const {
    return streams[static_cast<std::size_t>(engine)].semaphores[semaphore];
  }
};
SemaphoreUse semaphore_use(const Program& program);

}  // namespace ncemu
