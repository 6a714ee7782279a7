#include "isa/sync.h"

#include <fmt/format.h>

#include "isa/fault.h"
#include "isa/sync_emit.h"
#include "isa/sync_plan.h"

namespace ncemu {
namespace {

std::string where(const Program& program, Engine engine, std::uint32_t index) {
  const auto& stream = program.stream(engine);
  if (index >= stream.size()) return fmt::format("{}[{}]", name(engine), index);
  const Instruction& instruction = stream[index];
  const std::string site = program.sites[instruction.site].file == no_index
                               ? std::string()
                               : fmt::format(" ({})", describe_site(program, instruction.site));
  return fmt::format("{}[{}] {}{}", name(engine), index, info(instruction.opcode).mnemonic, site);
}

std::string bytes_of(const MemoryOperand& operand, const Program& program) {
  if (const auto* chip = std::get_if<AccessPattern>(&operand)) {
    const std::string tile =
        chip->place == no_place || chip->place >= program.places.size()
            ? std::string()
            : fmt::format(" ('{}')", program.tiles[program.places[chip->place].tile].name);
    const Extent e = extent(*chip);
    return fmt::format("{} bytes {} to {} of partitions {} to {}{}", name(chip->space), e.begin, e.end - 1,
                       chip->partition, chip->partition + chip->partitions - 1, tile);
  }
  const auto& hbm = std::get<HbmPattern>(operand);
  const Extent e = extent(hbm);
  return fmt::format("bytes {} to {} of tensor '{}'", e.begin, e.end - 1,
                     hbm.tensor < program.tensors.size() ? program.tensors[hbm.tensor].name : "?");
}

}  // namespace

SyncReport synchronise(Program& program, const SyncOptions& options) {
  ensure(!program.synchronised, "a program is synchronised once");
  if (program.target.semaphores < sync_semaphores::first_user) {
    throw Fault(FaultKind::input, program.name,
                "automatic synchronisation uses semaphores 0 to {}, the target has {}; write `.sync manual`",
                sync_semaphores::first_user - 1, program.target.semaphores);
  }
  return autosync::emit(program, autosync::plan(program, options), options);
}

std::string format(const SyncRecord& record, const Program& program) {
  const std::string waiter = where(program, record.waiter, record.waiter_index);
  const std::string wait = fmt::format("S[{}] >= {}", record.semaphore, record.value);
  const std::string producer = where(program, record.producer, record.producer_index);
  using Reason = SyncRecord::Reason;
  switch (record.reason) {
    case Reason::read_after_write:
      return fmt::format("{} waits {}: it reads {}, which {} writes", waiter, wait,
                         bytes_of(record.conflict, program), producer);
    case Reason::write_after_read:
      return fmt::format("{} waits {}: it writes {}, which {} reads", waiter, wait,
                         bytes_of(record.conflict, program), producer);
    case Reason::write_after_write:
      return fmt::format("{} waits {}: it writes {}, which {} writes before", waiter, wait,
                         bytes_of(record.conflict, program), producer);
    case Reason::semaphore_reuse:
      return fmt::format("{} waits {}: its semaphore is still in use by {}", waiter, wait, producer);
    case Reason::join:
      return fmt::format("{} waits {}: join of the streams, led by {}", waiter, wait, name(record.producer));
  }
  return {};
}

}  // namespace ncemu
