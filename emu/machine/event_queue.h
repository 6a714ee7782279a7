#pragma once

// What is to happen to semaphores at known times. Earlier events come first; at one tick the older event,
// then the engine's order (design: ties), then the order in which they were added.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "emu/timing/ticks.h"
#include "isa/instruction.h"

namespace ncemu {

// When something happens, among everything else that does.
struct Moment {
  Ticks at = never;
  std::uint64_t age = 0;  // when it was decided; smaller is older
  Engine engine = Engine::tensor;
  std::uint64_t order = 0;  // unique
  friend auto operator<=>(const Moment&, const Moment&) = default;
};

// `operation` on `count` semaphores from `first` on, by an instruction.
struct PendingUpdate {
  Moment moment;
  UpdateOperation operation = UpdateOperation::none;
  std::uint8_t first = 0;
  std::uint16_t count = 1;
  std::uint32_t value = 0;
  std::uint32_t index = 0;   // of the instruction in its engine's stream
  std::uint64_t serial = 0;  // of its execution
};

class EventQueue {
 public:
  bool empty() const { return heap_.empty(); }
  const Moment& next() const { return heap_.front().moment; }
  void push(const PendingUpdate& update) {
    heap_.push_back(update);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  PendingUpdate pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const PendingUpdate update = heap_.back();
    heap_.pop_back();
    return update;
  }

 private:
  static bool later(const PendingUpdate& a, const PendingUpdate& b) { return a.moment > b.moment; }
  std::vector<PendingUpdate> heap_;
};

}  // namespace ncemu
