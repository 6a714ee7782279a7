#pragma once

// Which bytes each operand of a run touches, made comparable: every byte of a memory that is touched by the
// same operands belongs to one atom, and an operand is a list of atoms. A strided operand that is always
// touched as a whole is one atom, however many runs it has, so that following a run costs little and stays
// exact.

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "emu/observe/pattern_table.h"
#include "isa/program.h"

namespace ncemu {

// Partitions as bits. HBM has one lane.
struct LaneSet {
  std::uint64_t low = 0, high = 0;
  static LaneSet range(unsigned first, unsigned count);
  bool empty() const { return (low | high) == 0; }
  bool meets(const LaneSet& other) const { return ((low & other.low) | (high & other.high)) != 0; }
  LaneSet both(const LaneSet& other) const { return {low & other.low, high & other.high}; }
  LaneSet without(const LaneSet& other) const { return {low & ~other.low, high & ~other.high}; }
  int first() const;  // of a set that is not empty
  int last() const;
  friend bool operator==(const LaneSet&, const LaneSet&) = default;
};

// Memories: SBUF, PSUM, then one per tensor.
inline constexpr std::uint32_t sbuf_memory = 0, psum_memory = 1, first_tensor_memory = 2;

struct Footprint {
  std::uint32_t memory = 0;
  LaneSet lanes;
  detail::Runs runs;
};
Footprint footprint_of(const AccessPattern& pattern);
Footprint footprint_of(const HbmPattern& pattern);

// The bytes of one lane, ascending, apart from each other. A pattern of more runs than `run_limit` counts as
// if its finest dimensions were filled.
inline constexpr std::int64_t run_limit = std::int64_t{1} << 20;
std::vector<Extent> extents_of(const detail::Runs& runs);

// The bytes that two footprints share: the first stretch of them and its lanes. False: none.
bool shared_bytes(const Footprint& a, const Footprint& b, Extent& bytes, LaneSet& lanes);

class Footprints {
 public:
  using Id = std::uint32_t;
  using Atom = std::uint32_t;

  // Equal footprints have one number.
  Id add(const Footprint& footprint, bool write);
  Id add(const AccessPattern& pattern, bool write);
  Id add(const HbmPattern& pattern, bool write) { return add(footprint_of(pattern), write); }
  const Footprint& operator[](Id id) const { return all_[id]; }
  std::size_t size() const { return all_.size(); }

  // Divides every memory into atoms; after that, atoms(). A memory that nobody writes has none.
  void divide();
  std::span<const Atom> atoms(Id id) const {
    return {members_.data() + first_[id], members_.data() + first_[id + 1]};
  }
  std::size_t atom_count() const { return atom_count_; }

  // Bytes of a lane that a footprint touches.
  struct Stretch {
    Extent bytes;
    Id id = 0;
  };
  // The same bytes in rows [row, end) of one pitch.
  struct Rectangle {
    std::int64_t row = 0, end = 0;
    Stretch columns;
  };

 private:
  static constexpr Id none = 0xFFFFFFFF;
  void grow_table();
  void mark_written(std::uint32_t memory);
  void divide(std::span<const Id> ids, std::vector<std::vector<Atom>>& atoms);
  std::optional<std::int64_t> common_pitch(std::span<const Id> ids) const;
  bool rectangles_of(std::span<const Id> ids, std::int64_t pitch, std::vector<Rectangle>& rectangles) const;

  std::vector<Footprint> all_;
  std::vector<bool> written_;          // memories
  std::vector<std::uint64_t> hashes_;  // of all_
  std::vector<Id> table_;              // of numbers by hash, open addressing
  PatternTable patterns_;
  std::vector<std::size_t> first_;  // of each footprint, in members_
  std::vector<Atom> members_;
  std::size_t atom_count_ = 0;
};

}  // namespace ncemu
