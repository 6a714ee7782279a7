#include "emu/observe/footprints.h"

#include <algorithm>
#include <bit>
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

Footprints::Id Footprints::add(const Footprint& footprint, bool write) {
  if (write) {
    if (written_.size() <= footprint.memory) written_.resize(footprint.memory + 1);
    written_[footprint.memory] = true;
  }
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
  std::vector<std::vector<Extent>> extents;
  std::vector<Boundary> boundaries;
  extents.reserve(ids.size());
  for (const Id id : ids) {
    extents.push_back(extents_of(all_[id].runs));
    for (const Extent& e : extents.back()) {
      boundaries.push_back({e.begin, id});
      boundaries.push_back({e.end, id});
    }
  }
  std::sort(boundaries.begin(), boundaries.end(),
            [](const Boundary& x, const Boundary& y) { return x.at < y.at; });
  // The stretches between boundaries; those of one signature are one atom.
  std::vector<std::int64_t> begins;
  std::vector<Atom> atom_of;
  std::unordered_map<Signature, Atom, SignatureHash> known;
  Signature inside;
  for (std::size_t i = 0; i < boundaries.size();) {
    const std::int64_t at = boundaries[i].at;
    for (; i < boundaries.size() && boundaries[i].at == at; ++i) inside.toggle(boundaries[i].id);
    const auto [found, fresh] = known.try_emplace(inside, static_cast<Atom>(atom_count_));
    if (fresh) ++atom_count_;
    begins.push_back(at);
    atom_of.push_back(found->second);
  }
  for (std::size_t k = 0; k < ids.size(); ++k) {
    std::vector<Atom>& list = atoms[ids[k]];
    for (const Extent& e : extents[k]) {
      auto at =
          static_cast<std::size_t>(std::lower_bound(begins.begin(), begins.end(), e.begin) - begins.begin());
      for (; at < begins.size() && begins[at] < e.end; ++at) {
        if (list.empty() || list.back() != atom_of[at]) list.push_back(atom_of[at]);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

}  // namespace ncemu
