#pragma once

// The address structures of operands. On chip: a run of partitions with one free pattern of up to
// four dimensions for all of them (datasheet 3.1). In HBM: an element offset in a named tensor with
// up to four dimensions. Dimensions are listed fastest first, as the hardware lists them; unused
// ones have count 1 and step 0. Elements are enumerated partition slowest, dims[0] fastest.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include "isa/types.h"

namespace ncemu {

// A scalar register of a sequencer, 0..63.
struct Register {
  static constexpr std::uint8_t none = 0xFF;
  std::uint8_t number = none;
  bool present() const { return number != none; }
  friend bool operator==(Register, Register) = default;
};

struct Dim {
  std::int16_t step = 0;  // elements, may be 0 or negative
  std::uint16_t count = 1;
  friend bool operator==(Dim, Dim) = default;
};

// Dimensions of a pattern of values instead of addresses (iota, affine_select), fastest first: each adds
// step * index, so steps are plain numbers and a count of 1 adds nothing.
struct AffineDim {
  std::int32_t step = 0;
  std::uint16_t count = 1;
  friend bool operator==(AffineDim, AffineDim) = default;
};
struct AffineDims {
  std::array<AffineDim, 4> dims{};
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const AffineDim& d : dims) n *= d.count;
    return n;
  }
  friend bool operator==(const AffineDims&, const AffineDims&) = default;
};

// Index of a place in Program::places; only before placement, never encoded.
using PlaceId = std::uint16_t;
inline constexpr PlaceId no_place = std::numeric_limits<PlaceId>::max();

struct AccessPattern {
  Space space = Space::sbuf;
  DType dtype = DType::f32;
  std::uint8_t partition = 0;   // first partition
  std::uint8_t partitions = 1;  // 1..128, stride 1
  std::uint32_t offset = 0;     // bytes in each partition; relative to the place until placed
  std::array<Dim, 4> dims{};
  Register index;               // adds value * index_step elements to the offset
  PlaceId place = no_place;     // debug data once placed: not part of the word, not compared
  std::int32_t index_step = 0;  // elements

  // Elements per partition.
  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const Dim& d : dims) n *= d.count;
    return n;
  }
  std::int64_t bytes_per_partition() const { return elements() * size_of(dtype); }
};
bool operator==(const AccessPattern& a, const AccessPattern& b);

struct HbmDim {
  std::int32_t step = 0;  // elements
  std::uint32_t count = 1;
  friend bool operator==(HbmDim, HbmDim) = default;
};

struct HbmPattern {
  std::uint16_t tensor = 0;  // index in Program::tensors
  DType dtype = DType::f32;
  Register index;
  std::int32_t index_step = 0;  // elements
  std::int64_t offset = 0;      // elements from the tensor's start
  std::array<HbmDim, 4> dims{};

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const HbmDim& d : dims) n *= d.count;
    return n;
  }
  friend bool operator==(const HbmPattern&, const HbmPattern&) = default;
};

// One column per partition, [P, 1]: per-lane scale, bias, bound. It has the partition count of the
// instruction's destination.
struct PointerOperand {
  Space space = Space::sbuf;
  DType dtype = DType::f32;
  std::uint8_t partition = 0;
  std::uint32_t offset = 0;  // bytes
  PlaceId place = no_place;
};
bool operator==(const PointerOperand& a, const PointerOperand& b);

// The value an operator takes beside its stream: nothing, an immediate, a register's bits (read as
// fp32 by the arithmetic class and as an integer by the bitvec class [assumed]), or one value per lane.
using ScalarOperand = std::variant<std::monostate, float, std::int32_t, Register, PointerOperand>;

// An integer of a control instruction: immediate or register.
using IntOperand = std::variant<std::int32_t, Register>;

// One side of a transfer, or of a register load or store.
using MemoryOperand = std::variant<AccessPattern, HbmPattern>;

// Byte range [begin, end) within a partition (on chip) or within the tensor (HBM), index excluded.
struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Extent extent(const AccessPattern& pattern);
Extent extent(const HbmPattern& pattern);

// True when some byte of some partition belongs to both. Exact, also for strided patterns. Patterns
// with an index register are compared at index value 0.
bool overlap(const AccessPattern& a, const AccessPattern& b);
bool overlap(const HbmPattern& a, const HbmPattern& b);

// Calls visit(byte_offset, byte_length) for each contiguous run of one partition (or of the tensor),
// in stream order; adjacent elements are joined, zero steps repeat their run.
template <typename Visit>
void for_each_run(const AccessPattern& pattern, Visit&& visit);
template <typename Visit>
void for_each_run(const HbmPattern& pattern, Visit&& visit);

namespace detail {
// Offset and steps in bytes, fastest first, unit dimensions dropped and adjacent ones merged.
struct Runs {
  struct Loop {
    std::int64_t step;
    std::int64_t count;
  };
  std::int64_t offset = 0;
  std::int64_t length = 0;
  int rank = 0;
  std::array<Loop, 4> loops{};
};
Runs runs(const AccessPattern& pattern);
Runs runs(const HbmPattern& pattern);

template <typename Visit>
void walk(const Runs& r, int level, std::int64_t offset, Visit& visit) {
  if (level == 0) {
    visit(offset, r.length);
    return;
  }
  const auto& loop = r.loops[static_cast<std::size_t>(level - 1)];
  for (std::int64_t i = 0; i < loop.count; ++i) walk(r, level - 1, offset + i * loop.step, visit);
}
}  // namespace detail

template <typename Visit>
void for_each_run(const AccessPattern& pattern, Visit&& visit) {
  const detail::Runs r = detail::runs(pattern);
  detail::walk(r, r.rank, r.offset, visit);
}
template <typename Visit>
void for_each_run(const HbmPattern& pattern, Visit&& visit) {
  const detail::Runs r = detail::runs(pattern);
  detail::walk(r, r.rank, r.offset, visit);
}

}  // namespace ncemu
