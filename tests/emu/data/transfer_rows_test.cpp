// dma_copy with an index of rows, and with accumulate = true.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr std::int64_t tensor_elements = 140'000;

State state_with_tensor(DType type) {
  Program program = small_program();
  Tensor t;
  t.name = "table";
  t.dtype = type;
  t.shape = {tensor_elements};
  program.tensors.push_back(t);
  return State(program);
}

std::vector<std::byte> tensor_bytes(const State& s) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(s.hbm.bytes(0)));
  s.hbm.read(0, 0, bytes);
  return bytes;
}

std::uint32_t get(const std::vector<std::byte>& bytes, DType type, std::int64_t element) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, bytes.data() + element * size_of(type), static_cast<std::size_t>(size_of(type)));
  return bits;
}
void set(std::vector<std::byte>& bytes, DType type, std::int64_t element, std::uint32_t bits) {
  std::memcpy(bytes.data() + element * size_of(type), &bits, static_cast<std::size_t>(size_of(type)));
}

// `rows` rows of `elements`, split in two dimensions, rows and the two parts apart.
HbmPattern random_table(Random& r, DType type, int elements, int rows) {
  HbmPattern p;
  p.dtype = type;
  const int inner = elements % 2 == 0 && pick(r, 0, 1) ? 2 : 1;
  const int gap = pick(r, 0, 2);
  p.dims[0] = {1 + gap, static_cast<std::uint32_t>(inner)};
  p.dims[1] = {inner + 2 * gap, static_cast<std::uint32_t>(elements / inner)};
  p.dims[3] = {(inner + 2 * gap) * (elements / inner) + pick(r, 0, 5), static_cast<std::uint32_t>(rows)};
  p.offset = pick(r, 0, 50);
  return p;
}
std::int64_t element_of(const HbmPattern& p, std::int64_t row, std::int64_t i) {
  const std::int64_t inner = p.dims[0].count;
  return p.offset + row * p.dims[3].step + i % inner * p.dims[0].step + i / inner * p.dims[1].step;
}

std::uint32_t converted(DType to, DType from, std::uint32_t bits) {
  return to == from ? bits : to_bits(to, from_bits(from, bits));
}
std::uint32_t added(DType to, std::uint32_t old, DType from, std::uint32_t bits) {
  return to_bits(to, from_bits(to, old) + from_bits(from, bits));
}

DmaCopy rows_copy(MemoryOperand dst, MemoryOperand src, DType index_type, Bounds bounds) {
  DmaCopy f{std::move(dst), std::move(src), 3, DgeMode::software};
  f.index = PointerOperand{Space::sbuf, index_type, 0, 0};
  f.bounds = bounds;
  return f;
}

}  // namespace

TEST_CASE("an indexed transfer moves, casts or adds the rows that are inside, and leaves everything else") {
  Random r(51);
  for (int round = 0; round < 60; ++round) {
    const bool gather = pick(r, 0, 1) != 0, accumulate = pick(r, 0, 2) == 0,
               skip = !accumulate && pick(r, 0, 1);
    const DType table_type = pick_of(r, every_type),
                tile_type = pick(r, 0, 1) ? table_type : pick_of(r, every_type);
    const DType index_type = pick_of(r, {DType::u32, DType::i32});
    const int lanes = pick_of(r, {1, 5, 31, 127, 128}), n = pick_of(r, {1, 2, 3, 60, 127}),
              rows = pick_of(r, {1, 2, 30, 200});
    State s = state_with_tensor(table_type);
    std::vector<std::byte> hbm(static_cast<std::size_t>(s.hbm.bytes(0)));
    for (std::int64_t i = 0; i < tensor_elements; ++i)
      set(hbm, table_type, i, to_bits(table_type, random_value(r)));
    s.hbm.write(0, 0, hbm);
    // The index lies first, the tile behind it.
    const auto tile = random_pattern(r, Space::sbuf, tile_type, lanes <= 32 ? 32 * pick(r, 0, 3) : 0, lanes,
                                     random_counts(r, n), 4096, gather ? false : true);
    fill_random(s, sbuf(DType::f32, 128, 4096, 20'000), r, false);
    fill_random(s, tile, r, false);
    const auto index = sbuf(index_type, lanes, 0, 1);
    std::vector<std::int64_t> numbers;
    for (int p = 0; p < lanes; ++p) {
      std::uint32_t bits = static_cast<std::uint32_t>(pick(r, 0, rows - 1));
      if (skip && pick(r, 0, 3) == 0)
        bits = pick_of(r, {static_cast<std::uint32_t>(rows), 0xFFFFFFFFU, 0x80000000U});
      set_bits(s, index, p, 0, bits);
      numbers.push_back(index_type == DType::i32 ? std::int64_t{static_cast<std::int32_t>(bits)}
                                                 : std::int64_t{bits});
    }
    const HbmPattern table = random_table(r, table_type, n, rows);

    Plain chip(s);
    for (int p = 0; p < lanes; ++p) {
      const std::int64_t number = numbers[static_cast<std::size_t>(p)];
      if (number < 0 || number >= rows) continue;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t at = element_of(table, number, i);
        const std::uint32_t in_table = get(hbm, table_type, at), in_tile = chip.bits(tile, p, i);
        if (gather) {
          chip.set_bits(tile, p, i,
                        accumulate ? added(tile_type, in_tile, table_type, in_table)
                                   : converted(tile_type, table_type, in_table));
        } else {
          set(hbm, table_type, at,
              accumulate ? added(table_type, in_table, tile_type, in_tile)
                         : converted(table_type, tile_type, in_tile));
        }
      }
    }
    DmaCopy f = gather ? rows_copy(tile, table, index_type, skip ? Bounds::skip : Bounds::error)
                       : rows_copy(table, tile, index_type, skip ? Bounds::skip : Bounds::error);
    f.accumulate = accumulate;
    // The index belongs to the lanes of the tile, wherever that starts.
    std::get<PointerOperand>(f.index).partition = 0;
    run(s, Opcode::dma_copy, f, Engine::gpsimd);
    REQUIRE_MESSAGE(chip.equals(s), "round ", round);
    REQUIRE_MESSAGE(tensor_bytes(s) == hbm, "round ", round);
  }
}

TEST_CASE("a gather of integers keeps every bit, and skips the row past the end") {
  State s = state_with_tensor(DType::i32);
  const std::int32_t values[] = {16777217, 2147483647, 5};
  s.hbm.write(0, 0, std::as_bytes(std::span(values)));
  HbmPattern table;
  table.dtype = DType::i32;
  table.dims[0] = {1, 1};
  table.dims[3] = {1, 3};
  const auto tile = sbuf(DType::i32, 3, 64, 1), index = sbuf(DType::u32, 3, 0, 1);
  const std::uint32_t rows[] = {1, 3, 0};
  for (int p = 0; p < 3; ++p) {
    set_bits(s, index, p, 0, rows[p]);
    set_bits(s, tile, p, 0, 0xABCD);
  }
  run(s, Opcode::dma_copy, rows_copy(tile, table, DType::u32, Bounds::skip), Engine::gpsimd);
  CHECK(bits(s, tile, 0, 0) == 2147483647);
  CHECK(bits(s, tile, 1, 0) == 0xABCD);
  CHECK(bits(s, tile, 2, 0) == 16777217);

  set_bits(s, tile, 0, 0, 7);
  CHECK_THROWS_WITH_AS(
      run(s, Opcode::dma_copy, rows_copy(tile, table, DType::u32, Bounds::error), Engine::gpsimd),
      "dma_copy: index 3 of partition 1 is outside the 3 rows of 'table'", Fault);
  CHECK(bits(s, tile, 0, 0) == 7);  // nothing has moved
}

TEST_CASE(
    "accumulating adds in fp32: 16777216 + 1 stays, in an integer too, and a transfer onto itself doubles") {
  State s = state_with_tensor(DType::i32);
  const auto a = sbuf(DType::i32, 1, 0, 2), b = sbuf(DType::i32, 1, 64, 2);
  set_bits(s, a, 0, 0, 16777216);
  set_bits(s, a, 0, 1, 40);
  set_bits(s, b, 0, 0, 1);
  set_bits(s, b, 0, 1, 2);
  DmaCopy f{a, b};
  f.accumulate = true;
  run(s, Opcode::dma_copy, f, Engine::gpsimd);
  CHECK(bits(s, a, 0, 0) == 16777216);
  CHECK(bits(s, a, 0, 1) == 42);
  f.src = a;
  run(s, Opcode::dma_copy, f, Engine::gpsimd);
  CHECK(bits(s, a, 0, 1) == 84);
}

TEST_CASE("a row named twice is added to twice, and the last of two stores stays") {
  for (const bool accumulate : {true, false}) {
    State s = state_with_tensor(DType::f32);
    const float ten = 10;
    s.hbm.write(0, 0, std::as_bytes(std::span(&ten, 1)));
    HbmPattern table;
    table.dims[0] = {1, 1};
    table.dims[3] = {1, 1};
    const auto tile = sbuf(DType::f32, 2, 64, 1), index = sbuf(DType::u32, 2, 0, 1);
    for (int p = 0; p < 2; ++p) {
      set_bits(s, index, p, 0, 0);
      set_bits(s, tile, p, 0, to_bits(DType::f32, static_cast<float>(p + 1)));
    }
    DmaCopy f = rows_copy(table, tile, DType::u32, Bounds::error);
    f.accumulate = accumulate;
    run(s, Opcode::dma_copy, f, Engine::gpsimd);
    CHECK(from_bits(DType::f32, get(tensor_bytes(s), DType::f32, 0)) == (accumulate ? 13.0F : 2.0F));
  }
}
