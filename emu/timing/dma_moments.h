#pragma once

// When the DMA engines do what, in order: a packet's end or a semaphore write on each engine, and the steps
// of transfers that keep no engine busy. Of dma_service.cpp, which looks at it once for each packet.

#include <algorithm>
#include <array>
#include <cstdint>

#include "emu/timing/dma_service.h"

namespace ncemu::dma {

enum class Step : std::uint8_t { packet_end, done, free, arrival };

// When something happens: time, then engine, then step, in one number.
using Moment = std::uint64_t;
constexpr unsigned step_bits = 2, engine_bits = 4;
constexpr Moment no_moment = ~Moment{0};
constexpr Moment moment(Ticks time, std::uint8_t engine, Step step) {
  return static_cast<Moment>(time) << (step_bits + engine_bits) | Moment{engine} << step_bits |
         static_cast<Moment>(step);
}
constexpr Ticks time_of(Moment m) { return static_cast<Ticks>(m >> (step_bits + engine_bits)); }
constexpr std::uint8_t engine_of(Moment m) {
  return static_cast<std::uint8_t>(m >> step_bits & (dma_engine_count - 1));
}
constexpr Step step_of(Moment m) { return static_cast<Step>(m & ((1U << step_bits) - 1)); }

// The end of what each engine is at: one moment for each of them, and the first of all.
class EngineMoments {
 public:
  EngineMoments() { tree_.fill(no_moment); }
  Moment first() const { return tree_[1]; }
  void set(std::uint8_t engine, Moment m) {
    std::size_t node = dma_engine_count + std::size_t{engine};
    tree_[node] = m;
    while (node > 1) {
      m = std::min(m, tree_[node ^ 1U]);
      node /= 2;
      tree_[node] = m;
    }
  }

 private:
  std::array<Moment, std::size_t{2} * dma_engine_count> tree_{};  // children of node n: 2 n and 2 n + 1
};

// A step of a transfer that keeps no engine busy: its arrival, and the increment of its semaphore.
struct Entry {
  Moment moment = no_moment;
  DmaService::TransferId transfer = 0;
  // Later entries sink in the heap.
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.moment != b.moment ? a.moment > b.moment : a.transfer > b.transfer;
  }
};

}  // namespace ncemu::dma
