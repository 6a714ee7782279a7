#pragma once

// SBUF, PSUM and HBM as bytes. On-chip memory is row-major by partition, so that one partition's
// row is contiguous; HBM tensors are paged and a page exists once it is written. Every byte starts
// as 0xFF: NaN in every float type, -1 in integers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "isa/access_pattern.h"
#include "isa/program.h"

namespace ncemu {

class OnChipMemory {
 public:
  OnChipMemory(std::uint32_t partitions, std::uint32_t partition_bytes);

  std::uint32_t partitions() const { return partitions_; }
  std::uint32_t partition_bytes() const { return partition_bytes_; }
  std::byte* row(std::uint32_t partition) {
    return bytes_.data() + std::size_t{partition} * partition_bytes_;
  }
  const std::byte* row(std::uint32_t partition) const {
    return bytes_.data() + std::size_t{partition} * partition_bytes_;
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::uint32_t partitions_, partition_bytes_;
  std::vector<std::byte> bytes_;
};

class HbmMemory {
 public:
  static constexpr std::size_t page_bytes = std::size_t{1} << 20;

  // One region per tensor; constants are filled in.
  explicit HbmMemory(const std::vector<Tensor>& tensors);

  std::size_t tensors() const { return regions_.size(); }
  std::int64_t bytes(std::uint16_t tensor) const;
  const std::string& name(std::uint16_t tensor) const;

  // Offsets in bytes; the range must lie inside the tensor.
  void read(std::uint16_t tensor, std::int64_t offset, std::span<std::byte> to) const;
  void write(std::uint16_t tensor, std::int64_t offset, std::span<const std::byte> from);
  // The longest contiguous piece that starts at `offset`, at most `length` bytes.
  std::span<const std::byte> view(std::uint16_t tensor, std::int64_t offset, std::int64_t length) const;
  std::span<std::byte> edit(std::uint16_t tensor, std::int64_t offset, std::int64_t length);

 private:
  struct Region {
    std::string name;
    std::int64_t bytes = 0;
    std::vector<std::unique_ptr<std::byte[]>> pages;  // null: untouched, reads as 0xFF
  };
  const Region& region(std::uint16_t tensor) const;

  std::vector<Region> regions_;
  std::vector<std::byte> untouched_;  // what a page reads as before it exists
};

// Which accumulation group last wrote each PSUM word (design: PSUM groups). 0: none. Groups are
// numbered in the order they were opened, so the larger number is the newer group.
class PsumGroups {
 public:
  PsumGroups(std::uint32_t partitions, std::uint32_t words);
  std::uint32_t& at(std::uint32_t partition, std::uint32_t word) {
    return stamps_[std::size_t{partition} * words_ + word];
  }
  std::uint32_t* row(std::uint32_t partition) { return stamps_.data() + std::size_t{partition} * words_; }
  // Opens a group. Throws Fault(program) after 2^32 - 1 groups.
  std::uint32_t open();

  // The newest group that was opened in the bank of a word, on partitions that share a column group of the
  // array with `partition`; 0: none.
  std::uint32_t& newest(std::uint32_t partition, std::uint32_t word) {
    return newest_[std::size_t{word / bank_words} * quadrants + partition / quadrant_lanes];
  }

 private:
  static constexpr std::uint32_t bank_words = 512;     // datasheet 1.2
  static constexpr std::uint32_t quadrant_lanes = 32;  // the smallest column group (datasheet 6.1)
  static constexpr std::size_t quadrants = 4;

  std::uint32_t words_;
  std::uint32_t last_ = 0;
  std::vector<std::uint32_t> newest_;
  std::vector<std::uint32_t> stamps_;
};

}  // namespace ncemu
