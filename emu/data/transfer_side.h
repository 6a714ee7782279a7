#pragma once

// A side of a transfer in execution: a tile or a tensor as a single stream of elements. Both classes have the
// same members, so that transfers are written once for all pairs of memories.

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "emu/data/operand.h"

namespace ncemu {

// One side of a transfer as a single stream of elements, partition slowest.
class OnChipSide {
 public:
  OnChipSide(std::string_view mnemonic, std::string_view name, const AccessPattern& pattern, State& state)
      : operand_(mnemonic, name, pattern, state) {}

  DType dtype() const { return operand_.dtype(); }
  std::int64_t elements() const { return operand_.elements() * operand_.lanes(); }
  std::string describe() const {
    return fmt::format("{} partitions x {} elements", operand_.lanes(), operand_.elements());
  }
  // Elements from `first` up to the end of their row.
  std::int64_t until_break(std::int64_t first) const {
    return operand_.elements() - first % operand_.elements();
  }

  // Where the elements are if they are contiguous there; they must not pass until_break.
  std::byte* in_place(std::int64_t first) {
    const Walk& walk = operand_.walk();
    if (!walk.contiguous()) return nullptr;
    return operand_.row(lane_of(first)) + walk.offset() +
           (first % operand_.elements()) * walk.element_bytes();
  }
  void read(std::int64_t first, std::int64_t count, std::byte* to) const {
    operand_.read(Block{lane_of(first), 1, first % operand_.elements(), count}, to);
  }
  void write(std::int64_t first, std::int64_t count, const std::byte* from) {
    operand_.write(Block{lane_of(first), 1, first % operand_.elements(), count}, from);
  }

 private:
  int lane_of(std::int64_t first) const { return static_cast<int>(first / operand_.elements()); }
  Operand operand_;
};

class HbmSide {
 public:
  HbmSide(std::string_view mnemonic, std::string_view name, const HbmPattern& pattern, State& state)
      : tensor_(pattern.tensor), dtype_(pattern.dtype), walk_(pattern), hbm_(&state.hbm) {
    check_inside(mnemonic, name, pattern, state);
  }

  DType dtype() const { return dtype_; }
  std::int64_t elements() const { return walk_.elements(); }
  std::string describe() const { return fmt::format("{} elements of '{}'", elements(), hbm_->name(tensor_)); }
  std::int64_t until_break(std::int64_t first) const { return elements() - first; }

  std::byte* in_place(std::int64_t) { return nullptr; }  // pages end where they like
  void read(std::int64_t first, std::int64_t count, std::byte* to) const {
    const auto size = static_cast<std::int64_t>(walk_.element_bytes());
    walk_.segments(first, count, [&](const Segment& s) {
      if (s.step == size) {
        hbm_->read(tensor_, s.offset, {to, static_cast<std::size_t>(s.count * size)});
        to += s.count * size;
        return;
      }
      for (std::int64_t i = 0; i < s.count; ++i, to += size) {
        hbm_->read(tensor_, s.offset + i * s.step, {to, static_cast<std::size_t>(size)});
      }
    });
  }
  void write(std::int64_t first, std::int64_t count, const std::byte* from) {
    const auto size = static_cast<std::int64_t>(walk_.element_bytes());
    walk_.segments(first, count, [&](const Segment& s) {
      if (s.step == size) {
        hbm_->write(tensor_, s.offset, {from, static_cast<std::size_t>(s.count * size)});
        from += s.count * size;
        return;
      }
      for (std::int64_t i = 0; i < s.count; ++i, from += size) {
        hbm_->write(tensor_, s.offset + i * s.step, {from, static_cast<std::size_t>(size)});
      }
    });
  }

 private:
  std::uint16_t tensor_;
  DType dtype_;
  Walk walk_;
  HbmMemory* hbm_;
};

inline OnChipSide make_side(std::string_view mnemonic, std::string_view name, const AccessPattern& pattern,
                            State& state) {
  return {mnemonic, name, pattern, state};
}
inline HbmSide make_side(std::string_view mnemonic, std::string_view name, const HbmPattern& pattern,
                         State& state) {
  return {mnemonic, name, pattern, state};
}

}  // namespace ncemu
