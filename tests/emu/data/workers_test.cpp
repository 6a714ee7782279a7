#include "emu/data/workers.h"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using namespace ncemu;

TEST_CASE("every part of every round runs once, and all have run when run returns") {
  for (const int threads : {1, 2, 3, 7}) {
    Workers workers(threads);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(threads), 0);
    constexpr int rounds = 2000;
    for (int round = 0; round < rounds; ++round) {
      workers.run([&](int part) { sums[static_cast<std::size_t>(part)] += round + part; });
    }
    for (int part = 0; part < threads; ++part)
      CHECK(sums[static_cast<std::size_t>(part)] == std::int64_t{rounds} * (rounds - 1) / 2 + rounds * part);
  }
}

TEST_CASE("the failure of the lowest part is thrown, and the next round works") {
  Workers workers(4);
  for (int again = 0; again < 50; ++again) {
    try {
      workers.run([](int part) {
        if (part >= 2) throw std::runtime_error(std::to_string(part));
      });
      FAIL("nothing was thrown");
    } catch (const std::runtime_error& e) {
      CHECK(std::string(e.what()) == "2");
    }
    std::array<int, 4> seen{};
    workers.run([&](int part) { seen[static_cast<std::size_t>(part)] = 1; });
    CHECK(std::accumulate(seen.begin(), seen.end(), 0) == 4);
  }
}

TEST_CASE("shares cover a count without gap or overlap, and differ by at most one") {
  for (const int parts : {1, 2, 3, 7}) {
    for (const std::int64_t count : {0, 1, 2, 6, 7, 8, 128}) {
      std::int64_t at = 0;
      for (int part = 0; part < parts; ++part) {
        const Share s = share(count, part, parts);
        CHECK(s.begin == at);
        CHECK(s.end - s.begin >= count / parts);
        CHECK(s.end - s.begin <= (count + parts - 1) / parts);
        at = s.end;
      }
      CHECK(at == count);
    }
  }
}
