#include "emu/machine/dma.h"

#include <algorithm>
#include <string>

#include "isa/fault.h"

namespace ncemu {
namespace {

// What decides the descriptors: everything but where operands begin and which way the transfer takes.
struct Strip {
  void operator()(std::string_view, MemoryOperand& side, Role) const {
    if (auto* on_chip = std::get_if<AccessPattern>(&side)) {
      on_chip->offset = 0;
      on_chip->index = {};
      on_chip->index_step = 0;
      on_chip->place = no_place;
    } else {
      auto& hbm = std::get<HbmPattern>(side);
      hbm.tensor = 0;
      hbm.offset = 0;
      hbm.index = {};
      hbm.index_step = 0;
    }
  }
  void operator()(std::string_view, ScalarOperand& index, Role) const {
    if (std::holds_alternative<PointerOperand>(index)) index = PointerOperand{};
  }
  void operator()(std::string_view, std::uint8_t& queue, Role) const { queue = 0; }
  void operator()(std::string_view, DgeMode& mode, Role) const { mode = DgeMode::static_; }
  void operator()(std::string_view, float& scale, Role) const { scale = 1; }
  template <typename T>
  void operator()(std::string_view, T&, Role) const {}
};

class Hash {
 public:
  void add(std::uint64_t v) { value_ = (value_ ^ v) * 0x9E37'79B9'7F4A'7C15U; }
  std::uint64_t value() const { return value_ ^ (value_ >> 29U); }

 private:
  std::uint64_t value_ = 0xCBF2'9CE4'8422'2325U;
};

void add(Hash& hash, const MemoryOperand& side) {
  std::visit(
      [&](const auto& p) {
        hash.add(static_cast<std::uint64_t>(p.dtype));
        for (const auto& d : p.dims) {
          hash.add((static_cast<std::uint64_t>(d.count) << 32U) ^ static_cast<std::uint32_t>(d.step));
        }
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, AccessPattern>) {
          hash.add((std::uint64_t{p.partition} << 8U) | p.partitions);
        }
      },
      side);
}

}  // namespace

std::uint32_t increment_per_engine(const Update& update) {
  if (update.operation == UpdateOperation::sem_inc) return 1;
  if (update.operation == UpdateOperation::sem_add_imm && update.value % dma_engine_count == 0) {
    return static_cast<std::uint32_t>(update.value / dma_engine_count);
  }
  const std::string found = update.operation == UpdateOperation::sem_add_imm
                                ? fmt::format("'S[{}] += {}'", update.semaphore, update.value)
                                : fmt::format("{} of {}", name(update.operation), update.semaphore);
  throw Fault(
      FaultKind::program, "",
      "a transfer signals once from each of its 16 DMA engines: write 'S[{0}] ++' (16 in all, waited for by "
      "'S[{0}] >= 16') or 'S[{0}] += n' with n a multiple of 16, not {1}",
      update.semaphore, found);
}

DmaUnit::DmaUnit(const MachineConfig& machine)
    : machine_(&machine), service_(machine), queue_ready_(machine.target.dma_queues, 0) {}

std::uint32_t DmaUnit::describe(const Operands& transfer) {
  Operands shape = transfer;
  for_each_field(shape, Strip{});
  Hash hash;
  hash.add(shape.index());
  for_each_field(shape, [&](std::string_view, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, MemoryOperand>) add(hash, field);
  });
  std::vector<Shape>& candidates = shapes_[hash.value()];
  for (const Shape& known : candidates) {
    if (known.transfer == shape) return known.work;
  }
  const auto number = static_cast<std::uint32_t>(works_.size());
  works_.push_back(std::make_shared<const TransferWork>(transfer_work(shape, machine_->target.generation)));
  candidates.push_back({std::move(shape), number});
  return number;
}

Ticks& DmaUnit::generator_free(Engine issuer, DgeMode mode) {
  return generator_free_[static_cast<std::size_t>(issuer)][static_cast<std::size_t>(mode)];
}

Ticks DmaUnit::earliest_issue(Engine issuer, DgeMode mode, Ticks issue_cost) const {
  return generator_free_[static_cast<std::size_t>(issuer)][static_cast<std::size_t>(mode)] - issue_cost;
}

Ticks DmaUnit::generation(DgeMode mode, std::uint32_t described) const {
  return generation_time(mode, work(described), *machine_);
}

Ticks DmaUnit::occupation(DgeMode mode, std::uint32_t described, Ticks issue_cost) const {
  if (!generation_blocks_issuer(mode)) return issue_cost;
  return std::max(issue_cost, generation(mode, described));
}

DmaUnit::Triggered DmaUnit::trigger(const Route& route, std::uint32_t described, const Transfer& transfer,
                                    Ticks t, Ticks issue_cost, Ticks delay,
                                    std::shared_ptr<const TransferWork> replaced) {
  const Engine issuer = transfer.by.engine;
  Ticks& generator = generator_free(issuer, route.mode);
  const Ticks taken = t + issue_cost;
  ensure(taken >= generator, "a trigger waits until its descriptor generator is free");
  ensure(route.queue < queue_ready_.size(), "a transfer names one of the DMA queues");
  generator = taken + generation(route.mode, described);

  Triggered result;
  result.occupied = occupation(route.mode, described, issue_cost);
  Ticks& ready = queue_ready_[route.queue];
  ready = std::max(ready, taken + trigger_latency(route.mode, *machine_) + delay);
  result.descriptors = ready;
  result.id = service_.submit(replaced ? std::move(replaced) : works_[described], route.queue, ready);
  ensure(result.id == first_ + transfers_.size(),
         "the DMA service numbers transfers in the order of their triggers");
  transfers_.push_back(transfer);
  return result;
}

const Transfer& DmaUnit::transfer(DmaService::TransferId id) const { return transfers_[id - first_]; }

bool DmaUnit::engine_done(DmaService::TransferId id) {
  Transfer& done = transfers_[id - first_];
  ensure(done.pending > 0, "a transfer is signalled once by each DMA engine");
  const bool last = --done.pending == 0;
  while (!transfers_.empty() && transfers_.front().pending == 0) {
    transfers_.pop_front();
    ++first_;
  }
  return last;
}

}  // namespace ncemu
