#include "tools/trace/perfetto.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tools/trace/flows.h"
#include "tools/trace/labels.h"
#include "tools/trace/lanes.h"
#include "tools/trace/packets.h"
#include "tools/trace/trace_names.h"
#include "tools/trace/wire.h"

namespace ncemu {
namespace {

using perfetto::DebugAnnotation;
using perfetto::TracePacket;
using perfetto::TrackDescriptor;
using perfetto::TrackEvent;

using Track = std::uint64_t;  // its number in the file

enum class EventKind : std::uint8_t { end, instruction, transfer, span, gate, counter };

struct Event {
  std::uint64_t ns = 0;
  std::int64_t value = 0;  // of a counter; else which instruction, transfer or span
  std::uint32_t track = 0;
  EventKind kind = EventKind::end;
};

class Writer {
 public:
  Writer(const std::string& kernel, const Profile& profile)
      : profile_(profile),
        timeline_(profile.timeline),
        labels_(*profile.program),
        names_(labels_, *profile.program),
        flows_(profile.timeline),
        per_us_(ticks_per_us(*profile.machine)) {
    names_.define(packets_);
    root_ = group(kernel, 0);
  }

  std::string trace() {
    instructions();
    clock_gate();
    transfers();
    spans();
    dma_counters();
    memory_counters();
    semaphore_counters();
    // Within a row events are in order already; rows of the same moment keep the order above.
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.ns < b.ns; });
    for (const Event& event : events_) write(event);
    return packets_.finish();
  }

 private:
  // ---- rows
  Track row(const std::string& name, Track parent, auto&& describe) {
    TracePacket packet;
    packet.set_trusted_packet_sequence_id(trace_sequence);
    TrackDescriptor& track = *packet.mutable_track_descriptor();
    track.set_uuid(++last_track_);
    track.set_name(name);
    if (parent != 0) track.set_parent_uuid(parent);
    track.set_sibling_order_rank(static_cast<std::int32_t>(last_track_));
    describe(track);
    packets_.add(packet);
    return last_track_;
  }
  Track row(const std::string& name, Track parent) {
    return row(name, parent, [](TrackDescriptor&) {});
  }
  Track group(const std::string& name, Track parent) {
    return row(name, parent,
               [](TrackDescriptor& track) { track.set_child_ordering(TrackDescriptor::EXPLICIT); });
  }
  Track counter(const std::string& name, Track parent, std::string_view unit) {
    return row(name, parent, [&](TrackDescriptor& track) {
      if (unit == "bytes") {
        track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_SIZE_BYTES);
      } else {
        track.mutable_counter()->set_unit(perfetto::CounterDescriptor::UNIT_COUNT);
        if (!unit.empty()) track.mutable_counter()->set_unit_name(std::string(unit));
      }
    });
  }

  // A row of slices; its further lanes have the same name, by which viewers join them.
  struct Row {
    std::string name;
    Track parent = 0;
    Lanes lanes{};
    std::vector<Track> tracks{};
  };
  void slice(Row& to, Ticks begin, Ticks end, EventKind kind, std::size_t which) {
    const std::uint32_t lane = to.lanes.take(begin, end);
    if (lane == to.tracks.size()) to.tracks.push_back(row(to.name, to.parent));
    const auto track = static_cast<std::uint32_t>(to.tracks[lane]);
    events_.push_back({ns(begin), static_cast<std::int64_t>(which), track, kind});
    events_.push_back({ns(end), 0, track, EventKind::end});
  }
  void value(Track track, Ticks at, std::int64_t value) {
    events_.push_back({ns(at), value, static_cast<std::uint32_t>(track), EventKind::counter});
  }

  std::uint64_t ns(Ticks at) const {
    return static_cast<std::uint64_t>((at - timeline_.begin) * 1000 / per_us_);
  }
  std::int64_t length_ns(Ticks from, Ticks to) const {
    return static_cast<std::int64_t>(ns(to)) - static_cast<std::int64_t>(ns(from));
  }

  // ---- what happened
  void instructions() {
    const Timeline::Instructions& all = timeline_.instructions;
    const Track engines = group("engines", root_);
    for (const Engine engine : all_engines) {
      // Weights load beside matmuls, and the sequencer goes on while its engine works: it waits and signals,
      // and it triggers transfers.
      const std::string of(name(engine));
      Row work{.name = of, .parent = engines};
      Row loads{.name = of + " weight loads", .parent = engines};
      Row sequencer{.name = of + " sequencer", .parent = engines};
      for (const Serial s : timeline_.of_engine[static_cast<std::size_t>(engine)]) {
        const InstructionInfo& kind = info(profile_.instruction(s).opcode);
        Row& to = kind.opcode == Opcode::load_stationary ? loads
                  : kind.is_control() || kind.is_dma()   ? sequencer
                                                         : work;
        slice(to, all.start[s], all.busy_until[s], EventKind::instruction, s);
      }
    }
    gate_ = Row{.name = "tensor clock gate", .parent = engines};
  }

  void clock_gate() {
    for (const Interval& gated : gated_intervals(timeline_))
      slice(gate_, gated.begin, gated.end, EventKind::gate, 0);
  }

  void transfers() {
    const Timeline::Transfers& all = timeline_.transfers;
    const Track queues = group("DMA queues", root_);
    std::map<std::uint8_t, Row> rows;
    for (const std::uint8_t queue : all.queue)
      rows.try_emplace(queue, Row{.name = fmt::format("queue {}", queue), .parent = queues});
    for (auto& [queue, to] : rows) {
      for (std::size_t t = 0; t < all.size(); ++t) {
        // A run that ended early has transfers that moved bytes and were not done.
        if (all.queue[t] == queue)
          slice(to, all.trigger[t], std::max(all.done[t], all.last_packet[t]), EventKind::transfer, t);
      }
    }
  }

  void spans() {
    const Timeline::Spans& all = timeline_.spans;
    const Track engines = group("DMA engines", root_);
    std::array<std::vector<std::uint32_t>, dma_engine_count> of_engine;
    for (std::uint32_t i = 0; i < all.size(); ++i) of_engine[all.dma_engine[i]].push_back(i);
    for (std::size_t e = 0; e < dma_engine_count; ++e) {
      Row to{.name = fmt::format("DMA engine {}", e), .parent = engines};
      std::stable_sort(of_engine[e].begin(), of_engine[e].end(),
                       [&](std::uint32_t a, std::uint32_t b) { return all.begin[a] < all.begin[b]; });
      for (const std::uint32_t i : of_engine[e]) slice(to, all.begin[i], all.end[i], EventKind::span, i);
    }
  }

  void dma_counters() {
    const Timeline::Transfers& all = timeline_.transfers;
    if (all.size() == 0) return;
    const Track dma = group("DMA", root_);
    const Track pending = counter("transfers in flight", dma, "");
    std::map<Ticks, std::int64_t> changes;
    for (std::size_t t = 0; t < all.size(); ++t) {
      ++changes[all.trigger[t]];
      --changes[std::max(all.done[t], all.last_packet[t])];
    }
    std::int64_t now = 0;
    for (const auto& [at, change] : changes) {
      if (change != 0) value(pending, at, now += change);
    }
    throughput(counter("bytes moved per us", dma, "bytes/us"));
  }

  // The bytes of each microsecond, a span's spread evenly over its time; rounded so that they add up.
  void throughput(Track track) {
    const Timeline::Spans& all = timeline_.spans;
    if (all.size() == 0) return;
    const Ticks last = *std::max_element(all.end.begin(), all.end.end());
    const auto window = [&](Ticks at) { return static_cast<std::size_t>((at - timeline_.begin) / per_us_); };
    const auto edge = [&](std::size_t w) { return timeline_.begin + static_cast<Ticks>(w) * per_us_; };
    std::vector<std::int64_t> moved(window(last) + 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Ticks length = all.end[i] - all.begin[i];
      std::int64_t before = 0;
      for (std::size_t w = window(all.begin[i]); before < all.bytes[i]; ++w) {
        const Ticks done = std::min(edge(w + 1), all.end[i]) - all.begin[i];
        const std::int64_t until =
            done >= length
                ? all.bytes[i]
                : static_cast<std::int64_t>(static_cast<double>(all.bytes[i]) * static_cast<double>(done) /
                                            static_cast<double>(length));
        moved[w] += until - before;
        before = until;
      }
    }
    moved.push_back(0);
    std::int64_t shown = 0;
    for (std::size_t w = 0; w < moved.size(); ++w) {
      if (moved[w] != shown) value(track, edge(w), shown = moved[w]);
    }
  }

  void memory_counters() {
    const Track memory = group("memory", root_);
    const Track sbuf = counter("SBUF bytes per partition", memory, "bytes");
    const Track psum = counter("PSUM bytes per partition", memory, "bytes");
    MemoryUse::Change shown;
    for (const MemoryUse::Change& change : profile_.memory.changes) {
      if (change.sbuf_bytes != shown.sbuf_bytes) value(sbuf, change.at, change.sbuf_bytes);
      if (change.psum_bytes != shown.psum_bytes) value(psum, change.at, change.psum_bytes);
      shown = change;
    }
  }

  void semaphore_counters() {
    const Timeline::SemaphoreChanges& all = timeline_.semaphores;
    if (all.size() == 0) return;
    const Track semaphores = group("semaphores", root_);
    std::map<std::uint8_t, std::string> names;
    for (const std::uint8_t s : all.semaphore) names.try_emplace(s, fmt::format("semaphore {}", s));
    for (const NamedSemaphore& s : profile_.program->semaphores) {
      if (names.contains(s.number)) names[s.number] += " " + s.name;
    }
    std::map<std::uint8_t, Track> tracks;
    for (const auto& [number, text] : names) tracks[number] = counter(text, semaphores, "");
    for (std::size_t i = 0; i < all.size(); ++i) value(tracks[all.semaphore[i]], all.at[i], all.value[i]);
  }

  // ---- packets
  void annotation(Word name, int kind, std::uint64_t value) { annotation(names_.iid(name), kind, value); }
  void annotation(std::uint64_t name, int kind, std::uint64_t value) {
    annotation_.clear();
    annotation_.number(DebugAnnotation::kNameIidFieldNumber, name);
    annotation_.number(kind, value);
    event_.bytes(TrackEvent::kDebugAnnotationsFieldNumber, annotation_.view());
  }
  void number(Word word, std::int64_t value) {
    annotation(word, DebugAnnotation::kIntValueFieldNumber, static_cast<std::uint64_t>(value));
  }
  void text(std::uint64_t name, std::uint64_t value) {
    annotation(name, DebugAnnotation::kStringValueIidFieldNumber, value);
  }
  void begin(std::uint64_t name) {
    event_.number(TrackEvent::kTypeFieldNumber, std::uint64_t{TrackEvent::TYPE_SLICE_BEGIN});
    event_.number(TrackEvent::kNameIidFieldNumber, name);
  }
  void begin(std::uint32_t row) {
    begin(names_.iid(labels_.mnemonic(row)));
    text(names_.iid(Word::source), names_.site(labels_.site(row)));
  }
  // What the source says of the instruction.
  void begin_instruction(Serial serial) {
    const Timeline::Instructions& all = timeline_.instructions;
    const std::uint32_t r = labels_.row(all.engine[serial], all.index[serial]);
    begin(r);
    for (const Labels::Operand& o : labels_.operands(r)) text(names_.iid(o.name), names_.iid(o.value));
  }

  // An arrow is numbered by the instruction that waited: it has at most one.
  void flow(int field, Serial waiting) { event_.fixed64(field, std::uint64_t{waiting} + 1); }

  void write_instruction(Serial s) {
    const Timeline::Instructions& all = timeline_.instructions;
    begin_instruction(s);
    if (all.reason[s] != StallReason::none) {
      number(Word::stalled_ns, length_ns(all.stalled_since[s], all.start[s]));
      text(names_.iid(Word::stalled_for), names_.iid(all.reason[s]));
    }
    for (const Serial waiting : flows_.from_instruction(s)) flow(TrackEvent::kFlowIdsFieldNumber, waiting);
    if (flows_.ends_at(s)) flow(TrackEvent::kTerminatingFlowIdsFieldNumber, s);
  }
  void write_transfer(std::uint32_t t) {
    const Timeline::Transfers& all = timeline_.transfers;
    const TransferShape& shape = timeline_.shape(t);
    begin_instruction(all.serial[t]);
    number(Word::bytes, shape.bytes);
    number(Word::descriptors, shape.descriptors);
    number(Word::wait_ns, length_ns(all.trigger[t], all.first_packet[t]));
    for (const Serial waiting : flows_.from_transfer(t)) flow(TrackEvent::kFlowIdsFieldNumber, waiting);
  }
  void write_span(std::size_t i) {
    const Timeline::Spans& all = timeline_.spans;
    const Serial serial = timeline_.transfers.serial[all.transfer[i]];
    begin(labels_.row(timeline_.instructions.engine[serial], timeline_.instructions.index[serial]));
    number(Word::transfer, all.transfer[i]);
    number(Word::bytes, all.bytes[i]);
    number(Word::packets, all.packets[i]);
  }

  void write(const Event& e) {
    event_.clear();
    event_.number(TrackEvent::kTrackUuidFieldNumber, std::uint64_t{e.track});
    switch (e.kind) {
      case EventKind::end:
        event_.number(TrackEvent::kTypeFieldNumber, std::uint64_t{TrackEvent::TYPE_SLICE_END});
        break;
      case EventKind::counter:
        event_.number(TrackEvent::kTypeFieldNumber, std::uint64_t{TrackEvent::TYPE_COUNTER});
        event_.number(TrackEvent::kCounterValueFieldNumber, e.value);
        break;
      case EventKind::instruction: write_instruction(static_cast<Serial>(e.value)); break;
      case EventKind::transfer: write_transfer(static_cast<std::uint32_t>(e.value)); break;
      case EventKind::span: write_span(static_cast<std::size_t>(e.value)); break;
      case EventKind::gate: begin(names_.iid(Word::half_rate)); break;
    }
    packet_.clear();
    packet_.number(TracePacket::kTimestampFieldNumber, e.ns);
    packet_.number(TracePacket::kTrustedPacketSequenceIdFieldNumber, std::uint64_t{trace_sequence});
    if (e.kind != EventKind::end && e.kind != EventKind::counter) {
      packet_.number(TracePacket::kSequenceFlagsFieldNumber,
                     std::uint64_t{TracePacket::SEQ_NEEDS_INCREMENTAL_STATE});
    }
    packet_.bytes(TracePacket::kTrackEventFieldNumber, event_.view());
    packets_.add(packet_);
  }

  const Profile& profile_;
  const Timeline& timeline_;
  Labels labels_;
  TraceNames names_;
  Flows flows_;
  Ticks per_us_;
  Packets packets_;
  Track root_ = 0, last_track_ = 0;
  Row gate_;
  std::vector<Event> events_;
  Wire packet_, event_, annotation_;  // again and again, for their memory
};

}  // namespace

std::string perfetto_trace(const std::string& kernel, const Profile& profile) {
  return Writer(kernel, profile).trace();
}

}  // namespace ncemu
