#include "tools/python/module/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "isa/check.h"

namespace ncemu::python {
namespace {

constexpr std::uint32_t sbuf_alignment = 32;  // bytes (design: tiles)
constexpr std::size_t most_named = 8;         // tiles in a message

struct Memory {
  Space space;
  std::uint32_t capacity, alignment;
  std::uint32_t reserved(const TracedTile& tile) const {
    return (tile.bytes + alignment - 1) / alignment * alignment;
  }
};

Memory memory_of(Space space, const Target& target) {
  if (space == Space::sbuf) return {space, target.sbuf_partition_bytes, sbuf_alignment};
  return {space, target.psum_partition_bytes(), target.psum_bank_bytes};
}

struct Range {
  std::uint32_t begin = 0, end = 0;
  friend auto operator<=>(const Range&, const Range&) = default;
};

// Free bytes at one moment: what is taken, and by which lifetimes it stays so.
class Floor {
 public:
  explicit Floor(std::uint32_t capacity) : capacity_(capacity) {}

  void take(Range range, std::uint32_t last) {
    taken_.insert(range);
    ends_.insert({last, range});
  }
  void release_before(std::uint32_t position) {
    while (!ends_.empty() && ends_.begin()->first < position) {
      taken_.erase(taken_.find(ends_.begin()->second));
      ends_.erase(ends_.begin());
    }
  }
  // The lowest free range of this length that begins at `from` or behind. `blocked`: ranges that are not free
  // either, in order.
  std::optional<std::uint32_t> find(std::uint32_t from, std::uint32_t length,
                                    std::span<const Range> blocked) const {
    std::uint32_t at = from;
    auto next = taken_.begin();
    auto other = blocked.begin();
    while (next != taken_.end() || other != blocked.end()) {
      const bool first = other == blocked.end() || (next != taken_.end() && *next < *other);
      const Range range = first ? *next++ : *other++;
      if (range.end <= at) continue;
      if (range.begin >= at && range.begin - at >= length) break;
      at = std::max(at, range.end);
    }
    if (at > capacity_ || capacity_ - at < length) return std::nullopt;
    return at;
  }

 private:
  std::uint32_t capacity_;
  std::multiset<Range> taken_;
  std::multiset<std::pair<std::uint32_t, Range>> ends_;
};

struct Sequence {
  std::vector<std::uint32_t> free, fixed;  // by first use, then by number
};

Sequence sequence(const std::vector<TracedTile>& tiles, Space space) {
  Sequence result;
  for (std::uint32_t t = 0; t < tiles.size(); ++t) {
    if (tiles[t].space != space || !tiles[t].used()) continue;
    (tiles[t].fixed ? result.fixed : result.free).push_back(t);
  }
  const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return tiles[a].first < tiles[b].first; };
  std::stable_sort(result.free.begin(), result.free.end(), earlier);
  std::stable_sort(result.fixed.begin(), result.fixed.end(), earlier);
  return result;
}

// The number of the tile that found no place; absent if all did.
std::optional<std::uint32_t> arrange(std::vector<TracedTile>& tiles, const Sequence& sequence,
                                     const Memory& memory, bool rotate) {
  Floor floor(memory.capacity);
  std::uint32_t next = 0;
  // Fixed tiles that live at the first use of the tile in hand, and the first of those that come later.
  std::vector<std::uint32_t> alive;
  std::size_t later = 0;
  std::vector<Range> blocked;
  for (const std::uint32_t t : sequence.free) {
    TracedTile& tile = tiles[t];
    floor.release_before(tile.first);
    const auto first = [&](std::size_t i) { return tiles[sequence.fixed[i]].first; };
    while (later < sequence.fixed.size() && first(later) <= tile.first)
      alive.push_back(sequence.fixed[later++]);
    std::erase_if(alive, [&](std::uint32_t f) { return tiles[f].last < tile.first; });
    blocked.clear();
    const auto block = [&](std::uint32_t f) {
      blocked.push_back({tiles[f].offset, tiles[f].offset + tiles[f].bytes});
    };
    for (const std::uint32_t f : alive) block(f);
    for (std::size_t i = later; i < sequence.fixed.size() && first(i) <= tile.last; ++i)
      block(sequence.fixed[i]);
    std::sort(blocked.begin(), blocked.end());
    for (Range& range : blocked) {  // the rest begins where the alignment allows it
      range.begin = range.begin / memory.alignment * memory.alignment;
      range.end = (range.end + memory.alignment - 1) / memory.alignment * memory.alignment;
    }
    const std::uint32_t length = memory.reserved(tile);
    auto at = floor.find(rotate ? next : 0, length, blocked);
    if (!at && rotate) at = floor.find(0, length, blocked);
    if (!at) return t;
    tile.partition = 0;
    tile.offset = *at;
    floor.take({*at, *at + length}, tile.last);
    next = *at + length;
  }
  return std::nullopt;
}

void report_full(const std::vector<TracedTile>& tiles, std::uint32_t failed, const Memory& memory,
                 const Program& program, Diagnostics& diagnostics) {
  const TracedTile& wanted = tiles[failed];
  std::vector<const TracedTile*> alive;
  std::uint64_t used = 0;
  for (const TracedTile& tile : tiles) {
    if (&tile == &wanted || tile.space != memory.space || !tile.used()) continue;
    if (tile.first > wanted.first || tile.last < wanted.first) continue;
    alive.push_back(&tile);
    used += memory.reserved(tile);
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const TracedTile* a, const TracedTile* b) { return a->bytes > b->bytes; });
  Diagnostic d =
      diagnose(program, Severity::error, wanted.site,
               fmt::format("tile '{}' does not fit into {}: it needs {} bytes per partition, {} of {} are "
                           "taken by {} tiles that are alive at its first use",
                           wanted.name, memory.space == Space::sbuf ? "SBUF" : "PSUM",
                           memory.reserved(wanted), used, memory.capacity, alive.size()));
  d.reference = "datasheet 1.2";
  for (std::size_t i = 0; i < alive.size() && i < most_named; ++i) {
    d.notes.push_back(diagnose(
        program, Severity::note, alive[i]->site,
        fmt::format("tile '{}' takes {} bytes per partition", alive[i]->name, memory.reserved(*alive[i]))));
  }
  diagnostics.add(std::move(d));
}

bool check_fixed(const TracedTile& tile, const Target& target, const Program& program,
                 Diagnostics& diagnostics) {
  const Memory memory = memory_of(tile.space, target);
  const auto partitions = static_cast<std::uint64_t>(tile.shape[0]);
  if (std::uint64_t{tile.offset} + tile.bytes <= memory.capacity &&
      tile.partition + partitions <= target.partitions)
    return true;
  diagnostics.add(diagnose(
      program, Severity::error, tile.site,
      fmt::format("tile '{}' at partition {}, offset {} with {} partitions of {} bytes is outside {} of {} "
                  "partitions of {} bytes",
                  tile.name, tile.partition, tile.offset, partitions, tile.bytes,
                  tile.space == Space::sbuf ? "SBUF" : "PSUM", target.partitions, memory.capacity)));
  return false;
}

bool share_bytes(const TracedTile& a, const TracedTile& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes &&
         a.partition < b.partition + b.shape[0] && b.partition < a.partition + a.shape[0];
}

// Once per pair of declarations, however often they were executed.
void report_overlaps(const std::vector<TracedTile>& tiles, const Sequence& sequence, const Program& program,
                     Diagnostics& diagnostics) {
  std::set<std::pair<std::string, std::string>> told;
  std::vector<std::uint32_t> alive;
  for (const std::uint32_t t : sequence.fixed) {
    std::erase_if(alive, [&](std::uint32_t other) { return tiles[other].last < tiles[t].first; });
    for (const std::uint32_t other : alive) {
      if (!share_bytes(tiles[other], tiles[t])) continue;
      if (!told.insert({tiles[other].name, tiles[t].name}).second) continue;
      Diagnostic d =
          diagnose(program, Severity::warning, tiles[t].site,
                   fmt::format("tiles '{}' and '{}' are placed over each other while both are in use",
                               tiles[other].name, tiles[t].name));
      d.fails_run = true;
      d.notes.push_back(diagnose(program, Severity::note, tiles[other].site,
                                 fmt::format("tile '{}' is declared here", tiles[other].name)));
      diagnostics.add(std::move(d));
    }
    alive.push_back(t);
  }
}

}  // namespace

void extend_through_loops(std::vector<TracedTile>& tiles, std::span<const Loop> loops) {
  // Outer loops come before inner ones and end behind them.
  const auto encloses = [&](std::uint32_t outer, std::uint32_t inner) {
    return inner != no_index && outer <= inner && loops[inner].end <= loops[outer].end &&
           loops[inner].begin >= loops[outer].begin;
  };
  for (TracedTile& tile : tiles) {
    if (!tile.used()) continue;
    for (auto l = static_cast<std::uint32_t>(loops.size()); l-- > 0;) {
      const Loop& loop = loops[l];
      if (loop.end <= loop.begin || encloses(l, tile.loop)) continue;
      const std::uint32_t end = loop.end - 1;
      if (tile.last < loop.begin || tile.first > end) continue;
      tile.first = std::min(tile.first, loop.begin);
      tile.last = std::max(tile.last, end);
    }
  }
}

void allocate(std::vector<TracedTile>& tiles, const Program& program, AllocationOrder order,
              Diagnostics& diagnostics) {
  for (const Space space : {Space::sbuf, Space::psum}) {
    const Memory memory = memory_of(space, program.target);
    const Sequence all = sequence(tiles, space);
    bool fine = true;
    for (const std::uint32_t t : all.fixed) {
      if (!check_fixed(tiles[t], program.target, program, diagnostics)) fine = false;
    }
    if (!fine) continue;
    report_overlaps(tiles, all, program, diagnostics);
    auto failed = arrange(tiles, all, memory, order == AllocationOrder::rotate);
    if (failed && order == AllocationOrder::rotate) failed = arrange(tiles, all, memory, false);
    if (failed) report_full(tiles, *failed, memory, program, diagnostics);
  }
}

}  // namespace ncemu::python
