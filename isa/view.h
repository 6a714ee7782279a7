#pragma once

// A view of a tensor or a tile: a shape and one step per dimension over named memory, as the language
// writes it (t[i, lo:hi], .reshape, .permute, .broadcast, .as). Views cost nothing; they are lowered
// to the patterns of instruction words. Every function throws Fault(input) with the shapes involved.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "isa/access_pattern.h"

namespace ncemu {

class View {
 public:
  static constexpr int max_rank = 12;
  struct Dimension {
    std::int64_t size = 1;
    std::int64_t step = 0;  // elements; partitions for dimension 0 of an on-chip view
  };

  // A whole HBM tensor, row-major.
  static View of_tensor(std::uint16_t tensor, DType dtype, std::span<const std::int64_t> shape);
  // [partitions, free...] at byte `offset` of a place; free dimensions row-major.
  static View of_place(Space space, PlaceId place, DType dtype, std::span<const std::int64_t> shape,
                       std::int64_t offset_bytes);
  // A raw pattern (`.ap`), dimensions slowest first.
  static View of_pattern(const AccessPattern& pattern);
  // Any steps over a tensor or a place: dimensions slowest first, on chip those of the free side; offset in
  // elements.
  static View of_steps(std::uint16_t tensor, DType dtype, std::span<const Dimension> dims,
                       std::int64_t offset);
  static View of_steps(Space space, PlaceId place, DType dtype, std::int64_t partition,
                       std::int64_t partitions, std::span<const Dimension> dims, std::int64_t offset);

  bool on_chip() const { return space_ != Space::hbm; }
  Space space() const { return space_; }
  DType dtype() const { return dtype_; }
  int rank() const { return rank_; }
  std::int64_t size(int dimension) const { return dims_[static_cast<std::size_t>(dimension)].size; }
  std::span<const Dimension> dimensions() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }
  std::int64_t elements() const;
  std::int64_t offset() const { return offset_; }              // elements from the start of its memory
  std::int64_t first_partition() const { return partition_; }  // of its memory, on chip

  // Keeps [lo, hi) by step. 0 <= lo < hi <= size, step > 0.
  View slice(int dimension, std::int64_t lo, std::int64_t hi, std::int64_t step = 1) const;
  // Drops the dimension at `i`; dimension 0 of an on-chip view is kept with size 1.
  View index(int dimension, std::int64_t i) const;
  // Drops the dimension; its index is `scale * register + base`, checked at run time. Not the partition; one
  // per view.
  View index(int dimension, Register reg, std::int64_t scale, std::int64_t base) const;
  // Keeps `count` elements from `scale * register + base`.
  View slice(int dimension, Register reg, std::int64_t scale, std::int64_t base, std::int64_t count) const;
  // Moves the whole view by `step * register + base` elements (an element of an array of tiles).
  View indexed_by(Register reg, std::int64_t step, std::int64_t base) const;
  View reshape(std::span<const std::int64_t> shape) const;
  View permute(std::span<const int> order) const;
  View broadcast(int dimension, std::int64_t size) const;  // the dimension must have size 1
  View as(DType dtype) const;

  // Lowering: unit dimensions dropped, adjacent ones merged; an error that prints the merged shape if
  // more than four remain, or a step or count does not fit. `full_rank` keeps the shape as written.
  AccessPattern pattern(bool full_rank = false) const;
  HbmPattern hbm_pattern(bool full_rank = false) const;
  MemoryOperand memory(bool full_rank = false) const;
  PointerOperand pointer() const;  // [P, 1]
  // A table in HBM whose rows an index chooses: its slowest dimension is dims[3] (forms.h, DmaCopy).
  HbmPattern rows() const;
  // 2 to 4 dimensions as written: the slowest, two in between, the fastest (forms.h, DmaTranspose).
  MemoryOperand transposable() const;

  // "f32[128, 512]"
  std::string describe() const;
  // Shape without unit dimensions; the DMA shape rule compares these.
  std::string describe_squeezed() const;

 private:
  Space space_ = Space::hbm;
  DType dtype_ = DType::f32;
  int rank_ = 0;
  std::uint16_t tensor_ = 0;
  PlaceId place_ = no_place;
  Register index_;
  std::int64_t index_step_ = 0;  // elements
  std::int64_t partition_ = 0;   // first partition, on chip
  std::int64_t offset_ = 0;      // elements of dtype_
  std::array<Dimension, max_rank> dims_{};
};

// Equal shapes after dropping unit dimensions.
bool same_shape(const View& a, const View& b);

}  // namespace ncemu
