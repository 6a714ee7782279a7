#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/emu/data/plain.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// Two tensors: of bytes, larger than a page, so that any type can be laid over them.
constexpr std::int64_t tensor_bytes = (std::int64_t{1} << 20) + 300'000;
Program program_with_tensors() {
  Program program = small_program();
  for (const char* tensor_name : {"x", "y"}) {
    Tensor t;
    t.name = tensor_name;
    t.dtype = DType::u8;
    t.shape = {tensor_bytes};
    program.tensors.push_back(t);
  }
  return program;
}

std::int64_t address(const HbmPattern& p, std::int64_t i) {
  std::int64_t at = p.offset;
  for (const HbmDim& d : p.dims) {
    at += i % d.count * d.step;
    i /= d.count;
  }
  return at * size_of(p.dtype);
}

// All three memories as plain bytes, one element of an operand at a time.
struct Memories {
  Plain chip;
  std::array<std::vector<std::byte>, 2> hbm;

  explicit Memories(const State& s) : chip(s) {
    for (std::uint16_t t = 0; t < 2; ++t) {
      hbm[t].resize(tensor_bytes);
      s.hbm.read(t, 0, hbm[t]);
    }
  }
  std::byte* at(const MemoryOperand& m, std::int64_t i) {
    if (const auto* p = std::get_if<AccessPattern>(&m)) {
      return chip.at(*p, static_cast<int>(i / p->elements()), i % p->elements());
    }
    const auto& p = std::get<HbmPattern>(m);
    return hbm[p.tensor].data() + address(p, i);
  }
  std::uint32_t bits(const MemoryOperand& m, DType type, std::int64_t i) {
    std::uint32_t b = 0;
    std::memcpy(&b, at(m, i), static_cast<std::size_t>(size_of(type)));
    return b;
  }
  void set_bits(const MemoryOperand& m, DType type, std::int64_t i, std::uint32_t b) {
    std::memcpy(at(m, i), &b, static_cast<std::size_t>(size_of(type)));
  }
  bool equals(const State& s) const {
    if (!chip.equals(s)) return false;
    for (std::uint16_t t = 0; t < 2; ++t) {
      std::vector<std::byte> found(tensor_bytes);
      s.hbm.read(t, 0, found);
      if (found != hbm[t]) return false;
    }
    return true;
  }
};

DType type_of(const MemoryOperand& m) {
  return std::visit([](const auto& p) { return p.dtype; }, m);
}

// Everything is read before anything is written.
void plain_copy(Memories& m, const MemoryOperand& dst, const MemoryOperand& src, std::int64_t elements) {
  const DType to = type_of(dst), from = type_of(src);
  std::vector<std::uint32_t> all;
  for (std::int64_t i = 0; i < elements; ++i) all.push_back(m.bits(src, from, i));
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint32_t b = all[static_cast<std::size_t>(i)];
    m.set_bits(dst, to, i, to == from ? b : to_bits(to, from_bits(from, b)));
  }
}

void fill_everything(State& s, Random& r, bool raw) {
  for (std::uint16_t t = 0; t < 2; ++t) {
    std::vector<std::byte> bytes(tensor_bytes);
    for (auto& b : bytes) b = static_cast<std::byte>(r());
    s.hbm.write(t, 0, bytes);
  }
  fill_random(s, sbuf(DType::f32, 128, 0, 96 * 256), r, raw);
}

HbmPattern random_hbm(Random& r, std::uint16_t tensor, DType type, int partitions, int elements,
                      bool destination) {
  // [partitions, elements] in row-major order, rows apart, the free part split in two and perhaps permuted.
  HbmPattern p;
  p.tensor = tensor;
  p.dtype = type;
  int inner = 1;
  for (const int f : {2, 4, 8, 16}) {
    if (elements % f == 0 && pick(r, 0, 1)) inner = f;
  }
  const int outer = elements / inner;
  const int row = elements + pick(r, 0, 1) * pick(r, 0, 9);
  const bool transposed = pick(r, 0, 3) == 0;
  p.dims[0] = {transposed ? outer : 1, static_cast<std::uint32_t>(inner)};
  p.dims[1] = {transposed ? 1 : inner, static_cast<std::uint32_t>(outer)};
  p.dims[2] = {row, static_cast<std::uint32_t>(partitions)};
  if (!destination && pick(r, 0, 5) == 0) p.dims[2].step = 0;  // every partition the same row
  const std::int64_t room = tensor_bytes / size_of(type) - std::int64_t{row} * partitions;
  p.offset = pick(r, 0, static_cast<int>(room));
  return p;
}

}  // namespace

TEST_CASE("a transfer moves or casts every element in order, between all memories, types and patterns") {
  Random r(41);
  State s(program_with_tensors());
  fill_everything(s, r, true);
  for (int round = 0; round < 150; ++round) {
    const bool casts = pick(r, 0, 2) == 0;
    const DType from = pick_of(r, every_type), to = casts ? pick_of(r, every_type) : from;
    const int lanes = pick_of(r, {1, 5, 31, 127, 128}), n = pick_of(r, {1, 2, 127, 128, 129, 512, 1024});
    const auto chip = [&](DType type, std::int64_t begin, bool dst) -> MemoryOperand {
      const int start = lanes <= 32 ? 32 * pick(r, 0, 3) : 0;
      return random_pattern(r, Space::sbuf, type, start, lanes, random_counts(r, n), begin, !dst);
    };
    MemoryOperand dst, src;
    switch (pick(r, 0, 3)) {
      case 0:  // load
        dst = chip(to, 0, true);
        src = random_hbm(r, 0, from, lanes, n, false);
        break;
      case 1:  // store
        dst = random_hbm(r, 1, to, lanes, n, true);
        src = chip(from, 0, false);
        break;
      case 2:  // within HBM, half of them within one tensor
        dst = random_hbm(r, 1, to, lanes, n, true);
        src = random_hbm(r, static_cast<std::uint16_t>(pick(r, 0, 1)), from, lanes, n, false);
        break;
      default:  // within SBUF, half of them onto itself
        dst = chip(to, 0, true);
        src = chip(from, pick(r, 0, 1) ? 0 : 48 * 1024, false);
    }
    Memories m(s);
    DmaCopy f;
    f.dst = dst;
    f.src = src;
    run(s, Opcode::dma_copy, f, Engine::sync);
    plain_copy(m, dst, src, std::int64_t{lanes} * n);
    REQUIRE_MESSAGE(m.equals(s), "round ", round, " ", name(to), " from ", name(from));
  }
}

TEST_CASE("a casting transfer goes through fp32; a plain one keeps every bit") {
  State s(program_with_tensors());
  const auto i32 = sbuf(DType::i32, 1, 0, 1), f32 = sbuf(DType::f32, 1, 64, 1),
             back = sbuf(DType::i32, 1, 128, 1);
  set_bits(s, i32, 0, 0, 16777217);
  const auto copy = [&](const AccessPattern& dst, const AccessPattern& src) {
    DmaCopy f;
    f.dst = dst;
    f.src = src;
    run(s, Opcode::dma_copy, f, Engine::gpsimd);
  };
  copy(f32, i32);
  copy(back, f32);
  CHECK(bits(s, back, 0, 0) == 16777216);
  copy(back, i32);
  CHECK(bits(s, back, 0, 0) == 16777217);
}

TEST_CASE("a (128, 512) tensor is loaded into [:, m, :] of a (128, 2, 512) tile") {
  Random r(42);
  State s(program_with_tensors());
  fill_everything(s, r, true);
  HbmPattern src;
  src.dtype = DType::bf16;
  src.dims[0] = {1, 128 * 512};  // merged: the tensor is contiguous
  for (const int m : {0, 1}) {
    const auto dst = pattern(Space::sbuf, DType::bf16, 0, 128, m * 1024, {{1, 512}});
    Memories before(s);
    DmaCopy f;
    f.dst = dst;
    f.src = src;
    run(s, Opcode::dma_copy, f, Engine::sync);
    plain_copy(before, dst, src, 128 * 512);
    CHECK(before.equals(s));
  }
}

TEST_CASE("reading HBM that nobody wrote gives bytes of 0xFF") {
  State s(program_with_tensors());
  HbmPattern src;
  src.dtype = DType::u8;
  src.offset = tensor_bytes - 6;
  src.dims[0] = {1, 6};
  const auto dst = sbuf(DType::u8, 1, 0, 6);
  fill(s, dst, [](int, std::int64_t) { return 0.0F; });
  DmaCopy f;
  f.dst = dst;
  f.src = src;
  run(s, Opcode::dma_copy, f, Engine::sync);
  CHECK(row(s, dst) == std::vector<float>(6, 255));
}

TEST_CASE("PSUM can be the source of a transfer") {
  State s(program_with_tensors());
  const auto p = psum(128, 2048, 512);
  fill(s, p, [](int lane, std::int64_t i) { return static_cast<float>(lane * 512 + i); });
  HbmPattern dst;
  dst.tensor = 1;
  dst.dims[0] = {1, 128 * 512};
  DmaCopy f;
  f.dst = dst;
  f.src = p;
  run(s, Opcode::dma_copy, f, Engine::gpsimd);
  for (const std::int64_t i : {0, 1, 511, 512, 65535}) {
    float found = 0;
    s.hbm.read(1, 4 * i, {reinterpret_cast<std::byte*>(&found), 4});
    CHECK(found == static_cast<float>(i));
  }
}

TEST_CASE("a transfer of unequal counts or beyond its tensor is refused, naming both") {
  State s(program_with_tensors());
  HbmPattern x;
  x.dtype = DType::u8;
  x.dims[0] = {1, 100};
  DmaCopy f;
  f.dst = sbuf(DType::u8, 2, 0, 49);
  f.src = x;
  CHECK_THROWS_WITH_AS(run(s, Opcode::dma_copy, f, Engine::sync),
                       "dma_copy: dst has 2 partitions x 49 elements, src has 100 elements of 'x'", Fault);
  f.dst = sbuf(DType::u8, 2, 0, 50);
  x.offset = tensor_bytes - 99;
  f.src = x;
  CHECK_THROWS_WITH_AS(run(s, Opcode::dma_copy, f, Engine::sync),
                       "dma_copy: src takes bytes 1348477-1348576 of tensor 'x', which has 1348576", Fault);
}
