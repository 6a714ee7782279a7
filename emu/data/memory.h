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

// What memory starts as (design: NaN in every float type, -1 in integers), unless a run asks for another
// byte.
inline constexpr std::byte initial_byte{0xFF};

class OnChipMemory {
 public:
  OnChipMemory(std::uint32_t partitions, std::uint32_t partition_bytes, std::byte initial = initial_byte);

  std::uint32_t partitions() const { return partitions_; }
  std::uint32_t partition_bytes() const { return partition_bytes_; }
  std::byte* row(std::uint32_t partition) { return row(partition, 0, partition_bytes_); }
  const std::byte* row(std::uint32_t partition) const { return row(partition, 0, partition_bytes_); }
  // The same address, good for bytes [begin, end) of this row and the following ones only: memory that no
  // instruction comes near is never filled.
  std::byte* row(std::uint32_t partition, std::int64_t begin, std::int64_t end) {
    fill(begin, end);
    return bytes_.get() + std::size_t{partition} * stride_;
  }
  const std::byte* row(std::uint32_t partition, std::int64_t begin, std::int64_t end) const {
    fill(begin, end);
    return bytes_.get() + std::size_t{partition} * stride_;
  }
  // From one row to the next: a little more than a row, because rows a power of two apart would share a few
  // lines of the host's caches.
  std::size_t stride() const { return stride_; }
  // A copy of all bytes, partition after partition.
  std::vector<std::byte> contents() const;

 private:
  static constexpr std::int64_t column_bytes = 16 * 1024;  // filled at a time, in every row
  void fill(std::int64_t begin, std::int64_t end) const;

  std::uint32_t partitions_, partition_bytes_;
  std::byte initial_;
  std::size_t stride_;
  std::unique_ptr<std::byte[]> bytes_;
  mutable std::vector<bool> filled_;  // by column
};

class HbmMemory {
 public:
  static constexpr std::size_t page_bytes = std::size_t{1} << 20;

  // One region per tensor; constants are filled in.
  explicit HbmMemory(const std::vector<Tensor>& tensors, std::byte initial = initial_byte);

  std::size_t tensors() const { return regions_.size(); }
  DType dtype(std::uint16_t tensor) const { return region(tensor).dtype; }
  // False: nothing was written into the page of this byte.
  bool exists(std::uint16_t tensor, std::int64_t offset) const {
    return region(tensor).pages[static_cast<std::size_t>(offset) / page_bytes] != nullptr;
  }
  std::int64_t bytes(std::uint16_t tensor) const;
  const std::string& name(std::uint16_t tensor) const;

  // Offsets in bytes; the range must lie inside the tensor.
  void read(std::uint16_t tensor, std::int64_t offset, std::span<std::byte> to) const;
  void write(std::uint16_t tensor, std::int64_t offset, std::span<const std::byte> from);
  // The whole tensor at once, without a copy; nothing of it was written before.
  void adopt(std::uint16_t tensor, std::vector<std::byte> bytes);
  // The longest contiguous piece that starts at `offset`, at most `length` bytes.
  std::span<const std::byte> view(std::uint16_t tensor, std::int64_t offset, std::int64_t length) const;
  std::span<std::byte> edit(std::uint16_t tensor, std::int64_t offset, std::int64_t length);

 private:
  struct Release {
    bool own = true;  // false: a part of what was adopted
    void operator()(std::byte* page) const {
      if (own) delete[] page;
    }
  };
  using Page = std::unique_ptr<std::byte[], Release>;
  struct Region {
    std::string name;
    DType dtype = DType::f32;
    std::int64_t bytes = 0;
    std::vector<std::byte> adopted;
    std::vector<Page> pages;  // null: untouched, reads as 0xFF
  };
  const Region& region(std::uint16_t tensor) const;
  // The page of a byte, made if it is not there; with `whole`, its old content is about to be overwritten.
  std::byte* page(std::uint16_t tensor, std::int64_t offset, bool whole);

  std::byte initial_;
  std::vector<Region> regions_;
  std::vector<std::byte> untouched_;  // what a page reads as before it exists
};

// Which accumulation group last wrote each PSUM word (design: PSUM groups). 0: none. Groups are
// numbered in the order they were opened, so the larger number is the newer group.
class PsumGroups {
 public:
  PsumGroups(std::uint32_t partitions, std::uint32_t words);
  std::uint32_t at(std::uint32_t partition, std::uint32_t word) const {
    return stamps_[std::size_t{partition} * words_ + word];
  }
  // Words `step` apart.
  struct Words {
    std::uint32_t partition = 0, first = 0, count = 0, step = 1;
  };
  // 0: none of them belongs to a group.
  std::uint32_t newest_among(const Words& words) const;
  bool all_carry(const Words& words, std::uint32_t group) const;
  void stamp(const Words& words, std::uint32_t group);  // 0 clears
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

  // All words [begin, end) of a partition's bank carry the group: what nearly every accumulating matmul asks,
  // answered without looking at the words.
  struct Run {
    std::uint32_t begin = 0, end = 0, group = 0;
    bool covers(std::uint32_t first, std::uint32_t count) const {
      return begin <= first && first + count <= end;
    }
  };
  // Of the bank that holds the words; null when they are not next to each other in one bank.
  const Run* run_of(const Words& words) const;

  std::uint32_t words_, banks_;
  std::uint32_t last_ = 0;
  std::vector<Run> runs_;  // by partition and bank
  std::vector<std::uint32_t> newest_;
  std::vector<std::uint32_t> stamps_;
};

}  // namespace ncemu
