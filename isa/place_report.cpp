#include "isa/place_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "isa/check.h"

namespace ncemu::placing {
namespace {

constexpr std::size_t largest_tiles_named = 5;  // notes of a message about memory that is full

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

Peak peak(const Program& program, const Arrangement& arrangement, Space space) {
  const auto total = [&](std::uint32_t t) {
    return std::uint64_t{arrangement.reserved(program.tiles[t])} * program.tiles[t].buffers;
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
    changes.push_back({arrangement.life(t).begin, true, t});
    changes.push_back({arrangement.life(t).end, false, t});
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
    const Lifetime& life = arrangement.life(t);
    if (program.tiles[t].space == space && life.begin <= when && when < life.end) result.tiles.push_back(t);
  }
  std::stable_sort(result.tiles.begin(), result.tiles.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return total(a) > total(b); });
  return result;
}

// Datasheet 1.5.
bool legal_start(std::uint32_t partition, std::uint32_t partitions) {
  return partition % (partitions > 64 ? 128U : partitions > 32 ? 64U : 32U) == 0;
}

}  // namespace

void report_full(const Program& program, const Arrangement& arrangement, Space space,
                 Diagnostics& diagnostics) {
  const Peak worst = peak(program, arrangement, space);
  const char* memory = space == Space::sbuf ? "SBUF" : "PSUM";
  std::string message =
      worst.bytes > arrangement.capacity()
          ? fmt::format("the tiles do not fit into {}: {} bytes per partition needed, {} available", memory,
                        worst.bytes, arrangement.capacity())
          : fmt::format(
                "the tiles do not fit into {}: {} of {} bytes per partition are needed at once, but no "
                "arrangement around the explicitly placed tiles was found",
                memory, worst.bytes, arrangement.capacity());
  std::uint32_t last = 0;  // the youngest of the live tiles: the declaration that was one too many
  for (const std::uint32_t t : worst.tiles) last = std::max(last, program.tiles[t].site);
  Diagnostic diagnostic = diagnose(program, Severity::error, last, std::move(message));
  for (std::size_t i = 0; i < std::min(worst.tiles.size(), largest_tiles_named); ++i) {
    const Tile& tile = program.tiles[worst.tiles[i]];
    diagnostic.notes.push_back(
        diagnose(program, Severity::note, tile.site,
                 fmt::format("tile '{}' takes {} bytes per partition ({})", tile.name,
                             std::uint64_t{arrangement.reserved(tile)} * tile.buffers, shape_of(tile))));
  }
  if (worst.tiles.size() > largest_tiles_named) {
    diagnostic.hint =
        fmt::format("{} more tiles live at the same time", worst.tiles.size() - largest_tiles_named);
  }
  diagnostics.add(std::move(diagnostic));
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

void report_overlaps(const Program& program, const std::vector<Block>& blocks, Diagnostics& diagnostics) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> reported;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Block& a = blocks[j];
      const Block& b = blocks[i];
      if (!a.fixed || !b.fixed || a.at.tile == b.at.tile) continue;
      if (!meet(a.life, b.life) || !share_bytes(a.at, b.at)) continue;
      const std::uint32_t begin = std::max(a.at.offset, b.at.offset);
      const std::uint32_t end = std::min(a.at.offset + a.at.bytes, b.at.offset + b.at.bytes);
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
      d.fails_run = true;
      d.notes.push_back(
          diagnose(program, Severity::note, first.site, fmt::format("'{}' is declared here", first.name)));
      diagnostics.add(std::move(d));
    }
  }
}

}  // namespace ncemu::placing
