#pragma once

// SBUF, PSUM and HBM as bytes. On-chip memory is row-major by partition, so that one partition's
// row is contiguous; HBM tensors are paged and a page exists once it is touched.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "isa/access_pattern.h"
#include "isa/program.h"

namespace ncemu {

class OnChipMemory {
 public:
  OnChipMemory(std::uint32_t partitions, std::uint32_t partition_bytes);

  std::uint32_t partitions() const { return partitions_; }
  std::uint32_t partition_bytes() const { return partition_bytes_; }
  std::byte* row(std::uint32_t partition) { return bytes_.data() + std::size_t{partition} * partition_bytes_; }
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

  std::int64_t bytes(std::uint16_t tensor) const;
  // Offsets in bytes; the range must lie inside the tensor.
  void read(std::uint16_t tensor, std::int64_t offset, std::span<std::byte> to) const;
  void write(std::uint16_t tensor, std::int64_t offset, std::span<const std::byte> from);
  // The longest contiguous piece that starts at `offset`, at most `length` bytes.
  std::span<const std::byte> view(std::uint16_t tensor, std::int64_t offset, std::int64_t length) const;
  std::span<std::byte> edit(std::uint16_t tensor, std::int64_t offset, std::int64_t length);

 private:
  struct Region {
    std::int64_t bytes = 0;
    std::vector<std::unique_ptr<std::byte[]>> pages;  // null: untouched, reads as 0xFF
  };
  std::vector<Region> regions_;
};

// Which accumulation group last wrote each PSUM word (design: PSUM groups). 0: none.
class PsumGroups {
 public:
  PsumGroups(std::uint32_t partitions, std::uint32_t words);
  std::uint32_t& at(std::uint32_t partition, std::uint32_t word) {
    return stamps_[std::size_t{partition} * words_ + word];
  }
  std::uint32_t open() { return ++last_; }

 private:
  std::uint32_t words_;
  std::uint32_t last_ = 0;
  std::vector<std::uint32_t> stamps_;
};

}  // namespace ncemu
