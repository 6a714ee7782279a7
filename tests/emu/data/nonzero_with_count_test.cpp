#include <doctest/doctest.h>

#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("places of nonzero elements come first, then padding, then the count") {
  State s(small_program(3));
  const auto src = sbuf(DType::f32, 1, 0, 8), dst = sbuf(DType::i32, 1, 64, 9);
  const std::vector<float> in = {0, 1, -0.0F, 0, std::numeric_limits<float>::quiet_NaN(), 0, 0, -2};
  fill(s, src, [&](int, std::int64_t i) { return in[static_cast<std::size_t>(i)]; });
  run(s, Opcode::nonzero_with_count, NonzeroWithCount{dst, src, 100, -1}, Engine::gpsimd);
  CHECK(row(s, dst) == std::vector<float>{101, 104, 107, -1, -1, -1, -1, -1, 3});
}

TEST_CASE("only every 16th lane is written, for random sources and strides") {
  Random r(51);
  for (int round = 0; round < 60; ++round) {
    State s(small_program(3));
    const int n = pick_of(r, awkward_sizes);
    const int partitions = pick_of(r, {1, 16, 17, 32, 64, 113, 128});
    const DType type = pick_of(r, {DType::f32, DType::i32});
    const int start = partitions <= 32 ? 32 * pick(r, 0, 3) : 0;
    const auto src =
        random_pattern(r, Space::sbuf, type, start, partitions, random_counts(r, n), 48 * 1024, true);
    const auto dst =
        random_pattern(r, Space::sbuf, DType::i32, start, partitions, random_counts(r, n + 1), 64, false);
    const int often = pick(r, 0, 4);
    fill(s, src,
         [&](int, std::int64_t) { return pick(r, 0, 4) < often ? static_cast<float>(pick(r, -3, 3)) : 0; });
    const int offset = pick(r, -5000, 5000), padding = pick(r, -2, 2);
    Plain plain(s);
    run(s, Opcode::nonzero_with_count, NonzeroWithCount{dst, src, offset, padding}, Engine::gpsimd);
    for (int p = 0; p < partitions; p += 16) {
      std::vector<int> out;
      for (int i = 0; i < n; ++i)
        if (plain.value(src, p, i) != 0) out.push_back(offset + i);
      const auto count = static_cast<int>(out.size());
      out.resize(static_cast<std::size_t>(n), padding);
      out.push_back(count);
      for (int i = 0; i <= n; ++i)
        plain.set_bits(dst, p, i, static_cast<std::uint32_t>(out[static_cast<std::size_t>(i)]));
    }
    CHECK_MESSAGE(plain.equals(s), "round ", round);
  }
}

TEST_CASE("the accesses of nonzero_with_count name the lanes it touches and no others") {
  Instruction i;
  i.opcode = Opcode::nonzero_with_count;
  i.operands = NonzeroWithCount{sbuf(DType::i32, 40, 64, 9), sbuf(DType::f32, 40, 0, 8), 0, -1};
  std::vector<int> read, written;
  for_each_access(i, [&](const auto& p, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(p)>, AccessPattern>) {
      CHECK(p.partitions == 1);
      (role == Role::write ? written : read).push_back(p.partition);
    }
  });
  CHECK(read == std::vector<int>{0, 16, 32});
  CHECK(written == std::vector<int>{0, 16, 32});
}
