#include "isa/access_pattern.h"

#include <algorithm>
#include <vector>

namespace ncemu {
namespace {

template <typename Pattern>
detail::Runs make_runs(const Pattern& pattern, std::int64_t offset_bytes) {
  const std::int64_t element = size_of(pattern.dtype);
  detail::Runs r;
  r.offset = offset_bytes;
  r.length = element;
  bool growing = true;
  for (const auto& d : pattern.dims) {
    if (d.count == 1) continue;
    const std::int64_t step = std::int64_t{d.step} * element;
    const std::int64_t count = d.count;
    if (growing && step == r.length) {
      r.length *= count;
      continue;
    }
    growing = false;
    if (r.rank > 0) {
      auto& last = r.loops[static_cast<std::size_t>(r.rank - 1)];
      if (step == last.step * last.count) {
        last.count *= count;
        continue;
      }
    }
    r.loops[static_cast<std::size_t>(r.rank++)] = {step, count};
  }
  return r;
}

template <typename Pattern>
Extent make_extent(const Pattern& pattern, std::int64_t offset_bytes) {
  const std::int64_t element = size_of(pattern.dtype);
  Extent e{offset_bytes, offset_bytes + element};
  for (const auto& d : pattern.dims) {
    const std::int64_t reach = std::int64_t{d.step} * element * (std::int64_t{d.count} - 1);
    (reach < 0 ? e.begin : e.end) += reach;
  }
  return e;
}

std::vector<Extent> sorted_runs(const detail::Runs& r) {
  std::vector<Extent> all;
  auto add = [&](std::int64_t offset, std::int64_t length) { all.push_back({offset, offset + length}); };
  detail::walk(r, r.rank, r.offset, add);
  std::sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  return all;
}

bool runs_overlap(const detail::Runs& a, const detail::Runs& b) {
  const auto x = sorted_runs(a);
  const auto y = sorted_runs(b);
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    if (x[i].begin < y[j].end && y[j].begin < x[i].end) return true;
    (x[i].end <= y[j].end ? i : j) += 1;
  }
  return false;
}

template <typename Pattern>
bool footprints_overlap(const Pattern& a, const Pattern& b) {
  const Extent x = extent(a);
  const Extent y = extent(b);
  if (x.end <= y.begin || y.end <= x.begin) return false;
  return runs_overlap(detail::runs(a), detail::runs(b));
}

}  // namespace

bool operator==(const AccessPattern& a, const AccessPattern& b) {
  return a.space == b.space && a.dtype == b.dtype && a.partition == b.partition &&
         a.partitions == b.partitions && a.offset == b.offset && a.dims == b.dims && a.index == b.index &&
         a.index_step == b.index_step;
}

bool operator==(const PointerOperand& a, const PointerOperand& b) {
  return a.space == b.space && a.dtype == b.dtype && a.partition == b.partition && a.offset == b.offset;
}

detail::Runs detail::runs(const AccessPattern& pattern) { return make_runs(pattern, pattern.offset); }
detail::Runs detail::runs(const HbmPattern& pattern) {
  return make_runs(pattern, pattern.offset * size_of(pattern.dtype));
}

Extent extent(const AccessPattern& pattern) { return make_extent(pattern, pattern.offset); }
Extent extent(const HbmPattern& pattern) {
  return make_extent(pattern, pattern.offset * size_of(pattern.dtype));
}

bool overlap(const AccessPattern& a, const AccessPattern& b) {
  if (a.space != b.space) return false;
  if (a.partition >= b.partition + b.partitions || b.partition >= a.partition + a.partitions) return false;
  return footprints_overlap(a, b);
}

bool overlap(const HbmPattern& a, const HbmPattern& b) {
  return a.tensor == b.tensor && footprints_overlap(a, b);
}

}  // namespace ncemu
