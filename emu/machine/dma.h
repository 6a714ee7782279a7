#pragma once

// The transfers of a core as the machine sees them: descriptor generators per issuer and mode, the triggers
// on their way to the DMA service, and what each transfer signals when its DMA engines are done
// (datasheet 7.6, 7.7, 7.10).

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emu/machine/semaphores.h"
#include "emu/timing/dma_service.h"
#include "isa/program.h"

namespace ncemu {

// A transfer between its trigger and its last completion.
struct Transfer {
  Signaller by;
  std::uint32_t index = 0;  // of the instruction in its issuer's stream
  Update update;
  int pending = dma_engine_count;  // DMA engines that have not signalled
};

// What each of the 16 DMA engines adds to the semaphore of the update: 1 for sem_inc, a sixteenth for an
// addition that is a multiple of 16. Throws Fault(program), without a place, for any other update.
std::uint32_t increment_per_engine(const Update& update);

class DmaUnit {
 public:
  explicit DmaUnit(const MachineConfig& machine);

  // The number of the transfer's descriptors, for work(). Equal shapes share them, wherever they lie.
  std::uint32_t describe(const Operands& transfer);
  const TransferWork& work(std::uint32_t described) const { return *works_[described]; }

  // The earliest issue at which the generator can take the trigger: issue + issue_cost >= generator free.
  Ticks earliest_issue(Engine issuer, DgeMode mode, Ticks issue_cost) const;

  struct Triggered {
    DmaService::TransferId id = 0;
    Ticks occupied = 0;     // the issuer may go on this much later
    Ticks descriptors = 0;  // when the DMA engines may begin
  };
  // Issues at `t` >= earliest_issue; `delay` postpones the transfer itself. `replaced`, if given, is moved
  // instead.
  Triggered trigger(const Route& route, std::uint32_t described, const Transfer& transfer, Ticks t,
                    Ticks issue_cost, Ticks delay, std::shared_ptr<const TransferWork> replaced = nullptr);
  // How long the issuer is occupied by the trigger.
  Ticks occupation(DgeMode mode, std::uint32_t described, Ticks issue_cost) const;
  // How long the generator is.
  Ticks generation(DgeMode mode, std::uint32_t described) const;

  Ticks next_time() const { return service_.next_time(); }
  std::optional<DmaService::Event> pop() { return service_.pop(); }
  // The transfer of an event.
  const Transfer& transfer(DmaService::TransferId id) const;
  // One DMA engine of it has signalled; true when it was the last.
  bool engine_done(DmaService::TransferId id);
  bool idle() const { return service_.idle(); }

 private:
  Ticks& generator_free(Engine issuer, DgeMode mode);

  const MachineConfig* machine_;
  DmaService service_;
  std::array<std::array<Ticks, 3>, engine_count> generator_free_{};
  std::vector<Ticks> queue_ready_;  // transfers of one queue stay in the order of their triggers
  std::deque<Transfer> transfers_;  // first_ .. first_ + size - 1
  DmaService::TransferId first_ = 0;

  struct Shape {
    Operands transfer;  // without addresses and route
    std::uint32_t work = 0;
  };
  std::vector<std::shared_ptr<const TransferWork>> works_;
  std::unordered_map<std::uint64_t, std::vector<Shape>> shapes_;
};

}  // namespace ncemu
