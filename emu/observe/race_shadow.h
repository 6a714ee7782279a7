#pragma once

// Who last wrote each byte, and who has read it since: for every access of a run the accesses before it that
// it must follow and that no synchronisation puts before it.

#include <cstdint>
#include <vector>

#include "emu/observe/footprints.h"
#include "emu/observe/happens_before.h"

namespace ncemu {

// An access of the run.
struct Access {
  Event end;                   // when it is over
  std::uint32_t touch = 0;     // which of its instruction's accesses, from 0
  std::uint32_t site = 0;      // in RunTrace::sites
  std::uint32_t position = 0;  // of the instruction, counted in its engine's stream from 0
  Engine engine = Engine::tensor;
  bool write = false;
  bool data = false;  // on the data path
};

class RaceShadow {
 public:
  explicit RaceShadow(std::size_t atoms) : heads_(atoms, none) {}

  // visit(earlier) for each earlier access to a byte of the atom and lanes that conflicts with this one and
  // is not known to be over. Then the access takes its place: a write stands for all before it, a read for
  // the earlier ones of its chain. An instruction does not conflict with itself; its reads come before its
  // writes.
  template <typename Visit>
  void access(Footprints::Atom atom, const LaneSet& lanes, const Access& access, const HappensBefore& order,
              Visit&& visit) {
    bool taken = false;
    for (std::uint32_t* link = &heads_[atom]; *link != none;) {
      Entry& old = entries_[*link];
      const bool all = old.lanes == lanes;
      if (all || old.lanes.meets(lanes)) {
        if ((old.access.write || access.write) && races(old.access, access, order)) visit(old.access);
        if (access.write || (!old.access.write && old.access.end.chain == access.end.chain)) {
          if (all && !taken) {  // it takes the place of the old one
            old.access = access;
            taken = true;
          } else {
            old.lanes = old.lanes.without(lanes);
          }
        }
      }
      if (old.lanes.empty()) {
        const std::uint32_t gone = *link;
        *link = old.next;
        entries_[gone].next = free_;
        free_ = gone;
      } else {
        link = &old.next;
      }
    }
    if (!taken) add(heads_[atom], lanes, access);
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFF;
  struct Entry {
    LaneSet lanes;
    Access access;
    std::uint32_t next = none;
  };

  static bool races(const Access& old, const Access& access, const HappensBefore& order) {
    if (old.engine == access.engine) {
      if (old.position == access.position) return false;
      // The pipeline keeps everything but a read of what it has not yet written (design: same engine).
      if (old.data && access.data && !(old.write && !access.write)) return false;
    }
    return !order.known(old.end);
  }
  void add(std::uint32_t& head, const LaneSet& lanes, const Access& access) {
    std::uint32_t index = free_;
    if (index == none) {
      index = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({});
    } else {
      free_ = entries_[index].next;
    }
    entries_[index] = {lanes, access, head};
    head = index;
  }

  std::vector<std::uint32_t> heads_;  // by atom
  std::vector<Entry> entries_;
  std::uint32_t free_ = none;
};

}  // namespace ncemu
