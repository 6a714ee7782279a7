#pragma once

// An on-chip operand of an instruction in execution: its place in memory, and its elements block by
// block as raw bits, fp32 values or 32-bit integers.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "emu/data/fused_rows.h"
#include "emu/data/state.h"
#include "emu/data/walk.h"

namespace ncemu {

// Elements an instruction handles at a time: three fp32 buffers of this size stay in the first-level
// cache of the host.
inline constexpr std::int64_t block_elements = 1024;

// Elements [first, first + count) of each of the lanes [lane, lane + lanes).
struct Block {
  int lane = 0;
  int lanes = 1;
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::size_t size() const { return static_cast<std::size_t>(lanes) * static_cast<std::size_t>(count); }
};

// Stream order in blocks of at most `limit` elements; short rows share a block.
template <typename Visit>
void for_each_block(int lanes, std::int64_t elements, std::int64_t limit, Visit&& visit) {
  const int together = static_cast<int>(std::max<std::int64_t>(1, limit / elements));
  for (int lane = 0; lane < lanes; lane += together) {
    for (std::int64_t first = 0; first < elements; first += limit) {
      visit(Block{lane, std::min(together, lanes - lane), first, std::min(limit, elements - first)});
    }
  }
}

// Working storage of one operand's block.
struct BlockBytes {
  alignas(64) std::array<std::byte, static_cast<std::size_t>(block_elements) * 4> bytes;
  std::byte* data() { return bytes.data(); }
};
template <typename T>
struct BlockOf {
  alignas(64) std::array<T, static_cast<std::size_t>(block_elements)> values;
  T* data() { return values.data(); }
};

class Operand {
 public:
  // Throws Fault(program) naming `mnemonic` and `name` when the pattern leaves its memory.
  Operand(std::string_view mnemonic, std::string_view name, const AccessPattern& pattern, State& state);

  const AccessPattern& pattern() const { return *pattern_; }
  std::string_view name() const { return name_; }
  DType dtype() const { return pattern_->dtype; }
  int lanes() const { return pattern_->partitions; }
  std::int64_t elements() const { return walk_.elements(); }
  const Walk& walk() const { return walk_; }
  std::size_t row_bytes() const { return row_bytes_; }  // from one lane to the next
  std::byte* row(int lane) { return base_ + static_cast<std::size_t>(lane) * row_bytes_; }
  const std::byte* row(int lane) const { return base_ + static_cast<std::size_t>(lane) * row_bytes_; }

  // Raw bits, contiguous in `to` / `from`.
  void read(const Block& block, std::byte* to) const;
  void write(const Block& block, const std::byte* from);
  // Converted by datasheet 4.4; `raw` is working storage.
  void read(const Block& block, float* to, BlockBytes& raw) const;
  void write(const Block& block, const float* from, BlockBytes& raw);
  // The block where it is, if it lies there as fp32 in a row; else null.
  const float* floats_in_place(const Block& block) const;
  // The block where it is, for apply_fused; null where it does not lie in a row or is rounded by chance.
  PlainRow plain_row(const Block& block) const;
  // The values where they are, if they lie there as fp32 in a row, else converted in `buffer`.
  const float* values(const Block& block, BlockOf<float>& buffer, BlockBytes& raw) const;
  // Where to put the results of a block: its place, if fp32 lies there in a row, else `buffer`. Then
  // finish(): what stands in place has canonical NaNs and stays as it is.
  float* results(const Block& block, BlockOf<float>& buffer);
  void finish(const Block& block, const float* results, BlockBytes& raw);
  // Integer types as 32-bit integers, sign- or zero-extended; truncated on the way back.
  void read(const Block& block, std::uint32_t* to, BlockBytes& raw) const;
  void write(const Block& block, const std::uint32_t* from, BlockBytes& raw);

 private:
  // The block's bytes where they are, if they are contiguous there.
  const std::byte* in_place(const Block& block) const;
  // The same, or a copy in `raw`.
  const std::byte* bytes(const Block& block, BlockBytes& raw) const;

  const AccessPattern* pattern_;
  std::string_view name_;
  Walk walk_;
  std::size_t row_bytes_;
  std::byte* base_;
  const StochasticRounding* rounding_;  // null: to nearest even
  SaturationCount* saturation_;         // null: nobody asks, or the type saturates nothing
};

// Not empty and inside its memory or tensor. Throws Fault(program) naming `mnemonic` and `name`. The bytes it
// takes of each partition.
Extent check_inside(std::string_view mnemonic, std::string_view name, const AccessPattern& pattern,
                    const State& state);
void check_inside(std::string_view mnemonic, std::string_view name, const HbmPattern& pattern,
                  const State& state);

// Partitions and elements per partition agree. Throws Fault(program) with both.
void check_same_stream(std::string_view mnemonic, const Operand& dst, const Operand& src);

// A write by an engine other than the tensor engine: the PSUM words it touches belong to no group.
void leave_groups(const AccessPattern& dst, State& state);

// The block size with which results equal those of the element-by-element order: block_elements, or 1
// when a result may reach an element that is still to be read.
std::int64_t block_limit(const Operand& dst, const Operand& src);

}  // namespace ncemu
