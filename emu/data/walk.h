#pragma once

// Where the elements of a pattern lie, in stream order: evenly spaced elements (`Segment`s) under up
// to four loops. A contiguous pattern is one segment, whatever its dimensions.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/access_pattern.h"

namespace ncemu {

// `count` elements; the first at byte `offset`, each `step` bytes after the one before it.
struct Segment {
  std::int64_t offset = 0;
  std::int64_t count = 0;
  std::int64_t step = 0;
};

class Walk {
 public:
  explicit Walk(const AccessPattern& pattern) : Walk(detail::runs(pattern), size_of(pattern.dtype)) {}
  explicit Walk(const HbmPattern& pattern) : Walk(detail::runs(pattern), size_of(pattern.dtype)) {}

  int element_bytes() const { return element_bytes_; }
  std::int64_t elements() const { return elements_; }
  bool contiguous() const { return rank_ == 0 && step_ == element_bytes_; }
  std::int64_t offset() const { return offset_; }  // bytes, of the first element

  // visit(Segment) for the elements [first, first + count), in order.
  template <typename Visit>
  void segments(std::int64_t first, std::int64_t count, Visit&& visit) const {
    if (rank_ == 0) {
      visit(Segment{offset_ + first * step_, count, step_});
      return;
    }
    std::array<std::int64_t, 4> at{};
    std::int64_t inner = first % count_;
    std::int64_t rest = first / count_;
    std::int64_t offset = offset_;
    for (std::size_t i = 0; i < rank_; ++i) {
      at[i] = rest % loops_[i].count;
      rest /= loops_[i].count;
      offset += at[i] * loops_[i].step;
    }
    while (count > 0) {
      const std::int64_t n = std::min(count, count_ - inner);
      visit(Segment{offset + inner * step_, n, step_});
      count -= n;
      inner = 0;
      for (std::size_t i = 0; i < rank_; ++i) {
        offset += loops_[i].step;
        if (++at[i] < loops_[i].count) break;
        offset -= at[i] * loops_[i].step;
        at[i] = 0;
      }
    }
  }

 private:
  Walk(const detail::Runs& runs, int element_bytes);

  int element_bytes_;
  std::int64_t offset_, elements_;
  std::int64_t count_, step_;  // of the innermost segment
  std::size_t rank_ = 0;
  std::array<detail::Runs::Loop, 4> loops_{};
};

// Copies a segment's elements to `to`, contiguously; and back.
void gather(const Segment& segment, int element_bytes, const std::byte* base, std::byte* to);
void scatter(const Segment& segment, int element_bytes, std::byte* base, const std::byte* from);

// True when an instruction that reads `src` and writes `dst` in large blocks leaves the same bytes as
// one that goes element by element in stream order (partition slowest).
bool blocks_are_safe(const AccessPattern& dst, const AccessPattern& src);

}  // namespace ncemu
