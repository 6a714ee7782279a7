#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr std::int64_t tensor_elements = 300'000;

using Sizes = std::array<int, 4>;  // slowest, two between, fastest

Program program_with_tensors(DType type) {
  Program program = small_program();
  for (const char* name : {"x", "y"}) {
    Tensor t;
    t.name = name;
    t.dtype = type;
    t.shape = {tensor_elements};
    program.tensors.push_back(t);
  }
  return program;
}

// Row-major with gaps.
MemoryOperand side(Random& r, bool in_hbm, std::uint16_t tensor, DType type, const Sizes& n,
                   std::int64_t offset) {
  const int gap = pick(r, 0, 1), d1 = n[3] + gap, d2 = d1 * n[2], d3 = d2 * n[1] + gap;
  if (in_hbm) {
    HbmPattern p;
    p.tensor = tensor;
    p.dtype = type;
    p.dims[0] = {1, static_cast<std::uint32_t>(n[3])};
    p.dims[1] = {d1, static_cast<std::uint32_t>(n[2])};
    p.dims[2] = {d2, static_cast<std::uint32_t>(n[1])};
    p.dims[3] = {d3, static_cast<std::uint32_t>(n[0])};
    p.offset = pick(r, 0, 9);
    return p;
  }
  return pattern(Space::sbuf, type, 0, n[0], offset, {{0, 1}, {d2, n[1]}, {d1, n[2]}, {1, n[3]}});
}

// Where element [a][l][m][b] lies: partition (0 in HBM) and element offset.
std::uint32_t load(State& s, const MemoryOperand& m, int a, int l, int k, int b) {
  std::uint32_t found = 0;
  if (const auto* p = std::get_if<AccessPattern>(&m)) {
    const std::int64_t element = b * p->dims[0].step + k * p->dims[1].step + l * p->dims[2].step;
    std::memcpy(
        &found,
        s.sbuf.row(static_cast<std::uint32_t>(p->partition + a)) + p->offset + element * size_of(p->dtype),
        static_cast<std::size_t>(size_of(p->dtype)));
    return found;
  }
  const auto& p = std::get<HbmPattern>(m);
  const std::int64_t element = p.offset + b * p.dims[0].step + k * p.dims[1].step + l * p.dims[2].step +
                               std::int64_t{a} * p.dims[3].step;
  s.hbm.read(p.tensor, element * size_of(p.dtype),
             {reinterpret_cast<std::byte*>(&found), static_cast<std::size_t>(size_of(p.dtype))});
  return found;
}

}  // namespace

TEST_CASE("dma_transpose exchanges the slowest and the fastest of two to four dimensions, bit for bit") {
  Random r(61);
  for (int round = 0; round < 200; ++round) {
    const DType type =
        pick_of(r, {DType::f32, DType::bf16, DType::f8e4m3, DType::i32, DType::u16, DType::u8});
    const int rank = pick(r, 2, 4);
    Sizes n{pick_of(r, {1, 2, 16, 31, 127, 128}), rank > 3 ? pick(r, 1, 3) : 1, rank > 2 ? pick(r, 1, 4) : 1,
            pick_of(r, {1, 2, 16, 31, 127, 128})};
    State s(program_with_tensors(type));
    std::vector<std::byte> bytes(static_cast<std::size_t>(s.hbm.bytes(0)));
    for (auto& b : bytes) b = static_cast<std::byte>(r());
    s.hbm.write(0, 0, bytes);
    fill_random(s, sbuf(DType::f32, 128, 0, 20'000), r, true);
    const auto src = side(r, pick(r, 0, 1), 0, type, n, 0);
    const auto dst = side(r, pick(r, 0, 1), 1, type, {n[3], n[1], n[2], n[0]}, 40'000);
    std::vector<std::uint32_t> expected;
    for (int a = 0; a < n[0]; ++a)
      for (int l = 0; l < n[1]; ++l)
        for (int m = 0; m < n[2]; ++m)
          for (int b = 0; b < n[3]; ++b) expected.push_back(load(s, src, a, l, m, b));
    run(s, Opcode::dma_transpose, DmaTranspose{dst, src}, Engine::sync);
    std::size_t at = 0, wrong = 0;
    for (int a = 0; a < n[0]; ++a)
      for (int l = 0; l < n[1]; ++l)
        for (int m = 0; m < n[2]; ++m)
          for (int b = 0; b < n[3]; ++b) wrong += load(s, dst, b, l, m, a) != expected[at++];
    REQUIRE_MESSAGE(wrong == 0, "round ", round);
  }
}

TEST_CASE("a square tile is transposed onto itself") {
  State s(program_with_tensors(DType::f32));
  const auto t = sbuf(DType::f32, 5, 0, 5);
  fill(s, t, [](int p, std::int64_t i) { return static_cast<float>(10 * p + static_cast<int>(i)); });
  run(s, Opcode::dma_transpose, DmaTranspose{t, t}, Engine::sync);
  for (int p = 0; p < 5; ++p) {
    for (int i = 0; i < 5; ++i) CHECK(value(s, t, p, i) == static_cast<float>(10 * i + p));
  }
}

TEST_CASE("a transpose writes what its shape covers and nothing beside it") {
  State s(program_with_tensors(DType::bf16));
  Random r(62);
  fill_random(s, sbuf(DType::u32, 128, 0, 1000), r, true);
  const auto src = sbuf(DType::u16, 3, 0, 7), dst = pattern(Space::sbuf, DType::u16, 32, 7, 100, {{2, 3}});
  Plain m(s);
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 7; ++b) m.set_bits(dst, b, a, m.bits(src, a, b));
  }
  run(s, Opcode::dma_transpose, DmaTranspose{dst, src}, Engine::gpsimd);
  CHECK(m.equals(s));
}
