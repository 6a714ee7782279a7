#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Of two elements, whether the first is chosen before the second: repeated selection of the best.
bool better(float a, std::uint32_t i, float b, std::uint32_t j) {
  if (std::isnan(a) != std::isnan(b)) return std::isnan(b);
  if (!std::isnan(a) && a != b) return a > b;
  return i < j;
}

}  // namespace

TEST_CASE("the three largest of 20 numbers in 16 lanes, ascending, ties to the lower place") {
  State s(small_program(3));
  const auto src = sbuf(DType::bf16, 16, 0, 2), dst = sbuf(DType::bf16, 16, 64, 1),
             at = sbuf(DType::u32, 16, 128, 1);
  // Element i lies in lane i % 16, column i / 16; 9 at places 3, 7 and 18, 8 at 1.
  fill(s, src, [](int p, std::int64_t c) {
    const auto i = p + 16 * c;
    return i == 3 || i == 7 || i == 18 ? 9.0F : i == 1 ? 8.0F : i >= 20 ? 100.0F : -static_cast<float>(i);
  });
  run(s, Opcode::topk, TopK{dst, at, src, 20, 4}, Engine::gpsimd);
  const std::vector<float> values = {8, 9, 9, 9}, places = {1, 3, 7, 18};
  for (int j = 0; j < 4; ++j) {
    CHECK(value(s, dst, j, 0) == values[static_cast<std::size_t>(j)]);
    CHECK(value(s, at, j, 0) == places[static_cast<std::size_t>(j)]);
  }
  CHECK(std::isnan(value(s, dst, 4, 0)));
  CHECK(bits(s, at, 15, 0) == 0xFFFFFFFF);
  run(s, Opcode::topk, TopK{dst, at, src, 20, 2}, Engine::gpsimd);  // the tie at the end goes to 3 and 7
  CHECK(value(s, at, 0, 0) == 3);
  CHECK(value(s, at, 1, 0) == 7);
}

TEST_CASE("topk of random groups, ties and NaN included, is repeated selection of the best") {
  Random r(61);
  for (int round = 0; round < 40; ++round) {
    State s(small_program(3));
    const int partitions = 16 * pick(r, 1, 8), columns = pick(r, 1, 20);
    const auto n = static_cast<std::uint32_t>(pick(r, 8, 16 * columns)),
               k = static_cast<std::uint32_t>(pick(r, 1, static_cast<int>(n)));
    const auto results = static_cast<int>((k + 15) / 16);
    const auto at = [&](DType t, int count, std::int64_t begin) {
      return random_pattern(r, Space::sbuf, t, 0, partitions, random_counts(r, count), begin, false);
    };
    const TopK f{at(DType::bf16, results, 64), at(DType::u32, results, 16 * 1024),
                 at(DType::bf16, columns, 48 * 1024), n, k};
    const bool many_ties = pick(r, 0, 1) == 1;
    fill(s, f.src,
         [&](int, std::int64_t) { return many_ties ? static_cast<float>(pick(r, -2, 2)) : random_value(r); });
    Plain plain(s);
    run(s, Opcode::topk, f, Engine::gpsimd);
    for (int first = 0; first < partitions; first += 16) {
      const auto element = [&](std::uint32_t i) {
        return plain.value(f.src, first + static_cast<int>(i % 16), i / 16);
      };
      std::vector<bool> taken(n);
      for (std::uint32_t j = 0; j < k; ++j) {
        std::uint32_t best = n;
        for (std::uint32_t i = 0; i < n; ++i)
          if (!taken[i] && (best == n || better(element(i), i, element(best), best))) best = i;
        taken[best] = true;
      }
      std::vector<std::uint32_t> order;
      for (std::uint32_t i = 0; i < n; ++i)
        if (taken[i]) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::isnan(element(a)) ? !std::isnan(element(b)) : element(a) < element(b);
      });
      for (std::uint32_t j = 0; j < 16 * static_cast<std::uint32_t>(results); ++j) {
        const int lane = first + static_cast<int>(j % 16);
        const bool there = j < k;
        plain.set_bits(
            f.dst, lane, j / 16,
            there ? plain.bits(f.src, first + static_cast<int>(order[j] % 16), order[j] / 16) : 0xFFFF);
        plain.set_bits(f.indices, lane, j / 16, there ? order[j] : 0xFFFFFFFF);
      }
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("topk refuses more results than elements") {
  State s(small_program(3));
  const TopK f{sbuf(DType::bf16, 16, 64, 2), sbuf(DType::u32, 16, 128, 2), sbuf(DType::bf16, 16, 0, 1), 16,
               17};
  CHECK_THROWS_AS(run(s, Opcode::topk, f, Engine::gpsimd), Fault);
}
