#include "isa/place_arrange.h"

#include <algorithm>
#include <utility>

namespace ncemu::placing {
namespace {

// Where tiles begin and end in the static tree of blocks. A tile used in rotation lives as long as its block:
// an older place may still be in use when the declaration is executed again.
std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> result(program.tiles.size());
  struct Frame {
    std::uint32_t scope;
    std::size_t next;
    std::uint32_t begin;
  };
  std::uint32_t now = 0;
  std::vector<Frame> open = {{0, 0, now++}};
  while (!open.empty()) {
    Frame& frame = open.back();
    const auto& entries = program.scopes[frame.scope].entries;
    if (frame.next < entries.size()) {
      const Scope::Entry entry = entries[frame.next++];
      if (entry.is_scope) {
        open.push_back({entry.id, 0, now++});
      } else {
        result[entry.id].begin = program.tiles[entry.id].buffers > 1 ? frame.begin : now++;
      }
      continue;
    }
    for (const Scope::Entry& entry : entries) {
      if (!entry.is_scope) result[entry.id].end = now;
    }
    ++now;
    open.pop_back();
  }
  return result;
}

}  // namespace

bool meet(const Lifetime& a, const Lifetime& b) { return a.begin < b.end && b.begin < a.end; }

std::uint32_t content_bytes(const Tile& tile) {
  if (!tile.array.empty() || tile.space != Space::sbuf) return tile.bytes;
  std::int64_t bytes = size_of(tile.dtype);
  for (std::size_t i = 1; i < tile.shape.size(); ++i) bytes *= tile.shape[i];
  const std::int64_t padded = (bytes + sbuf_alignment - 1) / sbuf_alignment * sbuf_alignment;
  return padded == tile.bytes ? static_cast<std::uint32_t>(bytes) : tile.bytes;
}

bool share_partitions(const Placement& a, const Placement& b) {
  return a.partition < b.partition + b.partitions && b.partition < a.partition + a.partitions;
}

bool share_bytes(const Placement& a, const Placement& b) {
  return share_partitions(a, b) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

Arrangement::Arrangement(const Program& program, Space space)
    : program_(&program),
      space_(space),
      capacity_(space == Space::sbuf ? program.target.sbuf_partition_bytes
                                     : program.target.psum_partition_bytes()),
      alignment_(space == Space::sbuf ? sbuf_alignment : program.target.psum_bank_bytes),
      lives_(lifetimes(program)) {}

bool Arrangement::run(Sharing sharing, Sequence sequence) {
  sharing_ = sharing;
  blocks_.clear();
  std::vector<std::uint32_t> free;
  for (std::uint32_t t = 0; t < program_->tiles.size(); ++t) {
    const Tile& tile = program_->tiles[t];
    if (tile.space != space_) continue;
    if (tile.fixed_offset) {
      add_fixed(t);
    } else {
      free.push_back(t);
    }
  }
  if (sequence == Sequence::largest_first) {
    std::stable_sort(free.begin(), free.end(), [&](std::uint32_t a, std::uint32_t b) {
      return program_->tiles[a].bytes > program_->tiles[b].bytes;
    });
  }
  return std::all_of(free.begin(), free.end(), [&](std::uint32_t t) { return add_free(t); });
}

std::uint32_t Arrangement::reserved(const Tile& tile) const {
  return (tile.bytes + alignment_ - 1) / alignment_ * alignment_;
}
Block Arrangement::block(std::uint32_t t, std::uint32_t buffer, std::uint32_t offset) const {
  const Tile& tile = program_->tiles[t];
  Block b;
  b.at.place = static_cast<PlaceId>(tile.first_place + buffer);
  b.at.tile = t;
  b.at.space = space_;
  b.at.partition = tile.fixed_partition.value_or(0);
  b.at.partitions = static_cast<std::uint32_t>(tile.shape[0]);
  b.at.offset = offset;
  b.at.bytes = content_bytes(tile);
  b.life = lives_[t];
  b.fixed = tile.fixed_offset.has_value();
  return b;
}

// The places of a tile with an explicit offset follow one another from there.
void Arrangement::add_fixed(std::uint32_t t) {
  const Tile& tile = program_->tiles[t];
  for (std::uint32_t b = 0; b < tile.buffers; ++b) {
    blocks_.push_back(block(t, b, *tile.fixed_offset + b * reserved(tile)));
  }
}

bool Arrangement::add_free(std::uint32_t t) {
  for (std::uint32_t b = 0; b < program_->tiles[t].buffers; ++b) {
    Block placed = block(t, b, 0);
    if (!first_fit(placed)) return false;
    blocks_.push_back(placed);
  }
  return true;
}

// A bank belongs to one tile unless both are placed explicitly, so whole units of alignment are taken.
bool Arrangement::first_fit(Block& b) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;
  for (const Block& other : blocks_) {
    if (!in_the_way(b, other)) continue;
    taken.push_back({other.at.offset / alignment_ * alignment_,
                     (other.at.offset + other.at.bytes + alignment_ - 1) / alignment_ * alignment_});
  }
  std::sort(taken.begin(), taken.end());
  std::uint32_t at = 0;
  for (const auto& [begin, end] : taken) {
    if (begin >= at + reserved(program_->tiles[b.at.tile])) break;
    at = std::max(at, end);
  }
  b.at.offset = at;
  return at <= capacity_ && b.at.bytes <= capacity_ - at;
}

bool Arrangement::in_the_way(const Block& a, const Block& b) const {
  if (!share_partitions(a.at, b.at)) return false;
  const auto shares = [&](const Block& x) {
    return sharing_ == Sharing::all_tiles ||
           (sharing_ == Sharing::plain_tiles && (x.fixed || program_->tiles[x.at.tile].buffers == 1));
  };
  return !(shares(a) && shares(b)) || meet(a.life, b.life);
}

}  // namespace ncemu::placing
