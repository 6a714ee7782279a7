#include "isa/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "isa/check.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr std::uint32_t sbuf_alignment = 32;    // bytes (design: tiles)
constexpr std::size_t largest_tiles_named = 5;  // notes of a message about memory that is full

// Moments count tiles and ends of blocks in text order; [begin, end).
struct Lifetime {
  std::uint32_t begin = 0, end = 0;
};

bool meet(const Lifetime& a, const Lifetime& b) { return a.begin < b.end && b.begin < a.end; }

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

// The bytes of a place without the padding of its last element. A tile that was declared with several sizes
// counts as padded.
std::uint32_t content_bytes(const Tile& tile) {
  if (!tile.array.empty() || tile.space != Space::sbuf) return tile.bytes;
  std::int64_t bytes = size_of(tile.dtype);
  for (std::size_t i = 1; i < tile.shape.size(); ++i) bytes *= tile.shape[i];
  const std::int64_t padded = (bytes + sbuf_alignment - 1) / sbuf_alignment * sbuf_alignment;
  return padded == tile.bytes ? static_cast<std::uint32_t>(bytes) : tile.bytes;
}

// How far tiles may share addresses. The first that fits is taken: addresses that are not shared need no
// waits of their own.
enum class Sharing { none, plain_tiles, all_tiles };
enum class Sequence { text, largest_first };

struct Block {
  Placement at;
  Lifetime life;
  bool fixed = false;
};

class Allocator {
 public:
  Allocator(const Program& program, Space space)
      : program_(&program),
        space_(space),
        capacity_(space == Space::sbuf ? program.target.sbuf_partition_bytes
                                       : program.target.psum_partition_bytes()),
        alignment_(space == Space::sbuf ? sbuf_alignment : program.target.psum_bank_bytes),
        lives_(lifetimes(program)) {}

  std::uint32_t capacity() const { return capacity_; }
  const std::vector<Block>& blocks() const { return blocks_; }

  // True when all tiles found a place.
  bool run(Sharing sharing, Sequence sequence) {
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

  std::uint32_t reserved(const Tile& tile) const {
    return (tile.bytes + alignment_ - 1) / alignment_ * alignment_;
  }
  const Lifetime& life(std::uint32_t tile) const { return lives_[tile]; }

 private:
  Block block(std::uint32_t t, std::uint32_t buffer, std::uint32_t offset) const {
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
  void add_fixed(std::uint32_t t) {
    const Tile& tile = program_->tiles[t];
    for (std::uint32_t b = 0; b < tile.buffers; ++b) {
      blocks_.push_back(block(t, b, *tile.fixed_offset + b * reserved(tile)));
    }
  }

  bool add_free(std::uint32_t t) {
    for (std::uint32_t b = 0; b < program_->tiles[t].buffers; ++b) {
      Block placed = block(t, b, 0);
      if (!first_fit(placed)) return false;
      blocks_.push_back(placed);
    }
    return true;
  }

  // A bank belongs to one tile unless both are placed explicitly, so whole units of alignment are taken.
  bool first_fit(Block& b) const {
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

  bool in_the_way(const Block& a, const Block& b) const {
    if (a.at.partition >= b.at.partition + b.at.partitions ||
        b.at.partition >= a.at.partition + a.at.partitions) {
      return false;
    }
    const auto shares = [&](const Block& x) {
      return sharing_ == Sharing::all_tiles ||
             (sharing_ == Sharing::plain_tiles && (x.fixed || program_->tiles[x.at.tile].buffers == 1));
    };
    return !(shares(a) && shares(b)) || meet(a.life, b.life);
  }

  const Program* program_;
  Space space_;
  std::uint32_t capacity_, alignment_;
  std::vector<Lifetime> lives_;
  Sharing sharing_ = Sharing::none;
  std::vector<Block> blocks_;
};

std::string shape_of(const Tile& tile) {
  std::string text;
  for (const std::int64_t d : tile.array) text += fmt::format("[{}]", d);
  text += fmt::format("{}{}[", text.empty() ? "" : " : ", name(tile.dtype));
  for (std::size_t i = 0; i < tile.shape.size(); ++i)
    text += fmt::format("{}{}", i ? ", " : "", tile.shape[i]);
  return text + "]" + (tile.buffers > 1 ? fmt::format(", buffers = {}", tile.buffers) : "");
}

// The most bytes that live together, and the tiles that do, largest first.
struct Peak {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> tiles;
};

Peak peak(const Program& program, const Allocator& allocator, Space space) {
  const auto total = [&](std::uint32_t t) {
    return std::uint64_t{allocator.reserved(program.tiles[t])} * program.tiles[t].buffers;
  };
  // A moment of the peak is the beginning of some tile.
  struct Change {
    std::uint32_t at;
    bool begins;
    std::uint32_t tile;
  };
  std::vector<Change> changes;
  for (std::uint32_t t = 0; t < program.tiles.size(); ++t) {
    if (program.tiles[t].space != space) continue;
    changes.push_back({allocator.life(t).begin, true, t});
    changes.push_back({allocator.life(t).end, false, t});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return std::tie(a.at, a.begins, a.tile) < std::tie(b.at, b.begins, b.tile);
  });
  Peak result;
  std::uint32_t when = 0;
  std::uint64_t live = 0;
  for (const Change& c : changes) {
    if (!c.begins) {
      live -= total(c.tile);
      continue;
    }
    live += total(c.tile);
    if (live > result.bytes) {
      result.bytes = live;
      when = c.at;
    }
  }
  for (std::uint32_t t = 0; t < program.tiles.size(); ++t) {
    const Lifetime& life = allocator.life(t);
    if (program.tiles[t].space == space && life.begin <= when && when < life.end) result.tiles.push_back(t);
  }
  std::stable_sort(result.tiles.begin(), result.tiles.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return total(a) > total(b); });
  return result;
}

void report_full(const Program& program, const Allocator& allocator, Space space, Diagnostics& diagnostics) {
  const Peak worst = peak(program, allocator, space);
  const char* memory = space == Space::sbuf ? "SBUF" : "PSUM";
  std::string message =
      worst.bytes > allocator.capacity()
          ? fmt::format("the tiles do not fit into {}: {} bytes per partition needed, {} available", memory,
                        worst.bytes, allocator.capacity())
          : fmt::format(
                "the tiles do not fit into {}: {} of {} bytes per partition are needed at once, but no "
                "arrangement around the explicitly placed tiles was found",
                memory, worst.bytes, allocator.capacity());
  std::uint32_t last = 0;  // the youngest of the live tiles: the declaration that was one too many
  for (const std::uint32_t t : worst.tiles) last = std::max(last, program.tiles[t].site);
  Diagnostic diagnostic = diagnose(program, Severity::error, last, std::move(message));
  for (std::size_t i = 0; i < std::min(worst.tiles.size(), largest_tiles_named); ++i) {
    const Tile& tile = program.tiles[worst.tiles[i]];
    diagnostic.notes.push_back(
        diagnose(program, Severity::note, tile.site,
                 fmt::format("tile '{}' takes {} bytes per partition ({})", tile.name,
                             std::uint64_t{allocator.reserved(tile)} * tile.buffers, shape_of(tile))));
  }
  if (worst.tiles.size() > largest_tiles_named) {
    diagnostic.hint =
        fmt::format("{} more tiles live at the same time", worst.tiles.size() - largest_tiles_named);
  }
  diagnostics.add(std::move(diagnostic));
}

// Datasheet 1.5.
bool legal_start(std::uint32_t partition, std::uint32_t partitions) {
  return partition % (partitions > 64 ? 128U : partitions > 32 ? 64U : 32U) == 0;
}

void check_explicit(const Program& program, const Tile& tile, Diagnostics& diagnostics) {
  const auto error = [&](std::string message, std::string reference) {
    Diagnostic d = diagnose(program, Severity::error, tile.site, std::move(message));
    d.reference = std::move(reference);
    diagnostics.add(std::move(d));
  };
  const auto partitions = static_cast<std::uint32_t>(tile.shape[0]);
  if (tile.fixed_partition && (*tile.fixed_partition >= program.target.partitions ||
                               partitions > program.target.partitions - *tile.fixed_partition)) {
    error(fmt::format("tile '{}' takes partitions {} to {}; there are {}", tile.name, *tile.fixed_partition,
                      std::uint64_t{*tile.fixed_partition} + partitions - 1, program.target.partitions),
          "datasheet 1.2");
  } else if (tile.fixed_partition && !legal_start(*tile.fixed_partition, partitions)) {
    error(fmt::format("tile '{}' of {} partitions cannot start at partition {}, only at {}", tile.name,
                      partitions, *tile.fixed_partition,
                      partitions > 64   ? "0"
                      : partitions > 32 ? "0 or 64"
                                        : "0, 32, 64 or 96"),
          "datasheet 1.5");
  }
  if (!tile.fixed_offset) return;
  const bool sbuf = tile.space == Space::sbuf;
  const std::uint64_t capacity =
      sbuf ? program.target.sbuf_partition_bytes : program.target.psum_partition_bytes();
  const std::uint32_t alignment = sbuf ? sbuf_alignment : program.target.psum_bank_bytes;
  const std::uint64_t spacing = (std::uint64_t{tile.bytes} + alignment - 1) / alignment * alignment;
  const std::uint64_t end = *tile.fixed_offset + spacing * (tile.buffers - 1) + content_bytes(tile);
  if (end > capacity) {
    error(fmt::format("tile '{}' ends at byte {} of its partitions; {} has {}", tile.name, end,
                      sbuf ? "SBUF" : "PSUM", capacity),
          "datasheet 1.2");
  }
  if (*tile.fixed_offset % static_cast<std::uint32_t>(size_of(tile.dtype)) != 0) {
    error(fmt::format("offset {} of tile '{}' is not a multiple of its {}-byte elements", *tile.fixed_offset,
                      tile.name, size_of(tile.dtype)),
          "datasheet 1.6");
  }
}

// Explicit places that overlap while both tiles live: once per pair of tiles.
void report_overlaps(const Program& program, const std::vector<Block>& blocks, Diagnostics& diagnostics) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reported;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Block& a = blocks[j];
      const Block& b = blocks[i];
      if (!a.fixed || !b.fixed || a.at.tile == b.at.tile || !meet(a.life, b.life)) continue;
      const std::uint32_t begin = std::max(a.at.offset, b.at.offset);
      const std::uint32_t end = std::min(a.at.offset + a.at.bytes, b.at.offset + b.at.bytes);
      if (begin >= end || a.at.partition >= b.at.partition + b.at.partitions ||
          b.at.partition >= a.at.partition + a.at.partitions) {
        continue;
      }
      const std::pair pair(a.at.tile, b.at.tile);
      if (std::find(reported.begin(), reported.end(), pair) != reported.end()) continue;
      reported.push_back(pair);
      const Tile& first = program.tiles[a.at.tile];
      const Tile& second = program.tiles[b.at.tile];
      Diagnostic d = diagnose(
          program, Severity::warning, second.site,
          fmt::format("tile '{}' overlaps the live tile '{}' declared at {}: both take bytes {} to {} of {}",
                      second.name, first.name, describe_site(program, first.site), begin, end - 1,
                      second.space == Space::sbuf ? "SBUF" : "PSUM"));
      d.notes.push_back(
          diagnose(program, Severity::note, first.site, fmt::format("'{}' is declared here", first.name)));
      diagnostics.add(std::move(d));
    }
  }
}

template <typename Operand>
void move_operand(Operand& operand, const Program& program) {
  if (operand.place == no_place) return;
  ensure(operand.place < program.places.size(), "an operand names a place of the program");
  const Place& place = program.places[operand.place];
  operand.offset += place.offset;
  operand.partition = static_cast<std::uint8_t>(operand.partition + place.partition);
}

// Turns operands relative to their places into addresses.
struct Mover {
  const Program* program;
  void operator()(std::string_view, AccessPattern& p, Role) const { move_operand(p, *program); }
  void operator()(std::string_view, MemoryOperand& m, Role) const { move(m); }
  void operator()(std::string_view, ScalarOperand& s, Role) const {
    if (auto* p = std::get_if<PointerOperand>(&s)) move_operand(*p, *program);
  }
  template <typename Other>
  void operator()(std::string_view, Other&, Role) const {}
  void move(MemoryOperand& m) const {
    if (auto* p = std::get_if<AccessPattern>(&m)) move_operand(*p, *program);
  }
};

}  // namespace

void place(Program& program, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.errors();
  for (const Tile& tile : program.tiles) check_explicit(program, tile, diagnostics);
  if (diagnostics.errors() > errors_before) return;

  for (const Space space : {Space::sbuf, Space::psum}) {
    Allocator allocator(program, space);
    const bool fits = allocator.run(Sharing::none, Sequence::text) ||
                      allocator.run(Sharing::plain_tiles, Sequence::text) ||
                      allocator.run(Sharing::plain_tiles, Sequence::largest_first) ||
                      allocator.run(Sharing::all_tiles, Sequence::text) ||
                      allocator.run(Sharing::all_tiles, Sequence::largest_first);
    if (!fits) {
      report_full(program, allocator, space, diagnostics);
      continue;
    }
    report_overlaps(program, allocator.blocks(), diagnostics);
    for (const Block& b : allocator.blocks()) {
      Place& place = program.places[b.at.place];
      place.partition = static_cast<std::uint8_t>(b.at.partition);
      place.offset = b.at.offset;
    }
  }
  if (diagnostics.errors() > errors_before) return;

  const Mover mover{&program};
  for (auto& stream : program.streams) {
    for (Instruction& instruction : stream) for_each_field(instruction.operands, mover);
  }
  for (Probe& probe : program.probes) mover.move(probe.view);
}

std::vector<Placement> placements(const Program& program) {
  std::vector<Placement> result;
  result.reserve(program.places.size());
  for (std::size_t i = 0; i < program.places.size(); ++i) {
    const Place& place = program.places[i];
    const Tile& tile = program.tiles[place.tile];
    result.push_back({static_cast<PlaceId>(i), place.tile, tile.space, place.partition,
                      static_cast<std::uint32_t>(tile.shape[0]), place.offset, content_bytes(tile)});
  }
  return result;
}

Usage usage(const Program& program) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  std::vector<bool> banks(program.target.psum_banks);
  for (const Placement& p : placements(program)) {
    if (p.bytes == 0) continue;
    if (p.space == Space::sbuf) {
      ranges.push_back({p.offset, p.offset + p.bytes});
      continue;
    }
    const std::uint32_t last = (p.offset + p.bytes - 1) / program.target.psum_bank_bytes;
    for (std::uint32_t b = p.offset / program.target.psum_bank_bytes; b <= last && b < banks.size(); ++b) {
      banks[b] = true;
    }
  }
  std::sort(ranges.begin(), ranges.end());
  Usage result;
  std::uint32_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (end <= covered) continue;
    result.sbuf_bytes += end - std::max(begin, covered);
    covered = end;
  }
  result.psum_banks = static_cast<std::uint32_t>(std::count(banks.begin(), banks.end(), true));
  return result;
}

}  // namespace ncemu
