#pragma once

// Who last wrote and who has since read each byte: an interval map per memory. Exact to the byte and the
// partition. Its cost is proportional to the runs touched, not to bytes.

#include <cstdint>
#include <map>
#include <vector>

#include "isa/sync_footprint.h"

namespace ncemu::autosync {

// Accesses of one actor to the same bytes come in order, so that the latest stands for all: an engine, or a
// semaphore of a DMA pool (one transfer in flight).
using Actor = std::uint8_t;

struct Access {
  Actor actor = 0;
  std::uint32_t position = 0;  // in the text order
  bool write = false;
};

class Hazards {
 public:
  explicit Hazards(std::size_t regions) : regions_(regions) {}

  // Records the access, after visit(earlier) for each access it must follow: a read follows writes, a write
  // follows everything. An instruction does not conflict with itself; record its reads before its writes.
  template <typename Visit>
  void record(const Footprint& footprint, Actor actor, std::uint32_t position, Visit&& visit) {
    const Entry entry{footprint.lanes, position, actor, footprint.write, none};
    auto one = [&](std::int64_t begin, std::int64_t length) {
      update(regions_[footprint.region], begin, begin + length, entry, visit);
    };
    detail::walk(footprint.runs, footprint.runs.rank, footprint.runs.offset, one);
  }

  // Everything so far is ordered before everything to come.
  void clear();

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct Entry {
    Lanes lanes;
    std::uint32_t position;
    Actor actor;
    bool write;
    std::uint32_t next;
  };
  struct Segment {
    std::int64_t end = 0;
    std::uint32_t head = none;
  };
  // By first byte; segments do not overlap, bytes never touched are in none.
  using Region = std::map<std::int64_t, Segment>;

  std::uint32_t take(const Entry& entry);
  void give_back(std::uint32_t index);
  std::uint32_t copy(std::uint32_t head);
  bool same(std::uint32_t a, std::uint32_t b) const;
  Region::iterator split(Region& region, Region::iterator segment, std::int64_t at);

  template <typename Visit>
  void update(Region& region, std::int64_t begin, std::int64_t end, const Entry& entry, Visit&& visit) {
    auto it = region.lower_bound(begin);
    auto previous = region.end();
    if (it != region.begin()) {
      previous = std::prev(it);
      if (previous->second.end > begin) it = split(region, previous, begin);
    }
    for (std::int64_t at = begin; at < end;) {
      if (it == region.end() || it->first > at) {
        const std::int64_t gap_end = it == region.end() ? end : std::min(end, it->first);
        it = region.emplace_hint(it, at, Segment{gap_end, none});
      } else if (it->second.end > end) {
        split(region, it, end);
      }
      change(it->second, entry, visit);
      at = it->second.end;
      // Neighbours of equal history become one again, or old patterns would cost for ever.
      if (previous != region.end() && previous->second.end == it->first &&
          same(previous->second.head, it->second.head)) {
        previous->second.end = at;
        release(it->second);
        it = region.erase(it);
      } else {
        previous = it++;
      }
    }
  }

  template <typename Visit>
  void change(Segment& segment, const Entry& entry, Visit&& visit) {
    for (std::uint32_t* link = &segment.head; *link != none;) {
      Entry& old = entries_[*link];
      if (old.lanes.meets(entry.lanes)) {
        if (old.position != entry.position && (old.write || entry.write)) {
          visit(Access{old.actor, old.position, old.write});
        }
        // A write stands for all before it; a read for the earlier reads of its actor.
        if (entry.write || (!old.write && old.actor == entry.actor)) old.lanes.remove(entry.lanes);
      }
      if (old.lanes.none()) {
        const std::uint32_t gone = *link;
        *link = old.next;
        give_back(gone);
      } else {
        link = &old.next;
      }
    }
    const std::uint32_t added = take(entry);
    entries_[added].next = segment.head;
    segment.head = added;
  }

  void release(Segment& segment);

  std::vector<Region> regions_;
  std::vector<Entry> entries_;
  std::uint32_t free_ = none;
};

}  // namespace ncemu::autosync
