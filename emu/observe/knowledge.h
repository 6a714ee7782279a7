#pragma once

// What is known to have happened, as one number per chain of events: vector clocks. The chains: what each
// engine has issued, read and completed, and chains of transfers, each triggered when the completion of
// the one before was known.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "isa/types.h"

namespace ncemu {

using Chain = std::uint32_t;
// Known by nobody, ever: the end of a transfer that signals nobody.
inline constexpr Chain no_chain = 0xFFFFFFFF;
constexpr Chain issue_chain(Engine e) { return static_cast<Chain>(e); }
constexpr Chain read_chain(Engine e) { return engine_count + static_cast<Chain>(e); }
constexpr Chain complete_chain(Engine e) { return 2 * engine_count + static_cast<Chain>(e); }
inline constexpr Chain first_transfer_chain = 3 * engine_count;

// An event: the value-th of its chain, from 1. Instructions of an engine have the number of their start.
struct Event {
  Chain chain = no_chain;
  std::uint32_t value = 0;
};

using Clock = std::vector<std::uint32_t>;  // by chain; chains beyond its size are unknown
inline bool knows(std::span<const std::uint32_t> clock, Event event) {
  return event.chain < clock.size() && clock[event.chain] >= event.value;
}

// Clocks that signals carry. Counted references, as unchanged knowledge is stored once.
class Clocks {
 public:
  using Id = std::uint32_t;
  static constexpr Id none = 0xFFFFFFFF;

  // With one reference.
  Id store(std::span<const std::uint32_t> clock) {
    widen(clock.size());
    Id id = free_;
    if (id != none) {
      free_ = references_[id];
    } else {
      id = static_cast<Id>(references_.size());
      references_.push_back(0);
      values_.resize(values_.size() + width_);
    }
    references_[id] = 1;
    const auto row = values_.begin() + offset(id);
    std::fill(std::copy(clock.begin(), clock.end(), row), row + static_cast<std::ptrdiff_t>(width_), 0U);
    return id;
  }
  std::span<const std::uint32_t> operator[](Id id) const {
    return {values_.data() + std::size_t{id} * width_, width_};
  }
  void hold(Id id) { ++references_[id]; }
  void release(Id id) {
    if (--references_[id] > 0) return;
    references_[id] = free_;
    free_ = id;
  }
  void clear() { *this = Clocks(); }

 private:
  std::ptrdiff_t offset(Id id) const { return static_cast<std::ptrdiff_t>(std::size_t{id} * width_); }
  void widen(std::size_t width) {
    if (width <= width_) return;
    const std::size_t old = width_;
    width_ = std::max(width, width_ + width_ / 2);
    std::vector<std::uint32_t> values(references_.size() * width_);
    for (std::size_t i = 0; i < references_.size(); ++i) {
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(i * old), old,
                  values.begin() + static_cast<std::ptrdiff_t>(i * width_));
    }
    values_ = std::move(values);
  }

  std::size_t width_ = 0;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> references_;  // of a free one: the next free one
  Id free_ = none;
};

}  // namespace ncemu
