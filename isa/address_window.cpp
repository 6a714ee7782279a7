#include "isa/address_window.h"

#include "isa/fault.h"

namespace ncemu {
namespace {

// Datasheet 3.5 (derived; the stride of PSUM partitions assumed) and 2.4 (drv).
constexpr std::uint32_t sbuf_end = 0x0200'0000;
constexpr std::uint32_t sbuf_stride = 0x4'0000;
constexpr std::uint32_t psum_stride = 0x4000;
constexpr std::uint32_t events = 0x0270'0000;
constexpr std::uint32_t slot_bytes = 4;
constexpr std::uint32_t slots = 256;

struct Alias {
  std::uint32_t base;
  UpdateOperation operation;
  const char* name;
};
// clang-format off
//   base           what a write does             name
constexpr Alias aliases[] = {
    {0x0270'1000,   UpdateOperation::none,        "read"},
    {0x0270'1400,   UpdateOperation::sem_wr_imm,  "set"},
    {0x0270'1800,   UpdateOperation::sem_add_imm, "increment"},
    {0x0270'1c00,   UpdateOperation::sem_sub_imm, "decrement"},
};
// clang-format on

bool within(std::uint32_t address, std::uint32_t base, std::uint32_t bytes) {
  return address >= base && address - base < bytes;
}

MemoryWord memory_word(Space space, std::uint32_t offset, std::uint32_t stride, std::uint32_t usable,
                       std::uint32_t address) {
  const MemoryWord word{space, offset / stride, offset % stride};
  if (word.offset + slot_bytes > usable) {
    throw Fault(FaultKind::program, "", "address {:#x} is byte {} of {} partition {}, which has {} bytes",
                address, word.offset, name(space), word.partition, usable);
  }
  return word;
}

}  // namespace

std::variant<MemoryWord, SemaphoreWrite> decode_write(std::uint32_t address, std::uint32_t data,
                                                      const Target& target) {
  if (address % slot_bytes != 0) {
    throw Fault(FaultKind::program, "", "address {:#x} is not a multiple of 4", address);
  }
  if (address < sbuf_end && address / sbuf_stride < target.partitions) {
    return memory_word(Space::sbuf, address, sbuf_stride, target.sbuf_partition_bytes, address);
  }
  if (within(address, sbuf_end, target.partitions * psum_stride)) {
    return memory_word(Space::psum, address - sbuf_end, psum_stride, target.psum_partition_bytes(), address);
  }
  if (within(address, events, slots * slot_bytes)) {
    const auto number = static_cast<std::uint8_t>((address - events) / slot_bytes);
    if (data > 1) {
      throw Fault(FaultKind::program, "",
                  "event E[{}] is set by writing 1 and cleared by writing 0, not {:#x}", number, data);
    }
    return SemaphoreWrite{data == 1 ? UpdateOperation::evt_set : UpdateOperation::evt_clr, number, 0};
  }
  for (const Alias& alias : aliases) {
    if (!within(address, alias.base, slots * slot_bytes)) continue;
    const auto number = static_cast<std::uint8_t>((address - alias.base) / slot_bytes);
    if (alias.operation == UpdateOperation::none) {
      throw Fault(FaultKind::program, "", "address {:#x} is the read alias of S[{}], which cannot be written",
                  address, number);
    }
    return SemaphoreWrite{alias.operation, number, data};
  }
  throw Fault(FaultKind::program, "",
              "address {:#x} is neither SBUF, PSUM, an event nor a semaphore of the core's window", address);
}

}  // namespace ncemu
