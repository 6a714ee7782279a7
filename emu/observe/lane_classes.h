#pragma once

// Lanes (partitions) of an on-chip memory that have the same content, kept once. All lanes start as one
// class; an access to some of its lanes splits it; classes that have become equal are merged now and then.
// Exact, and as cheap as one lane while a kernel treats its lanes alike.

#include <cstddef>
#include <utility>
#include <vector>

#include "isa/sync_footprint.h"

namespace ncemu {

using autosync::Lanes;

inline Lanes common(const Lanes& a, const Lanes& b) { return {a.low & b.low, a.high & b.high}; }
inline bool has_lane(const Lanes& lanes, int lane) {
  return ((lane < 64 ? lanes.low >> lane : lanes.high >> (lane - 64)) & 1U) != 0;
}

template <typename Content>
class LaneClasses {
 public:
  LaneClasses(std::uint32_t lanes, Content content) {
    classes_.push_back({Lanes::range(0, lanes), std::move(content)});
  }

  // visit(lanes of the class that are meant, content) for each class with some of them.
  template <typename Visit>
  void read(const Lanes& lanes, Visit&& visit) const {
    for (const Class& c : classes_) {
      if (c.lanes.meets(lanes)) visit(common(c.lanes, lanes), c.content);
    }
  }
  // The same; what `visit` does to the content happens to these lanes only.
  template <typename Visit>
  void write(const Lanes& lanes, Visit&& visit) {
    const std::size_t before = classes_.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (!classes_[i].lanes.meets(lanes)) continue;
      Lanes rest = classes_[i].lanes;
      rest.remove(lanes);
      if (!rest.none()) {
        classes_.push_back({rest, classes_[i].content});
        classes_[i].lanes.remove(rest);
      }
      visit(classes_[i].lanes, classes_[i].content);
    }
    if (classes_.size() > few && ++writes_ % writes_between_merges == 0) merge();
  }
  std::size_t size() const { return classes_.size(); }

 private:
  struct Class {
    Lanes lanes;
    Content content;
  };
  // Comparing costs about as much as a hundred small accesses, so it is done once in as many.
  static constexpr std::size_t few = 4, writes_between_merges = 64;

  void merge() {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      for (std::size_t j = classes_.size() - 1; j > i; --j) {
        if (!(classes_[i].content == classes_[j].content)) continue;
        classes_[i].lanes.low |= classes_[j].lanes.low;
        classes_[i].lanes.high |= classes_[j].lanes.high;
        if (j + 1 != classes_.size()) classes_[j] = std::move(classes_.back());
        classes_.pop_back();
      }
    }
  }

  std::vector<Class> classes_;
  std::size_t writes_ = 0;
};

}  // namespace ncemu
