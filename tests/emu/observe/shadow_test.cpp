// The shadow memories against plain arrays with one entry per byte of every partition.

#include "emu/observe/shadow.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

using namespace ncemu;

namespace {

constexpr int partitions = 128, bytes = 512;

AccessPattern random_pattern(std::mt19937& random) {
  const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n + 1)); };
  constexpr DType types[] = {DType::u8, DType::bf16, DType::f32};
  AccessPattern p;
  p.dtype = types[upto(2)];
  const int width = size_of(p.dtype);
  p.partition = static_cast<std::uint8_t>(upto(3) * 32);
  p.partitions = static_cast<std::uint8_t>(1 + upto(partitions - p.partition - 1));
  const int inner = 1 + upto(7), outer = 1 + upto(3), step = 1 + upto(2);
  const int outer_step = inner * step + upto(4);
  p.dims[0] = {static_cast<std::int16_t>(step), static_cast<std::uint16_t>(inner)};
  p.dims[1] = {static_cast<std::int16_t>(outer_step), static_cast<std::uint16_t>(outer)};
  const int reach = ((inner - 1) * step + (outer - 1) * outer_step + 1) * width;
  p.offset = static_cast<std::uint32_t>(upto(bytes - reach));
  return p;
}

struct Plain {
  std::vector<Origin> origins = std::vector<Origin>(partitions * bytes, unwritten);

  template <typename Visit>
  static void each(const AccessPattern& p, Visit&& visit) {
    for (int lane = p.partition; lane < p.partition + p.partitions; ++lane) {
      for (int j = 0; j < p.dims[1].count; ++j) {
        for (int i = 0; i < p.dims[0].count; ++i) {
          const auto at =
              static_cast<int>(p.offset) + (i * p.dims[0].step + j * p.dims[1].step) * size_of(p.dtype);
          visit(static_cast<std::size_t>(lane * bytes + at));
        }
      }
    }
  }
  std::vector<Origin> look(const AccessPattern& p) const {
    std::vector<Origin> all;
    each(p, [&](std::size_t at) {
      Origin found = sound;
      bool missing = false;
      for (std::size_t b = at; b < at + static_cast<std::size_t>(size_of(p.dtype)); ++b) {
        missing = missing || origins[b] == unwritten;
        if (found == sound) found = origins[b];
      }
      all.push_back(missing ? unwritten : found);
    });
    return all;
  }
  void write(const AccessPattern& p, const std::vector<Origin>& values) {
    std::size_t i = 0;
    each(p, [&](std::size_t at) {
      for (std::size_t b = at; b < at + static_cast<std::size_t>(size_of(p.dtype)); ++b)
        origins[b] = values[i];
      ++i;
    });
  }
};

}  // namespace

TEST_CASE("random writes and reads of lanes and strided bytes agree with an array of bytes") {
  std::mt19937 random(20261201);
  for (int round = 0; round < 40; ++round) {
    ChipShadow shadow(partitions, bytes);
    Plain plain;
    for (int step = 0; step < 60; ++step) {
      const AccessPattern write = random_pattern(random);
      const auto count = static_cast<std::size_t>(write.elements() * write.partitions);
      std::vector<Origin> origins(count);
      if (step % 3 != 0) {
        shadow.write(write);
      } else {
        for (Origin& o : origins) o = static_cast<Origin>(random() % 4);
        shadow.write(write, origins);
      }
      plain.write(write, origins);
      const AccessPattern read = random_pattern(random);
      const std::vector<Origin> expected = plain.look(read);
      CHECK(shadow.look(read) == expected);
      CHECK(shadow.is_sound(read) == (std::count(expected.begin(), expected.end(), sound) ==
                                      static_cast<std::ptrdiff_t>(expected.size())));
    }
  }
}

TEST_CASE("lanes that were written one by one become one class again") {
  LaneClasses<int> lanes(128, 0);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t lane = 0; lane < 128; ++lane) {
      lanes.write(Lanes::range(lane, 1), [&](const Lanes&, int& content) { content = round; });
    }
  }
  // A few more writes than there are between two merges.
  for (int i = 0; i < 70; ++i) lanes.write(Lanes::range(0, 128), [](const Lanes&, int&) {});
  CHECK(lanes.size() <= 4);
  int seen = 0;
  lanes.read(Lanes::range(0, 128), [&](const Lanes& meant, int content) {
    CHECK(content == 2);
    for (int lane = 0; lane < 128; ++lane) seen += has_lane(meant, lane) ? 1 : 0;
  });
  CHECK(seen == 128);
}

TEST_CASE("a row in whole words of 64 bytes knows the same as one written byte by byte") {
  constexpr int words = 20, length = words * 64;
  std::mt19937 random(9);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 50; ++round) {
    ByteRow row(length);
    std::vector<Origin> plain(length, unwritten);
    for (int step = 0; step < 30; ++step) {
      // Whole words for a while, then parts of them too, then values that come from nowhere.
      const int unit = step < 15 ? 64 : 1;
      const int begin = below(length / unit) * unit;
      const int n = std::min(length - begin, (1 + below(3 * 64 / unit)) * unit);
      const Origin origin = step < 25 ? sound : static_cast<Origin>(below(3));
      row.write(begin, n, origin);
      std::fill_n(plain.begin() + begin, n, origin);

      const int at = below(length), count = 1 + below(length - at);
      Origin expected = sound;
      for (int b = at; b < at + count; ++b) {
        if (plain[static_cast<std::size_t>(b)] == unwritten) expected = unwritten;
        if (expected == sound) expected = plain[static_cast<std::size_t>(b)];
      }
      INFO("round ", round, " step ", step, " bytes ", at, " + ", count);
      REQUIRE(row.look(at, count) == expected);
      REQUIRE(row.is_sound(at, count) == (expected == sound));
    }
  }
}
