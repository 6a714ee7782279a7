#pragma once

// Which bytes of a memory were written, and which of them hold values that come from bytes nobody wrote. Such
// a byte carries an origin: the number of the read that was reported for it; 0 is a sound byte.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/observe/lane_classes.h"
#include "emu/observe/pattern_table.h"

namespace ncemu {

using Origin = std::uint16_t;
inline constexpr Origin sound = 0;
inline constexpr Origin unwritten = 0xFFFF;

// Bytes in a row: of a class of lanes, or a page of a tensor.
class ByteRow {
 public:
  explicit ByteRow(std::int64_t bytes) : words_((bytes + 63) / 64), written_(words_of(words_)) {}

  // All written, none with an origin.
  bool is_sound(std::int64_t begin, std::int64_t length) const;
  // `unwritten`, the first origin among the bytes, or `sound`.
  Origin look(std::int64_t begin, std::int64_t length) const;
  void write(std::int64_t begin, std::int64_t length, Origin origin);
  friend bool operator==(const ByteRow&, const ByteRow&) = default;

 private:
  static std::size_t words_of(std::int64_t bits) { return static_cast<std::size_t>((bits + 63) / 64); }
  bool all_written(std::int64_t begin, std::int64_t length) const;
  void refine();

  std::int64_t words_;  // of 64 bytes
  bool fine_ = false;   // a bit per byte; until a part of a word is written a bit per word
  std::vector<std::uint64_t> written_;
  std::vector<Origin> origins_;  // per byte; empty while all are sound
};

// SBUF or PSUM. What was written once stays so; while no byte carries an origin, a pattern found sound is not
// looked at again.
class ChipShadow {
 public:
  ChipShadow(std::uint32_t partitions, std::uint32_t partition_bytes)
      : lanes_(partitions, ByteRow(partition_bytes)) {}

  bool is_sound(const AccessPattern& pattern) const;
  // The same, if it is known without looking at the bytes.
  bool is_known(const AccessPattern& pattern) const {
    return !origins_ && sound_.find(pattern) != PatternTable::none;
  }
  // Per element, partition slowest, in stream order.
  std::vector<Origin> look(const AccessPattern& pattern) const;
  void write(const AccessPattern& pattern);
  void write(const AccessPattern& pattern, const std::vector<Origin>& origins);

 private:
  LaneClasses<ByteRow> lanes_;
  bool origins_ = false;        // some byte may carry one
  mutable PatternTable sound_;  // patterns found sound, as long as there are none
};

// A tensor in HBM, in pages that exist once something in them is written.
class TensorShadow {
 public:
  explicit TensorShadow(std::int64_t bytes);

  bool is_sound(const HbmPattern& pattern) const;
  std::vector<Origin> look(const HbmPattern& pattern) const;
  void write(const HbmPattern& pattern);
  void write(const HbmPattern& pattern, const std::vector<Origin>& origins);
  // Counts the elements of `width` bytes that are not wholly written.
  struct Missing {
    std::int64_t elements = 0, first = 0;
  };
  Missing missing(int width) const;

 private:
  static constexpr std::int64_t page_bytes = 1 << 16;
  template <typename Visit>
  static void pieces(std::int64_t begin, std::int64_t length, Visit&& visit);

  void write(std::int64_t begin, std::int64_t length, Origin origin);
  Origin look(std::int64_t begin, std::int64_t length) const;

  std::int64_t bytes_;
  std::vector<std::unique_ptr<ByteRow>> pages_;
};

}  // namespace ncemu
