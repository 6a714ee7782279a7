#include "emu/data/walk.h"

#include <cstdlib>
#include <cstring>

namespace ncemu {
namespace {

// Element by element with both steps; T only carries the size, so that each copy is one move.
template <typename T>
void move_strided(const std::byte* from, std::int64_t from_step, std::byte* to, std::int64_t to_step,
                  std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T bits;
    std::memcpy(&bits, from + i * from_step, sizeof bits);
    std::memcpy(to + i * to_step, &bits, sizeof bits);
  }
}

void move_elements(int element_bytes, const std::byte* from, std::int64_t from_step, std::byte* to,
                   std::int64_t to_step, std::int64_t count) {
  switch (element_bytes) {
    case 1: return move_strided<std::uint8_t>(from, from_step, to, to_step, count);
    case 2: return move_strided<std::uint16_t>(from, from_step, to, to_step, count);
    default: return move_strided<std::uint32_t>(from, from_step, to, to_step, count);
  }
}

bool same_loops(const detail::Runs& a, const detail::Runs& b) {
  if (a.length != b.length || a.rank != b.rank) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rank); ++i) {
    if (a.loops[i].step != b.loops[i].step || a.loops[i].count != b.loops[i].count) return false;
  }
  return true;
}

// No byte twice: every loop steps over all that the faster ones reach. Sufficient, not necessary.
bool never_repeats(const detail::Runs& r) {
  std::array<detail::Runs::Loop, 4> loops = r.loops;
  std::sort(loops.begin(), loops.end(),
            [](const auto& a, const auto& b) { return std::abs(a.step) < std::abs(b.step); });
  std::int64_t reach = r.length;
  for (const detail::Runs::Loop& loop : loops) {
    if (loop.count <= 1) continue;  // not in use
    if (std::abs(loop.step) < reach) return false;
    reach += std::abs(loop.step) * (loop.count - 1);
  }
  return true;
}

// Addresses grow in stream order.
bool ascends(const detail::Runs& r) {
  std::int64_t reach = r.length;
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.rank); ++i) {
    if (r.loops[i].step < reach) return false;
    reach += r.loops[i].step * (r.loops[i].count - 1);
  }
  return true;
}

}  // namespace

Walk::Walk(const detail::Runs& runs, int element_bytes)
    : element_bytes_(element_bytes), offset_(runs.offset) {
  const auto rank = static_cast<std::size_t>(runs.rank);
  std::size_t outer = 0;
  if (runs.length == element_bytes && rank > 0) {
    count_ = runs.loops[0].count;
    step_ = runs.loops[0].step;
    outer = 1;
  } else {
    count_ = runs.length / element_bytes;
    step_ = element_bytes;
  }
  elements_ = count_;
  for (std::size_t i = outer; i < rank; ++i) {
    loops_[rank_++] = runs.loops[i];
    elements_ *= runs.loops[i].count;
  }
}

void gather(const Segment& segment, int element_bytes, const std::byte* base, std::byte* to) {
  const std::byte* from = base + segment.offset;
  if (segment.step == element_bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(segment.count * element_bytes));
  } else {
    move_elements(element_bytes, from, segment.step, to, element_bytes, segment.count);
  }
}

void scatter(const Segment& segment, int element_bytes, std::byte* base, const std::byte* from) {
  std::byte* to = base + segment.offset;
  if (segment.step == element_bytes) {
    std::memcpy(to, from, static_cast<std::size_t>(segment.count * element_bytes));
  } else {
    move_elements(element_bytes, from, element_bytes, to, segment.step, segment.count);
  }
}

bool blocks_are_safe(const AccessPattern& dst, const AccessPattern& src) {
  if (dst.space != src.space) return true;
  if (dst.partition >= src.partition + src.partitions || src.partition >= dst.partition + dst.partitions)
    return true;
  const Extent d = extent(dst);
  const Extent s = extent(src);
  if (d.end <= s.begin || s.end <= d.begin) return true;
  if (dst.partition == src.partition) {
    const detail::Runs to = detail::runs(dst);
    const detail::Runs from = detail::runs(src);
    if (size_of(dst.dtype) == size_of(src.dtype) && same_loops(to, from)) {
      // In place; or every element is read before an earlier one's result could reach it.
      if (to.offset == from.offset && never_repeats(to)) return true;
      if (to.offset < from.offset && ascends(to)) return true;
    }
    // Narrowing in place: writing falls behind reading.
    if (to.rank == 0 && from.rank == 0 && to.offset <= from.offset &&
        size_of(dst.dtype) <= size_of(src.dtype)) {
      return true;
    }
  }
  return !overlap(dst, src);
}

}  // namespace ncemu
