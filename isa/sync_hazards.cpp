#include "isa/sync_hazards.h"

namespace ncemu::autosync {

void Hazards::clear() {
  for (Region& region : regions_) region.clear();
  entries_.clear();
  free_ = none;
}

std::uint32_t Hazards::take(const Entry& entry) {
  if (free_ == none) {
    entries_.push_back(entry);
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }
  const std::uint32_t index = free_;
  free_ = entries_[index].next;
  entries_[index] = entry;
  return index;
}

void Hazards::give_back(std::uint32_t index) {
  entries_[index].next = free_;
  free_ = index;
}

std::uint32_t Hazards::copy(std::uint32_t head) {
  std::uint32_t first = none;
  std::uint32_t last = none;
  for (; head != none; head = entries_[head].next) {
    Entry entry = entries_[head];
    entry.next = none;
    const std::uint32_t index = take(entry);
    (last == none ? first : entries_[last].next) = index;
    last = index;
  }
  return first;
}

bool Hazards::same(std::uint32_t a, std::uint32_t b) const {
  for (; a != none && b != none; a = entries_[a].next, b = entries_[b].next) {
    const Entry& x = entries_[a];
    const Entry& y = entries_[b];
    if (x.position != y.position || x.write != y.write || x.actor != y.actor || !(x.lanes == y.lanes)) {
      return false;
    }
  }
  return a == b;
}

void Hazards::release(Segment& segment) {
  while (segment.head != none) {
    const std::uint32_t next = entries_[segment.head].next;
    give_back(segment.head);
    segment.head = next;
  }
}

Hazards::Region::iterator Hazards::split(Region& region, Region::iterator segment, std::int64_t at) {
  const Segment rest{segment->second.end, copy(segment->second.head)};
  segment->second.end = at;
  return region.emplace_hint(std::next(segment), at, rest);
}

}  // namespace ncemu::autosync
