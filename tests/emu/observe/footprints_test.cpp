// Footprints and their atoms against arrays of single bytes.

#include "emu/observe/footprints.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

using namespace ncemu;

namespace {

AccessPattern random_pattern(std::mt19937& random) {
  AccessPattern p;
  p.dtype = random() % 2 == 0 ? DType::u8 : DType::bf16;
  p.offset = static_cast<std::uint32_t>(300 + random() % 100);
  const auto first = static_cast<unsigned>(random() % 128);
  p.partition = static_cast<std::uint8_t>(first);
  p.partitions = static_cast<std::uint8_t>(1 + random() % (128 - first));
  for (Dim& d : p.dims) {
    d.count = static_cast<std::uint16_t>(1 + random() % 4);
    d.step = static_cast<std::int16_t>(static_cast<int>(random() % 25) - 12);
  }
  return p;
}

std::set<std::int64_t> bytes_of(const AccessPattern& p) {
  std::set<std::int64_t> all;
  const std::int64_t size = size_of(p.dtype);
  for (std::int64_t i = 0; i < p.elements(); ++i) {
    std::int64_t rest = i, at = p.offset;
    for (const Dim& d : p.dims) {
      at += rest % d.count * d.step * size;
      rest /= d.count;
    }
    for (std::int64_t b = 0; b < size; ++b) all.insert(at + b);
  }
  return all;
}

}  // namespace

TEST_CASE("two operands have an atom in common exactly if they have a byte of a lane's memory in common") {
  std::mt19937 random(5);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    std::vector<AccessPattern> patterns;
    std::vector<Footprints::Id> ids;
    Footprints footprints;
    for (int k = 0; k < 12; ++k) {
      patterns.push_back(random_pattern(random));
      ids.push_back(footprints.add(footprint_of(patterns.back()), k == 0));
    }
    footprints.divide();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const auto x = bytes_of(patterns[i]);
      for (std::size_t j = 0; j < i; ++j) {
        const auto y = bytes_of(patterns[j]);
        std::vector<std::int64_t> both;
        std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(both));
        const auto a = footprints.atoms(ids[i]), b = footprints.atoms(ids[j]);
        std::vector<Footprints::Atom> atoms;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(atoms));
        REQUIRE(atoms.empty() == both.empty());

        const int first = std::max(patterns[i].partition, patterns[j].partition);
        const int end = std::min(patterns[i].partition + patterns[i].partitions,
                                 patterns[j].partition + patterns[j].partitions);
        Extent shared;
        LaneSet lanes;
        const bool some = shared_bytes(footprints[ids[i]], footprints[ids[j]], shared, lanes);
        REQUIRE(some == (!both.empty() && first < end));
        if (!some) continue;
        CHECK(lanes.first() == first);
        CHECK(lanes.last() == end - 1);
        CHECK(shared.begin == both.front());
        for (std::int64_t at = shared.begin; at < shared.end; ++at) CHECK((x.contains(at) && y.contains(at)));
      }
    }
  }
}

TEST_CASE("a memory that nobody writes has no atoms") {
  Footprints footprints;
  HbmPattern read;
  read.tensor = 3;
  read.dims[0] = {1, 64};
  HbmPattern written = read;
  written.tensor = 4;
  const auto a = footprints.add(footprint_of(read), false);
  const auto b = footprints.add(footprint_of(written), true);
  footprints.divide();
  CHECK(footprints.atoms(a).empty());
  CHECK(footprints.atoms(b).size() == 1);
}

TEST_CASE("a strided operand that is only touched as a whole is one atom") {
  Footprints footprints;
  AccessPattern p;
  p.dtype = DType::bf16;
  p.partitions = 128;
  p.dims[0] = {2, 512};
  const auto id = footprints.add(footprint_of(p), true);
  CHECK(footprints.add(footprint_of(p), false) == id);
  footprints.divide();
  CHECK(footprints.atoms(id).size() == 1);
}

TEST_CASE("tiles of a matrix have an atom in common exactly if they have an element in common") {
  constexpr std::int64_t rows = 24, columns = 40;
  std::mt19937 random(6);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  struct Tile {
    std::int64_t row, rows, column, columns;
  };
  for (int round = 0; round < 60; ++round) {
    Footprints footprints;
    std::vector<Tile> tiles;
    std::vector<Footprints::Id> ids;
    for (int k = 0; k < 20; ++k) {
      const std::int64_t row = below(rows), column = k % 5 == 0 ? 0 : below(columns);
      tiles.push_back(
          {row, 1 + below(rows - row), column, k % 5 == 0 ? columns : 1 + below(columns - column)});
      const Tile& t = tiles.back();
      HbmPattern p;
      p.dtype = DType::bf16;
      p.offset = t.row * columns + t.column;
      p.dims[0] = {1, static_cast<std::uint32_t>(t.columns)};
      p.dims[1] = {static_cast<std::int32_t>(columns), static_cast<std::uint32_t>(t.rows)};
      ids.push_back(footprints.add(p, true));
    }
    footprints.divide();
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      for (std::size_t j = 0; j < tiles.size(); ++j) {
        const Tile &x = tiles[i], &y = tiles[j];
        const bool meet = x.row < y.row + y.rows && y.row < x.row + x.rows &&
                          x.column < y.column + y.columns && y.column < x.column + x.columns;
        const auto a = footprints.atoms(ids[i]), b = footprints.atoms(ids[j]);
        std::vector<Footprints::Atom> both;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
        INFO("round ", round, " tiles ", i, " and ", j);
        REQUIRE(both.empty() == !meet);
      }
    }
  }
}
