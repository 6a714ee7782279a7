#include "emu/observe/footprints.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

namespace ncemu {
namespace {

std::uint64_t mix(std::uint64_t v) {
  v += 0x9E37'79B9'7F4A'7C15U;
  v = (v ^ (v >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
  v = (v ^ (v >> 27U)) * 0x94D0'49BB'1331'11EBU;
  return v ^ (v >> 31U);
}

std::uint64_t hash_of(const Footprint& f) {
  std::uint64_t h = mix(f.memory);
  const auto add = [&](std::int64_t v) { h = mix(h ^ static_cast<std::uint64_t>(v)); };
  h = mix(h ^ f.lanes.low);
  h = mix(h ^ f.lanes.high);
  add(f.runs.offset);
  add(f.runs.length);
  for (int i = 0; i < f.runs.rank; ++i) {
    add(f.runs.loops[static_cast<std::size_t>(i)].step);
    add(f.runs.loops[static_cast<std::size_t>(i)].count);
  }
  return h;
}

bool same(const detail::Runs& a, const detail::Runs& b) {
  if (a.offset != b.offset || a.length != b.length || a.rank != b.rank) return false;
  return std::equal(a.loops.begin(), a.loops.begin() + a.rank, b.loops.begin(),
                    [](const auto& x, const auto& y) { return x.step == y.step && x.count == y.count; });
}

std::uint64_t bits(unsigned first, unsigned end) {  // [first, end) of 0..64
  const auto below = [](unsigned n) { return n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; };
  return below(end) & ~below(first);
}

// A set of footprints as the XOR of random numbers, one per member: two different sets are taken for one with
// a probability of about 2^-128.
struct Signature {
  std::uint64_t a = 0, b = 0;
  void toggle(Footprints::Id id) {
    a ^= mix(2 * std::uint64_t{id});
    b ^= mix(2 * std::uint64_t{id} + 1);
  }
  friend bool operator==(const Signature&, const Signature&) = default;
};
struct SignatureHash {
  std::size_t operator()(const Signature& s) const { return s.a; }
};

struct Boundary {
  std::int64_t at;
  Footprints::Id id;
};

// Gives the atoms of a memory to the footprints that have them: bytes in the same footprints are one atom.
class Divider {
 public:
  using Stretch = Footprints::Stretch;
  Divider(std::vector<std::vector<Footprints::Atom>>& atoms, std::size_t& count)
      : atoms_(atoms), count_(count) {}

  // All stretches of the memory, or of a row.
  void sweep(std::span<const Stretch> stretches) {
    boundaries_.clear();
    for (const auto& [bytes, id] : stretches) {
      boundaries_.push_back({bytes.begin, id});
      boundaries_.push_back({bytes.end, id});
    }
    std::sort(boundaries_.begin(), boundaries_.end(),
              [](const Boundary& x, const Boundary& y) { return x.at < y.at; });
    begins_.clear();
    atom_of_.clear();
    Signature inside;
    for (std::size_t i = 0; i < boundaries_.size();) {
      const std::int64_t at = boundaries_[i].at;
      for (; i < boundaries_.size() && boundaries_[i].at == at; ++i) inside.toggle(boundaries_[i].id);
      const auto [found, fresh] = known_.try_emplace(inside, static_cast<Footprints::Atom>(count_));
      if (fresh) ++count_;
      begins_.push_back(at);
      atom_of_.push_back(found->second);
    }
    for (const auto& [bytes, id] : stretches) {
      auto& list = atoms_[id];
      auto at = static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), bytes.begin) -
                                         begins_.begin());
      for (; at < begins_.size() && begins_[at] < bytes.end; ++at) {
        if (list.empty() || list.back() != atom_of_[at]) list.push_back(atom_of_[at]);
      }
    }
  }

  // The rows between two ends of rectangles are alike, and one sweep does for all of them.
  void divide_rows(std::vector<Footprints::Rectangle>& rectangles) {
    std::sort(rectangles.begin(), rectangles.end(),
              [](const auto& x, const auto& y) { return x.row < y.row; });
    std::vector<Footprints::Rectangle> active;
    std::vector<Stretch> stretches;
    for (std::size_t next = 0; next < rectangles.size() || !active.empty();) {
      if (active.empty()) row_ = rectangles[next].row;
      std::erase_if(active, [&](const auto& r) { return r.end <= row_; });
      for (; next < rectangles.size() && rectangles[next].row <= row_; ++next)
        active.push_back(rectangles[next]);
      stretches.clear();
      std::int64_t end = next < rectangles.size() ? rectangles[next].row : never_row;
      for (const auto& r : active) {
        stretches.push_back(r.columns);
        end = std::min(end, r.end);
      }
      sweep(stretches);
      row_ = end;
    }
  }

 private:
  static constexpr std::int64_t never_row = std::numeric_limits<std::int64_t>::max();

  std::vector<std::vector<Footprints::Atom>>& atoms_;
  std::size_t& count_;
  std::unordered_map<Signature, Footprints::Atom, SignatureHash> known_;
  std::vector<Boundary> boundaries_;
  // The stretches between boundaries; those of one signature are one atom.
  std::vector<std::int64_t> begins_;
  std::vector<Footprints::Atom> atom_of_;
  std::int64_t row_ = 0;
};

}  // namespace

LaneSet LaneSet::range(unsigned first, unsigned count) {
  const unsigned end = first + count;
  return {bits(std::min(first, 64U), std::min(end, 64U)),
          bits(std::max(first, 64U) - 64, std::max(end, 64U) - 64)};
}

int LaneSet::first() const { return low != 0 ? std::countr_zero(low) : 64 + std::countr_zero(high); }
int LaneSet::last() const { return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(low); }

Footprint footprint_of(const AccessPattern& p) {
  return {p.space == Space::psum ? psum_memory : sbuf_memory, LaneSet::range(p.partition, p.partitions),
          detail::runs(p)};
}
Footprint footprint_of(const HbmPattern& p) {
  return {first_tensor_memory + p.tensor, LaneSet::range(0, 1), detail::runs(p)};
}

std::vector<Extent> extents_of(const detail::Runs& given) {
  detail::Runs r = given;
  std::int64_t count = 1;
  for (int i = 0; i < r.rank; ++i) count *= r.loops[static_cast<std::size_t>(i)].count;
  for (; count > run_limit; --r.rank) {
    const auto [step, n] = r.loops[0];
    if (step < 0) r.offset += step * (n - 1);
    r.length += std::abs(step) * (n - 1);
    count /= n;
    std::move(r.loops.begin() + 1, r.loops.begin() + r.rank, r.loops.begin());
  }
  std::vector<Extent> all;
  all.reserve(static_cast<std::size_t>(count));
  auto add = [&](std::int64_t at, std::int64_t length) { all.push_back({at, at + length}); };
  detail::walk(r, r.rank, r.offset, add);
  std::sort(all.begin(), all.end(), [](const Extent& x, const Extent& y) { return x.begin < y.begin; });
  std::size_t kept = 0;
  for (const Extent& e : all) {
    if (kept > 0 && e.begin <= all[kept - 1].end) {
      all[kept - 1].end = std::max(all[kept - 1].end, e.end);
    } else {
      all[kept++] = e;
    }
  }
  all.resize(kept);
  return all;
}

bool shared_bytes(const Footprint& a, const Footprint& b, Extent& bytes, LaneSet& lanes) {
  lanes = a.lanes.both(b.lanes);
  if (a.memory != b.memory || lanes.empty()) return false;
  const auto x = extents_of(a.runs), y = extents_of(b.runs);
  for (std::size_t i = 0, j = 0; i < x.size() && j < y.size();) {
    bytes = {std::max(x[i].begin, y[j].begin), std::min(x[i].end, y[j].end)};
    if (bytes.begin < bytes.end) return true;
    ++(x[i].end <= y[j].end ? i : j);
  }
  return false;
}

void Footprints::mark_written(std::uint32_t memory) {
  if (written_.size() <= memory) written_.resize(memory + 1);
  written_[memory] = true;
}

Footprints::Id Footprints::add(const AccessPattern& pattern, bool write) {
  const Id known = patterns_.find(pattern);
  if (known == PatternTable::none) {
    const Id id = add(footprint_of(pattern), write);
    patterns_.add(pattern, id);
    return id;
  }
  if (write) mark_written(all_[known].memory);
  return known;
}

Footprints::Id Footprints::add(const Footprint& footprint, bool write) {
  if (write) mark_written(footprint.memory);
  if (2 * (all_.size() + 1) > table_.size()) grow_table();
  const std::uint64_t hash = hash_of(footprint);
  std::size_t at = hash & (table_.size() - 1);
  for (; table_[at] != none; at = (at + 1) & (table_.size() - 1)) {
    const Id id = table_[at];
    const Footprint& f = all_[id];
    if (hashes_[id] == hash && f.memory == footprint.memory && f.lanes == footprint.lanes &&
        same(f.runs, footprint.runs)) {
      return id;
    }
  }
  const auto id = static_cast<Id>(all_.size());
  all_.push_back(footprint);
  hashes_.push_back(hash);
  table_[at] = id;
  return id;
}

void Footprints::grow_table() {
  table_.assign(std::max<std::size_t>(64, 2 * table_.size()), none);
  for (Id id = 0; id < all_.size(); ++id) {
    std::size_t at = hashes_[id] & (table_.size() - 1);
    while (table_[at] != none) at = (at + 1) & (table_.size() - 1);
    table_[at] = id;
  }
}

void Footprints::divide() {
  std::vector<std::vector<Id>> of_memory(written_.size());
  for (Id id = 0; id < all_.size(); ++id) {
    const std::uint32_t memory = all_[id].memory;
    if (memory < written_.size() && written_[memory]) of_memory[memory].push_back(id);
  }
  std::vector<std::vector<Atom>> atoms(all_.size());
  atom_count_ = 0;
  for (const auto& ids : of_memory) divide(ids, atoms);
  first_.assign(1, 0);
  members_.clear();
  for (const auto& list : atoms) {
    members_.insert(members_.end(), list.begin(), list.end());
    first_.push_back(members_.size());
  }
}

void Footprints::divide(std::span<const Id> ids, std::vector<std::vector<Atom>>& atoms) {
  Divider divider(atoms, atom_count_);
  std::vector<Rectangle> rectangles;
  if (const auto pitch = common_pitch(ids); pitch && rectangles_of(ids, *pitch, rectangles)) {
    divider.divide_rows(rectangles);
  } else {
    std::vector<Stretch> stretches;
    for (const Id id : ids) {
      for (const Extent& e : extents_of(all_[id].runs)) stretches.push_back({e, id});
    }
    divider.sweep(stretches);
  }
  for (const Id id : ids) {
    std::vector<Atom>& list = atoms[id];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

// The one step of all strided footprints; none: they have several, or more than one dimension.
std::optional<std::int64_t> Footprints::common_pitch(std::span<const Id> ids) const {
  std::optional<std::int64_t> pitch;
  for (const Id id : ids) {
    const detail::Runs& runs = all_[id].runs;
    if (runs.rank == 0) continue;
    if (runs.rank > 1 || runs.loops[0].step <= 0 || (pitch && *pitch != runs.loops[0].step)) return {};
    pitch = runs.loops[0].step;
  }
  return pitch;
}

// False: one of them is none.
bool Footprints::rectangles_of(std::span<const Id> ids, std::int64_t pitch,
                               std::vector<Rectangle>& rectangles) const {
  for (const Id id : ids) {
    const detail::Runs& runs = all_[id].runs;
    const std::int64_t column = runs.offset % pitch;
    Rectangle r{runs.offset / pitch, 0, {{column, column + runs.length}, id}};
    if (r.columns.bytes.end <= pitch) {
      r.end = r.row + (runs.rank == 0 ? 1 : runs.loops[0].count);
    } else if (runs.rank == 0 && column == 0 && runs.length % pitch == 0) {
      r.end = r.row + runs.length / pitch;
      r.columns.bytes.end = pitch;
    } else {
      return false;
    }
    rectangles.push_back(r);
  }
  return true;
}

}  // namespace ncemu
