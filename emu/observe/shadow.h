#pragma once

// Which bytes of a memory were written, and which of them hold values that come from bytes nobody wrote. Such
// a byte carries an origin: the number of the read that was reported for it; 0 is a sound byte.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emu/observe/lane_classes.h"

namespace ncemu {

using Origin = std::uint16_t;
inline constexpr Origin sound = 0;
inline constexpr Origin unwritten = 0xFFFF;

// Bytes in a row: of a class of lanes, or a page of a tensor.
class ByteRow {
 public:
  explicit ByteRow(std::int64_t bytes) : written_(static_cast<std::size_t>((bytes + 63) / 64)) {}

  // All written, none with an origin.
  bool is_sound(std::int64_t begin, std::int64_t length) const;
  // `unwritten`, the first origin among the bytes, or `sound`.
  Origin look(std::int64_t begin, std::int64_t length) const;
  void write(std::int64_t begin, std::int64_t length, Origin origin);
  friend bool operator==(const ByteRow&, const ByteRow&) = default;

 private:
  std::vector<std::uint64_t> written_;  // a bit per byte
  std::vector<Origin> origins_;         // per byte; empty while all are sound
};

// SBUF or PSUM.
class ChipShadow {
 public:
  ChipShadow(std::uint32_t partitions, std::uint32_t partition_bytes)
      : lanes_(partitions, ByteRow(partition_bytes)) {}

  bool is_sound(const AccessPattern& pattern) const;
  // Per element, partition slowest, in stream order.
  std::vector<Origin> look(const AccessPattern& pattern) const;
  void write(const AccessPattern& pattern);
  void write(const AccessPattern& pattern, const std::vector<Origin>& origins);

 private:
  LaneClasses<ByteRow> lanes_;
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
