#include "emu/data/memory.h"

#include <doctest/doctest.h>

#include "emu/data/state.h"
#include "emu/data/walk.h"
#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

Tensor tensor(TensorKind kind, std::int64_t bytes) {
  Tensor t;
  t.name = "t";
  t.kind = kind;
  t.dtype = DType::u8;
  t.shape = {bytes};
  return t;
}

constexpr auto page = static_cast<std::int64_t>(HbmMemory::page_bytes);

std::vector<std::byte> numbered(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 % 251);
  return bytes;
}

}  // namespace

TEST_CASE("every byte of a new state is 0xFF, in SBUF, PSUM and HBM") {
  Program program = small_program();
  program.tensors.push_back(tensor(TensorKind::output, 3'000'000));
  const State state(program);
  const auto untouched = [](std::byte b) { return b == std::byte{0xFF}; };
  CHECK(std::ranges::all_of(state.sbuf.contents(), untouched));
  CHECK(std::ranges::all_of(state.psum.contents(), untouched));
  CHECK(state.psum.contents().size() == 128 * 16 * 1024);
  std::vector<std::byte> all(3'000'000);
  state.hbm.read(0, 0, all);
  CHECK(std::ranges::all_of(all, untouched));
}

TEST_CASE("what is written to HBM across pages reads back, and its neighbours stay untouched") {
  const std::int64_t size = 3 * page + 17;
  HbmMemory hbm({tensor(TensorKind::scratch, 5), tensor(TensorKind::scratch, size)});
  const auto bytes = numbered(2 * page + 5);
  const std::int64_t at = page - 2;
  hbm.write(1, at, bytes);
  std::vector<std::byte> all(static_cast<std::size_t>(size));
  hbm.read(1, 0, all);
  for (std::int64_t i = 0; i < size; ++i) {
    const bool written = i >= at && i < at + static_cast<std::int64_t>(bytes.size());
    const std::byte expected = written ? bytes[static_cast<std::size_t>(i - at)] : std::byte{0xFF};
    if (all[static_cast<std::size_t>(i)] != expected) FAIL("byte ", i);
  }
  CHECK(hbm.view(0, 0, 5).size() == 5);
  CHECK(hbm.view(0, 0, 5)[4] == std::byte{0xFF});
}

TEST_CASE("a view of HBM ends with its page and with its tensor") {
  const std::int64_t size = page + 100;
  HbmMemory hbm({tensor(TensorKind::scratch, size)});
  CHECK(hbm.view(0, page - 10, 50).size() == 10);
  CHECK(hbm.edit(0, page, 100).size() == 100);
  CHECK_THROWS_AS(hbm.view(0, page, 101), Fault);
  CHECK_THROWS_AS(hbm.view(0, -1, 1), Fault);
}

TEST_CASE("a tensor that adopts its bytes reads, edits and writes like any other") {
  const std::int64_t size = 2 * page + 3;
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  HbmMemory hbm({tensor(TensorKind::input, size), tensor(TensorKind::scratch, 4)});
  hbm.adopt(0, bytes);
  CHECK(hbm.exists(0, size - 1));
  CHECK(hbm.edit(0, page - 1, 10).size() == 1);
  hbm.edit(0, page - 1, 1)[0] = std::byte{1};
  hbm.write(0, 2 * page + 1, std::vector{std::byte{2}, std::byte{3}});
  bytes[static_cast<std::size_t>(page) - 1] = std::byte{1};
  bytes[static_cast<std::size_t>(size) - 2] = std::byte{2};
  bytes[static_cast<std::size_t>(size) - 1] = std::byte{3};
  std::vector<std::byte> all(bytes.size());
  hbm.read(0, 0, all);
  CHECK(all == bytes);
  CHECK_THROWS_AS(hbm.adopt(0, bytes), Fault);                      // written before
  CHECK_THROWS_AS(hbm.adopt(1, std::vector<std::byte>(5)), Fault);  // another size
}

TEST_CASE("a constant is in HBM from the start") {
  Tensor t = tensor(TensorKind::constant, 1000);
  t.data = numbered(1000);
  HbmMemory hbm({t});
  std::vector<std::byte> all(1000);
  hbm.read(0, 0, all);
  CHECK(all == t.data);
}

TEST_CASE("groups are numbered from 1 in the order they open") {
  PsumGroups groups(128, 4096);
  CHECK(groups.at(127, 4095) == 0);
  CHECK(groups.open() == 1);
  CHECK(groups.open() == 2);
}

TEST_CASE("segments of any range of a random pattern lie where the address formula says") {
  Random r(11);
  for (int round = 0; round < 400; ++round) {
    const int n = pick_of(r, awkward_sizes);
    const AccessPattern p = random_pattern(r, Space::sbuf, pick_of(r, every_type), 0, 1, random_counts(r, n),
                                           64, pick(r, 0, 1) == 1);
    const Walk walk(p);
    REQUIRE(walk.elements() == n);
    const int first = pick(r, 0, n - 1);
    const int count = pick(r, 1, n - first);
    std::int64_t i = first;
    bool right = true;
    walk.segments(first, count, [&](const Segment& s) {
      for (std::int64_t k = 0; k < s.count; ++k) right = right && s.offset + k * s.step == address(p, i++);
    });
    CHECK(right);
    CHECK(i == first + count);
  }
}

TEST_CASE("blocks are called safe only where the element-by-element order gives the same bytes") {
  // Every pair of small patterns on one row of 40 bytes, by brute force over a copy that adds 1.
  Random r(5);
  int safe = 0;
  for (int round = 0; round < 20000; ++round) {
    const int n = pick_of(r, {2, 3, 4, 6, 8});
    const DType to = pick_of(r, {DType::u8, DType::u16});
    const DType from = pick_of(r, {DType::u8, DType::u16});
    const auto d = random_pattern(r, Space::sbuf, to, 0, 1, random_counts(r, n), 2 * pick(r, 0, 8), true);
    const auto s =
        pick(r, 0, 3) == 0 && to == from
            ? d
            : random_pattern(r, Space::sbuf, from, 0, 1, random_counts(r, n), 2 * pick(r, 0, 8), true);
    if (!blocks_are_safe(d, s)) continue;
    ++safe;
    std::vector<std::byte> one(4096), all(4096);
    for (std::size_t i = 0; i < one.size(); ++i) one[i] = all[i] = static_cast<std::byte>(i * 37);
    const auto load = [&](const std::vector<std::byte>& m, std::int64_t i) {
      std::uint32_t v = 0;
      std::memcpy(&v, m.data() + address(s, i), static_cast<std::size_t>(size_of(from)));
      return v + 1;
    };
    const auto store = [&](std::vector<std::byte>& m, std::int64_t i, std::uint32_t v) {
      std::memcpy(m.data() + address(d, i), &v, static_cast<std::size_t>(size_of(to)));
    };
    for (int i = 0; i < n; ++i) store(one, i, load(one, i));
    std::vector<std::uint32_t> read;
    for (int i = 0; i < n; ++i) read.push_back(load(all, i));
    for (int i = 0; i < n; ++i) store(all, i, read[static_cast<std::size_t>(i)]);
    CHECK(one == all);
  }
  CHECK(safe > 5000);
}

TEST_CASE("patterns that are the same in place, and disjoint ones, are handled in blocks") {
  const AccessPattern a = sbuf(DType::f32, 128, 0, 512);
  CHECK(blocks_are_safe(a, a));
  CHECK(blocks_are_safe(sbuf(DType::bf16, 128, 0, 512), a));
  CHECK_FALSE(blocks_are_safe(a, sbuf(DType::bf16, 128, 0, 512)));
  CHECK_FALSE(blocks_are_safe(sbuf(DType::f32, 128, 4, 512), a));
  CHECK(blocks_are_safe(a, sbuf(DType::f32, 128, 4, 512)));
  const auto even = pattern(Space::sbuf, DType::f32, 0, 128, 0, {{2, 64}});
  const auto odd = pattern(Space::sbuf, DType::f32, 0, 128, 4, {{2, 64}});
  CHECK(blocks_are_safe(even, odd));
}

TEST_CASE("a register takes one element: integers extended by their sign, floats as bits") {
  Program program = small_program();
  program.tensors.push_back(tensor(TensorKind::scratch, 16));
  State state(program);
  const AccessPattern i8 = sbuf(DType::i8, 1, 5, 1);
  store_element(i8, 0x1FE, state);
  CHECK(load_element(i8, state) == 0xFFFFFFFE);
  CHECK(load_element(sbuf(DType::u8, 1, 5, 1), state) == 0xFE);
  CHECK(load_element(sbuf(DType::u8, 1, 6, 1), state) == 0xFF);
  const AccessPattern i16 = sbuf(DType::i16, 1, 8, 1);
  store_element(i16, 0x8000, state);
  CHECK(load_element(i16, state) == 0xFFFF8000);
  const AccessPattern bf16 = sbuf(DType::bf16, 1, 12, 1);
  store_element(bf16, 0xBF80, state);
  CHECK(load_element(bf16, state) == 0xBF80);
  HbmPattern hbm;
  hbm.dtype = DType::u32;
  hbm.offset = 3;
  store_element(hbm, 0x12345678, state);
  CHECK(load_element(hbm, state) == 0x12345678);
  hbm.offset = 4;
  CHECK_THROWS_WITH_AS(load_element(hbm, state),
                       "register_load: src takes bytes 16-19 of tensor 't', which has 16", Fault);
  CHECK_THROWS_AS(load_element(sbuf(DType::u8, 1, 0, 2), state), Fault);
}
