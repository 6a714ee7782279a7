#pragma once

// Finds places for the tiles of one memory: lifetimes from the static tree of blocks, then first fit.

#include <cstdint>
#include <vector>

#include "isa/place.h"

namespace ncemu::placing {

inline constexpr std::uint32_t sbuf_alignment = 32;  // bytes (design: tiles)

// Moments count tiles and ends of blocks in text order; [begin, end).
struct Lifetime {
  std::uint32_t begin = 0, end = 0;
};
bool meet(const Lifetime& a, const Lifetime& b);

// The bytes of a place without the padding of its last element. A tile that was declared with several sizes
// counts as padded.
std::uint32_t content_bytes(const Tile& tile);

// How far tiles may share addresses. The first that fits is taken: addresses that are not shared need no
// waits of their own.
enum class Sharing { none, plain_tiles, all_tiles };
enum class Sequence { text, largest_first };

struct Block {
  Placement at;
  Lifetime life;
  bool fixed = false;
};

// Some byte of some partition belongs to both.
bool share_bytes(const Placement& a, const Placement& b);
bool share_partitions(const Placement& a, const Placement& b);

class Arrangement {
 public:
  Arrangement(const Program& program, Space space);

  // True when all tiles found a place.
  bool run(Sharing sharing, Sequence sequence);
  const std::vector<Block>& blocks() const { return blocks_; }

  std::uint32_t capacity() const { return capacity_; }
  // Bytes that one place of the tile takes, in whole units of alignment.
  std::uint32_t reserved(const Tile& tile) const;
  const Lifetime& life(std::uint32_t tile) const { return lives_[tile]; }

 private:
  Block block(std::uint32_t tile, std::uint32_t buffer, std::uint32_t offset) const;
  void add_fixed(std::uint32_t tile);
  bool add_free(std::uint32_t tile);
  bool first_fit(Block& block) const;
  bool in_the_way(const Block& a, const Block& b) const;

  const Program* program_;
  Space space_;
  std::uint32_t capacity_, alignment_;
  std::vector<Lifetime> lives_;
  Sharing sharing_ = Sharing::none;
  std::vector<Block> blocks_;
};

}  // namespace ncemu::placing
