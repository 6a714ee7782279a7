#include "isa/address_window.h"

#include <doctest/doctest.h>

#include "isa/fault.h"

using namespace ncemu;

namespace {

std::string complaint(std::uint32_t address, std::uint32_t data = 0) {
  try {
    decode_write(address, data, Target{});
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::program);
    return fault.what();
  }
  return "";
}

}  // namespace

TEST_CASE("SBUF partitions lie 256 KiB apart") {
  // datasheet 3.5: a destination printed as 0x1020000 is partition 64, byte 0x20000.
  const auto word = std::get<MemoryWord>(decode_write(0x102'0000, 1, Target{}));
  CHECK(word.space == Space::sbuf);
  CHECK(word.partition == 64);
  CHECK(word.offset == 0x2'0000);
}

TEST_CASE("PSUM begins at 32 MiB with its partitions 16 KiB apart") {
  const auto bank2 = std::get<MemoryWord>(decode_write(0x200'1000, 1, Target{}));
  CHECK(bank2.space == Space::psum);
  CHECK(bank2.partition == 0);
  CHECK(bank2.offset == 2 * 2048);
  const auto last = std::get<MemoryWord>(decode_write(0x200'0000 + 127 * 0x4000 + 0x3FFC, 1, Target{}));
  CHECK(last.partition == 127);
  CHECK(last.offset == 0x3FFC);
}

TEST_CASE("the aliases of a semaphore set, increment and decrement it") {
  const auto set = std::get<SemaphoreWrite>(decode_write(0x270'1400 + 4 * 17, 300, Target{}));
  CHECK(set.operation == UpdateOperation::sem_wr_imm);
  CHECK(set.semaphore == 17);
  CHECK(set.value == 300);
  CHECK(std::get<SemaphoreWrite>(decode_write(0x270'1800, 1, Target{})).operation ==
        UpdateOperation::sem_add_imm);
  const auto last = std::get<SemaphoreWrite>(decode_write(0x270'1c00 + 4 * 255, 1, Target{}));
  CHECK(last.operation == UpdateOperation::sem_sub_imm);
  CHECK(last.semaphore == 255);
}

TEST_CASE("an event is set by 1 and cleared by 0") {
  CHECK(std::get<SemaphoreWrite>(decode_write(0x270'0004, 1, Target{})).operation ==
        UpdateOperation::evt_set);
  CHECK(std::get<SemaphoreWrite>(decode_write(0x270'0004, 0, Target{})).operation ==
        UpdateOperation::evt_clr);
  CHECK(complaint(0x270'0004, 2) == "event E[1] is set by writing 1 and cleared by writing 0, not 0x2");
}

TEST_CASE("addresses that are nothing are refused with the reason") {
  CHECK(complaint(0x30000) == "address 0x30000 is byte 196608 of sbuf partition 0, which has 196608 bytes");
  CHECK(complaint(0x2FFFC) == "");
  CHECK(complaint(2) == "address 0x2 is not a multiple of 4");
  CHECK(complaint(0x270'1000 + 4 * 9) ==
        "address 0x2701024 is the read alias of S[9], which cannot be written");
  const std::string outside =
      "address 0x2702000 is neither SBUF, PSUM, an event nor a semaphore of the core's window";
  CHECK(complaint(0x270'2000) == outside);
  CHECK(complaint(0x270'0400).find("neither") != std::string::npos);
  CHECK(complaint(0x220'0000).find("neither") != std::string::npos);
}
