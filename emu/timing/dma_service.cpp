#include "emu/timing/dma_service.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <queue>
#include <utility>

#include "emu/timing/dma_moments.h"
#include "isa/fault.h"

namespace ncemu {

Ticks generation_time(DgeMode mode, const TransferWork& work, const MachineConfig& m) {
  switch (mode) {
    case DgeMode::static_: return ticks_from_ns(m, m.dma.g_static_ns);
    case DgeMode::software:
      return ticks_from_ns(m, m.dma.g_software_ns +
                                  m.dma.g_software_row_ns * static_cast<double>(work.descriptors) +
                                  m.dma.g_index_row_ns * static_cast<double>(work.indexed_rows));
    case DgeMode::hardware: return ticks_from_ns(m, m.dma.g_hardware_ns);
  }
  return 0;
}

Ticks trigger_latency(DgeMode mode, const MachineConfig& m) {
  switch (mode) {
    case DgeMode::static_: return ticks_from_ns(m, m.dma.l_trig_ns);
    case DgeMode::software: return ticks_from_ns(m, m.dma.l_trig_software_ns);
    case DgeMode::hardware: return ticks_from_ns(m, m.dma.l_trig_hardware_ns);
  }
  return 0;
}

Ticks transfer_done_latency(const MachineConfig& m) { return ticks_from_ns(m, m.dma.l_done_ns); }

bool generation_blocks_issuer(DgeMode mode) {
  switch (mode) {
    case DgeMode::static_: return true;    // the issuer writes the doorbells itself
    case DgeMode::software: return false;  // measured rows: 31 ns, beside the program that builds descriptors
    case DgeMode::hardware: return true;
  }
  return false;
}

double rate_share(TransferKind kind, const MachineConfig::DmaParameters& dma) {
  switch (kind) {
    case TransferKind::copy: return 1;
    case TransferKind::compute: return dma.compute_share;
    case TransferKind::transpose_hbm: return dma.transpose_hbm_share;
    case TransferKind::transpose_sbuf: return dma.transpose_sbuf_share;
  }
  return 1;
}

namespace {

using namespace dma;

constexpr std::size_t queue_count = 16;  // of one DMA engine (datasheet 7.1)

struct Transfer {
  std::shared_ptr<const TransferWork> work;
  Ticks submitted = 0;
  Ticks tail = 0;
  std::uint8_t queue = 0;
  std::uint8_t open = dma_engine_count;  // engines whose increment is not visible yet
  int hbm_accesses = 0;                  // 2 when it reads and writes HBM
  bool stores = false;                   // writes HBM and does not read it
};

// A transfer's part on one engine, and how far it has come.
struct Job {
  DmaService::TransferId id = 0;
  const Transfer* transfer = nullptr;
  std::uint32_t run = 0;         // index in the engine's DescriptorRuns
  std::int64_t descriptors = 0;  // of that run, already served
  std::int64_t in_packet = 0;    // descriptors of that run in a full packet
};

// First in, first out; keeps its memory.
class JobQueue {
 public:
  bool empty() const { return head_ == jobs_.size(); }
  Job& front() { return jobs_[head_]; }
  void push(const Job& job) { jobs_.push_back(job); }
  void pop() {
    if (++head_ == jobs_.size()) {
      jobs_.clear();
      head_ = 0;
    } else if (head_ >= 64 && head_ * 2 >= jobs_.size()) {
      jobs_.erase(jobs_.begin(), jobs_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  std::vector<Job> jobs_;
  std::size_t head_ = 0;
};

struct DmaEngine {
  std::array<JobQueue, queue_count> queues;
  std::uint16_t waiting = 0;             // a bit for each queue that is not empty
  std::uint8_t queue = queue_count - 1;  // served last
  bool occupied = false;                 // by a packet or a semaphore write
  // The packet in service.
  Ticks begin = 0;
  std::int64_t bytes = 0;
  std::int64_t descriptors = 0;
  int hbm_accesses = 0;
  bool posted = false;      // a write that the buffer takes
  bool elements = false;    // each descriptor is less than an access to HBM, on both sides
  double posted_bytes = 0;  // written and not yet in HBM, at the time below
  Ticks idle_since = 0;     // the end of the last packet or semaphore write
  TransferKind kind = TransferKind::copy;
};

// What decides how long a packet takes; equal ones follow one another in thousands.
struct PacketTimes {
  struct Known {
    std::uint64_t packet = ~std::uint64_t{0};
    Ticks time = 0;
  };
  static constexpr std::size_t size = 256;
  std::array<Known, size> known{};
  Known& at(std::uint64_t packet) { return known[packet * 0x9E37'79B9'7F4A'7C15U >> 56U]; }
};

}  // namespace

struct DmaService::Impl {
  explicit Impl(const MachineConfig& machine)
      : config(machine.dma),
        hbm_bytes_per_ns(machine.hbm.bytes_per_ns),
        per_us(ticks_per_us(machine)),
        element_bytes(machine.timing.mode == TimingMode::measured ? machine.dma.element_bytes : 0),
        write_buffer(machine.timing.mode == TimingMode::measured ? machine.dma.write_buffer_bytes : 0),
        t_sem(ticks_from_ns(machine, machine.dma.t_sem_ns)),
        tail_load(ticks_from_ns(machine, machine.dma.tail_load_ns)),
        tail_store(ticks_from_ns(machine, machine.dma.tail_store_ns)),
        tail_short(ticks_from_ns(machine, machine.dma.tail_short_ns)) {
    for (std::size_t e = 0; e < stagger.size(); ++e) {
      stagger[e] = ticks_from_ns(machine, machine.dma.stagger_ns * static_cast<double>(e));
    }
  }

  Transfer& transfer(TransferId id) { return transfers[id - first_transfer]; }

  TransferId submit(std::shared_ptr<const TransferWork> work, std::uint8_t queue, Ticks t) {
    ensure(queue < queue_count, "a DMA engine has 16 queues");
    ensure(t >= now, "a transfer is not submitted into the past");
    const TransferId id = first_transfer + static_cast<TransferId>(transfers.size());
    Transfer& made = transfers.emplace_back();
    made.hbm_accesses = (work->hbm_read > 0 ? 1 : 0) + (work->hbm_written > 0 ? 1 : 0);
    made.stores = work->hbm_written > 0 && work->hbm_read == 0;
    made.tail = work->shortest_run < config.tail_run_bytes ? tail_short
                : work->hbm_written > 0                    ? tail_store
                                                           : tail_load;
    made.work = std::move(work);
    made.submitted = t;
    made.queue = queue;
    push(t, 0, Step::arrival, id);
    return id;
  }

  void push(Ticks time, std::uint8_t engine, Step step, TransferId id) {
    heap.push({moment(time, engine, step), id});
  }

  Moment next() const { return std::min(busy.first(), heap.empty() ? no_moment : heap.top().moment); }

  void pop(std::optional<Event>& event) {
    const Moment first = next();
    ensure(first != no_moment, "an idle DMA service has no events");
    now = time_of(first);
    const std::uint8_t e = engine_of(first);
    switch (step_of(first)) {
      case Step::packet_end:
        busy.set(e, no_moment);
        end_packet(e, event.emplace());
        break;
      case Step::free:
        busy.set(e, no_moment);
        engines[e].occupied = false;
        engines[e].idle_since = now;
        consider(e);
        break;
      case Step::done: finish(e, take(), event.emplace()); break;
      case Step::arrival: arrive(e, take()); break;
    }
    // Engines start together after everything of this tick has arrived: each counts the others.
    if (to_start != 0) {
      const Moment following = next();
      if (following == no_moment || time_of(following) > now) start_engines();
    }
  }

  TransferId take() {
    const TransferId id = heap.top().transfer;
    heap.pop();
    return id;
  }

  void arrive(std::uint8_t engine, TransferId id) {
    const Transfer& arriving = transfer(id);
    for (std::uint8_t e = engine; e < dma_engine_count; ++e) {
      const Ticks at = arriving.submitted + stagger[e];
      if (at > now) {
        push(at, e, Step::arrival, id);
        return;
      }
      engines[e].queues[arriving.queue].push({.id = id, .transfer = &arriving});
      engines[e].waiting = static_cast<std::uint16_t>(engines[e].waiting | 1U << arriving.queue);
      consider(e);
    }
  }

  void consider(std::uint8_t e) {
    if (!engines[e].occupied && engines[e].waiting != 0)
      to_start = static_cast<std::uint16_t>(to_start | 1U << e);
  }

  static const std::vector<DescriptorRuns>& runs_of(const Job& job, std::uint8_t e) {
    return job.transfer->work->engines[e];
  }

  void start_engines() {
    const auto starting = std::exchange(to_start, std::uint16_t{0});
    // First who moves data, then how fast: the rate depends on how many do.
    for (unsigned mask = starting; mask != 0; mask &= mask - 1)
      choose(static_cast<std::uint8_t>(std::countr_zero(mask)));
    for (unsigned mask = starting; mask != 0; mask &= mask - 1) {
      const auto e = static_cast<std::uint8_t>(std::countr_zero(mask));
      if (engines[e].descriptors > 0) busy.set(e, moment(now + packet_time(engines[e]), e, Step::packet_end));
    }
  }

  // The write buffer empties while the engine has nothing else to do, at its share of the core's rate.
  void drain_posted(DmaEngine& engine) const {
    if (engine.posted_bytes == 0) return;
    const double idle_ns = static_cast<double>(now - engine.idle_since) * 1000 / static_cast<double>(per_us);
    engine.posted_bytes = std::max(0.0, engine.posted_bytes - idle_ns * config.c_core / dma_engine_count);
  }

  // The next queue's turn: a packet of its oldest transfer, or that transfer's semaphore write.
  void choose(std::uint8_t e) {
    DmaEngine& engine = engines[e];
    drain_posted(engine);
    const unsigned turn = (engine.queue + 1U) % queue_count;
    const std::uint16_t rotated = std::rotr(engine.waiting, static_cast<int>(turn));
    engine.queue =
        static_cast<std::uint8_t>((turn + static_cast<unsigned>(std::countr_zero(rotated))) % queue_count);
    engine.occupied = true;
    engine.descriptors = 0;
    Job& job = engine.queues[engine.queue].front();
    const std::vector<DescriptorRuns>& runs = runs_of(job, e);
    if (job.run == runs.size()) {
      end_job(e, 0);
      return;
    }
    const DescriptorRuns& run = runs[job.run];
    if (job.descriptors == 0) {
      job.in_packet = std::clamp<std::int64_t>(config.packet_bytes / run.bytes, 1, config.packet_descriptors);
    }
    engine.descriptors = std::min(job.in_packet, run.count - job.descriptors);
    engine.bytes = engine.descriptors * run.bytes;
    engine.begin = now;
    engine.hbm_accesses = job.transfer->hbm_accesses;
    engine.kind = job.transfer->work->kind;
    engine.elements = engine.hbm_accesses == 2 && run.bytes < element_bytes;
    engine.posted = job.transfer->stores && post(engine);
    if (engine.posted) return;
    ++moving;
    hbm_accesses += engine.hbm_accesses;
  }

  // Writes are posted: a buffer takes them at the engine's own peak, beside the rates that all share, until
  // it is full (measured rows: short stores, against long ones at the rate of loads).
  bool post(DmaEngine& engine) const {
    const double with_this = engine.posted_bytes + static_cast<double>(engine.bytes);
    if (with_this > static_cast<double>(write_buffer)) return false;
    engine.posted_bytes = with_this;
    return true;
  }

  Ticks packet_time(const DmaEngine& engine) {
    constexpr std::int64_t most_bytes = std::int64_t{1} << 32, most_descriptors = 1 << 16;
    if (engine.bytes >= most_bytes || engine.descriptors >= most_descriptors) return work_out_time(engine);
    // 32 bits, 16, 5, 6, 2, 1 and 1.
    std::uint64_t packet = static_cast<std::uint64_t>(engine.bytes);
    packet = packet << 16U | static_cast<std::uint64_t>(engine.descriptors);
    packet = packet << 5U | static_cast<unsigned>(moving);
    packet = packet << 6U | static_cast<unsigned>(hbm_accesses);
    packet = packet << 2U | static_cast<unsigned>(engine.kind);
    packet = packet << 1U | (engine.posted ? 1U : 0U);
    packet = packet << 1U | (engine.elements ? 1U : 0U);
    PacketTimes::Known& known = times.at(packet);
    if (known.packet != packet) known = {packet, work_out_time(engine)};
    return known.time;
  }

  // Datasheet 7.5: t_desc = O_DESC + bytes / R_ENG(n), with the HBM budget as a factor on the rate.
  Ticks work_out_time(const DmaEngine& engine) const {
    double rate = config.r_peak;
    if (!engine.posted) rate = std::min(rate, config.c_core / moving);
    rate *= rate_share(engine.kind, config);
    if (!engine.posted && engine.hbm_accesses > 0) rate = std::min(rate, hbm_bytes_per_ns / hbm_accesses);
    const double count = static_cast<double>(engine.descriptors);
    const double one_ns = engine.elements ? config.element_ns : config.desc_min_ns;
    const Ticks shortest = ticks_from_ns(per_us, count * one_ns);
    return std::max(shortest, ticks_from_bytes(per_us, static_cast<double>(engine.bytes), rate,
                                               count * config.o_desc_ns));
  }

  void end_packet(std::uint8_t e, Event& event) {
    DmaEngine& engine = engines[e];
    if (!engine.posted) {
      --moving;
      hbm_accesses -= engine.hbm_accesses;
    }
    Job& job = engine.queues[engine.queue].front();
    event.kind = Event::Kind::packet;
    event.transfer = job.id;
    event.engine = e;
    event.begin = engine.begin;
    event.end = now;
    event.bytes = engine.bytes;
    const std::vector<DescriptorRuns>& runs = runs_of(job, e);
    job.descriptors += engine.descriptors;
    if (job.descriptors == runs[job.run].count) {
      job.descriptors = 0;
      ++job.run;
    }
    if (job.run == runs.size()) {
      end_job(e, job.transfer->tail);
    } else {
      engine.occupied = false;
      engine.idle_since = now;
      consider(e);
    }
  }

  // The semaphore write occupies the engine; the increment is visible after it and the tail.
  void end_job(std::uint8_t e, Ticks tail) {
    DmaEngine& engine = engines[e];
    JobQueue& queue = engine.queues[engine.queue];
    busy.set(e, moment(now + t_sem, e, Step::free));
    push(now + t_sem + tail, e, Step::done, queue.front().id);
    queue.pop();
    if (queue.empty()) engine.waiting = static_cast<std::uint16_t>(engine.waiting & ~(1U << engine.queue));
  }

  void finish(std::uint8_t e, TransferId id, Event& event) {
    --transfer(id).open;
    while (!transfers.empty() && transfers.front().open == 0) {
      transfers.pop_front();
      ++first_transfer;
    }
    event.kind = Event::Kind::engine_done;
    event.transfer = id;
    event.engine = e;
    event.begin = event.end = now;
  }

  const MachineConfig::DmaParameters config;
  const double hbm_bytes_per_ns;
  const Ticks per_us;
  const std::int64_t element_bytes, write_buffer;
  const Ticks t_sem, tail_load, tail_store, tail_short;
  std::array<Ticks, dma_engine_count> stagger{};

  Ticks now = 0;
  std::array<DmaEngine, dma_engine_count> engines;
  std::uint16_t to_start = 0;
  int moving = 0;        // engines with a packet in service
  int hbm_accesses = 0;  // of those packets
  std::deque<Transfer> transfers;
  TransferId first_transfer = 0;
  EngineMoments busy;
  std::priority_queue<Entry> heap;
  PacketTimes times;
};

DmaService::DmaService(const MachineConfig& machine) : impl_(std::make_unique<Impl>(machine)) {}
DmaService::~DmaService() = default;
DmaService::DmaService(DmaService&&) noexcept = default;
DmaService& DmaService::operator=(DmaService&&) noexcept = default;

DmaService::TransferId DmaService::submit(std::shared_ptr<const TransferWork> work, std::uint8_t queue,
                                          Ticks t) {
  return impl_->submit(std::move(work), queue, t);
}

Ticks DmaService::next_time() const {
  const Moment next = impl_->next();
  return next == no_moment ? never : time_of(next);
}

std::optional<DmaService::Event> DmaService::pop() {
  std::optional<Event> event;
  impl_->pop(event);
  return event;
}

}  // namespace ncemu
