#pragma once

// Which instruction waited for what: the arrows of a trace. Only waits that delayed a start count, as on the
// critical path.

#include <span>
#include <vector>

#include "emu/observe/timeline.h"

namespace ncemu {

class Flows {
 public:
  explicit Flows(const Timeline& timeline);

  // The instructions that waited for this one's signal, or for this transfer's, in order.
  std::span<const Serial> from_instruction(Serial serial) const { return of(instruction_, serial); }
  std::span<const Serial> from_transfer(std::uint32_t transfer) const { return of(transfer_, transfer); }
  bool ends_at(Serial waiting) const { return waited_[waiting]; }

 private:
  // Waiting ones by what they waited for: those of i are at [begin[i], begin[i + 1]).
  struct Index {
    std::vector<std::uint32_t> begin;
    std::vector<Serial> waiting;
  };
  static std::span<const Serial> of(const Index& index, std::uint32_t i) {
    return std::span(index.waiting).subspan(index.begin[i], index.begin[i + 1] - index.begin[i]);
  }

  Index instruction_, transfer_;
  std::vector<bool> waited_;
};

}  // namespace ncemu
