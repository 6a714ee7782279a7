#pragma once

// The core's memory-mapped window as `write` sees it (datasheet 2.4, 3.5): SBUF, PSUM, events and the four
// aliases of each semaphore.

#include <cstdint>
#include <variant>

#include "isa/program.h"

namespace ncemu {

// Four bytes of one partition.
struct MemoryWord {
  Space space = Space::sbuf;
  std::uint32_t partition = 0;
  std::uint32_t offset = 0;  // bytes
};

// One semaphore or event operation with its operand.
struct SemaphoreWrite {
  UpdateOperation operation = UpdateOperation::none;
  std::uint8_t semaphore = 0;
  std::uint32_t value = 0;
};

// What writing `data` to `address` means. Throws Fault(program), without a place, for any other address.
std::variant<MemoryWord, SemaphoreWrite> decode_write(std::uint32_t address, std::uint32_t data,
                                                      const Target& target);

}  // namespace ncemu
