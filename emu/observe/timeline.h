#pragma once

// A run, recorded as arrays: what reports, traces and the page are made of. Kept per dynamic instruction is
// only what differs from one execution to the next, so that a million instructions fit in memory.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "emu/machine/observer.h"

namespace ncemu {

inline constexpr std::size_t stall_reason_kinds = 6;
// "semaphore", "dma_queue"; "none".
std::string_view name(StallReason reason);

using Serial = std::uint32_t;  // counts the dynamic instructions of a run, in order of their starts
inline constexpr Serial no_serial = 0xFFFFFFFF;
inline constexpr std::uint32_t no_transfer = 0xFFFFFFFF;

// What a transfer moves, whatever its addresses.
struct TransferShape {
  std::int64_t bytes = 0;
  std::int64_t hbm_read = 0, hbm_written = 0, sbuf_read = 0, sbuf_written = 0, psum_read = 0;
  std::int64_t descriptors = 0;
  std::int64_t shortest_run = 0;  // bytes of the shortest descriptor
  DgeMode mode = DgeMode::static_;
  TransferKind kind = TransferKind::copy;
};

// One side of a transfer that lies in HBM, with its registers resolved.
struct HbmAccess {
  std::uint32_t pattern = 0;  // in Timeline::hbm_patterns
  bool write = false;
  bool indexed = false;  // the pattern is the table of whose rows an index chose some
};

struct Timeline {
  // By serial. Starts do not decrease.
  struct Instructions {
    std::vector<Engine> engine;
    std::vector<std::uint32_t> index;  // in the engine's stream
    std::vector<Ticks> start;
    std::vector<Ticks> stalled_since;  // == start when it did not stall
    std::vector<Ticks> busy_until;     // start + interval
    std::vector<Ticks> read_done;
    std::vector<Ticks> complete;
    std::vector<StallReason> reason;
    std::vector<Serial> producer;  // whose signal released its wait; no_serial: no wait, or long ago
    std::vector<Ticks> release;    // from when on the wait allowed the start
    std::vector<Ticks> gated;      // of [start, busy_until): what the clock gate added
    std::size_t size() const { return start.size(); }
  } instructions;
  std::array<std::vector<Serial>, engine_count> of_engine;  // in order
  std::array<std::vector<Work>, engine_count> work;         // by index in the stream

  // By number, in order of their triggers.
  struct Transfers {
    std::vector<Serial> serial;  // of the instruction that triggered it
    std::vector<std::uint8_t> queue;
    std::vector<Ticks> trigger;
    std::vector<Ticks> first_packet, last_packet;  // both == trigger when nothing was moved
    std::vector<Ticks> done;                       // the last semaphore increment is visible
    std::vector<std::uint32_t> shape;              // in Timeline::shapes
    std::vector<std::uint32_t> first_access;       // in Timeline::hbm_accesses, up to the next one's
    std::size_t size() const { return serial.size(); }
  } transfers;
  std::vector<TransferShape> shapes;
  std::vector<HbmAccess> hbm_accesses;
  std::vector<HbmPattern> hbm_patterns;  // each once

  // What the 16 DMA engines did, in order of the ends per engine: packets of one transfer that follow one
  // another without a pause are one span.
  struct Spans {
    std::vector<std::uint8_t> dma_engine;
    std::vector<std::uint32_t> transfer;
    std::vector<Ticks> begin, end;
    std::vector<std::int64_t> bytes;
    std::vector<std::uint32_t> packets;
    std::size_t size() const { return begin.size(); }
  } spans;

  // In order of time.
  struct SemaphoreChanges {
    std::vector<Ticks> at;
    std::vector<std::uint8_t> semaphore;
    std::vector<std::uint32_t> value;
    std::vector<Serial> by;
    std::size_t size() const { return at.size(); }
  } semaphores;

  // The kernel window: from the first start to the last completion.
  Ticks begin = 0, end = 0;
  Ticks total() const { return end - begin; }

  // The transfer that an instruction triggered, or no_transfer.
  std::uint32_t transfer_of(Serial serial) const;
  std::span<const HbmAccess> accesses(std::uint32_t transfer) const;
  const TransferShape& shape(std::uint32_t transfer) const { return shapes[transfers.shape[transfer]]; }
  const Work& work_of(Serial serial) const {
    return work[static_cast<std::size_t>(instructions.engine[serial])][instructions.index[serial]];
  }
};

struct Interval {
  Ticks begin = 0, end = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};
// When the tensor engine streamed at half rate; joined where one follows another.
std::vector<Interval> gated_intervals(const Timeline& timeline);
// When any DMA engine served a packet, merged, in order.
std::vector<Interval> dma_intervals(const Timeline& timeline);

class TimelineObserver : public Observer {
 public:
  // `semaphores` false leaves their changes out: only traces need them.
  explicit TimelineObserver(bool semaphores = true) : record_semaphores_(semaphores) {}

  void on_start(const Started& started) override;
  void on_transfer(const TransferStarted& transfer) override;
  void on_dma(const DmaService::Event& event) override;
  void on_transfer_done(DmaService::TransferId transfer, Ticks at) override;
  void on_semaphore(const SemaphoreChanged& change) override;
  void on_end(Ticks at) override;

  // Complete once the run has ended.
  const Timeline& timeline() const { return timeline_; }
  Timeline take() { return std::move(timeline_); }

 private:
  std::uint32_t shape_of(const TransferStarted& transfer);
  void record_accesses(const TransferStarted& transfer);
  std::uint32_t number_of(const HbmPattern& pattern);

  Timeline timeline_;
  bool record_semaphores_;
  std::array<std::vector<std::uint32_t>, engine_count> shape_numbers_;             // by index in the stream
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> pattern_numbers_;  // by hash
  std::array<std::uint32_t, dma_engine_count> last_span_ = no_spans();

  static constexpr std::array<std::uint32_t, dma_engine_count> no_spans() {
    std::array<std::uint32_t, dma_engine_count> none{};
    none.fill(no_index);
    return none;
  }
};

}  // namespace ncemu
