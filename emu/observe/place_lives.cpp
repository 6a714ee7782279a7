#include "emu/observe/place_lives.h"

#include <algorithm>

namespace ncemu {
namespace {

struct TileAccess {
  PlaceId place = no_place;
  bool write = false;
};

struct Life {
  bool open = false, read = false;
  Ticks begin = 0, end = 0;
};

// Reads before writes: an instruction that changes a tile in place reads it first.
std::vector<TileAccess> tile_accesses(const Instruction& instruction) {
  std::vector<TileAccess> all;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (pattern.place != no_place) all.push_back({pattern.place, role == Role::write});
    }
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const TileAccess& a, const TileAccess& b) { return a.write < b.write; });
  return all;
}

}  // namespace

std::vector<PlaceLife> place_lives(const Timeline& timeline, const Program& program) {
  const Timeline::Instructions& all = timeline.instructions;
  std::array<std::vector<std::vector<TileAccess>>, engine_count> accesses;
  for (const Engine e : all_engines) {
    for (const Instruction& i : program.stream(e))
      accesses[static_cast<std::size_t>(e)].push_back(tile_accesses(i));
  }
  std::vector<PlaceLife> lives;
  std::vector<Life> now(program.places.size());
  std::uint32_t transfer = 0;
  for (Serial s = 0; s < all.size(); ++s) {
    Ticks end = all.complete[s];
    if (transfer < timeline.transfers.size() && timeline.transfers.serial[transfer] == s)
      end = std::max(end, timeline.transfers.last_packet[transfer++]);
    for (const TileAccess& access : accesses[static_cast<std::size_t>(all.engine[s])][all.index[s]]) {
      Life& life = now.at(access.place);
      if (access.write && life.open && life.read && all.start[s] >= life.end) {
        lives.push_back({access.place, life.begin, life.end});
        life.open = false;
      }
      if (!life.open) life = {.open = true, .read = false, .begin = all.start[s], .end = end};
      life.read = life.read || !access.write;
      life.end = std::max(life.end, end);
    }
  }
  for (std::size_t p = 0; p < now.size(); ++p) {
    if (now[p].open) lives.push_back({static_cast<PlaceId>(p), now[p].begin, now[p].end});
  }
  std::sort(lives.begin(), lives.end(), [](const PlaceLife& a, const PlaceLife& b) {
    return std::pair(a.begin, a.place) < std::pair(b.begin, b.place);
  });
  return lives;
}

MemoryUse memory_use(const std::vector<PlaceLife>& lives, const Program& program) {
  struct Edge {
    Ticks at;
    std::int64_t sbuf, psum;
  };
  std::vector<Edge> edges;
  for (const PlaceLife& life : lives) {
    const Tile& tile = program.tiles[program.places[life.place].tile];
    const std::int64_t sbuf = tile.space == Space::sbuf ? tile.bytes : 0;
    const std::int64_t psum = tile.space == Space::psum ? tile.bytes : 0;
    edges.push_back({life.begin, sbuf, psum});
    edges.push_back({life.end, -sbuf, -psum});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  MemoryUse use;
  MemoryUse::Change level;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    level.at = edges[i].at;
    level.sbuf_bytes += edges[i].sbuf;
    level.psum_bytes += edges[i].psum;
    if (i + 1 < edges.size() && edges[i + 1].at == level.at) continue;
    use.changes.push_back(level);
    use.sbuf_peak = std::max(use.sbuf_peak, level.sbuf_bytes);
    use.psum_peak = std::max(use.psum_peak, level.psum_bytes);
  }
  return use;
}

}  // namespace ncemu
