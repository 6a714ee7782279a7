// Arithmetic in one pass against conversion, operator and conversion one after the other.

#include "emu/data/fused_rows.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "emu/data/alu.h"
#include "isa/number.h"
#include "tests/emu/data/every_target.h"

namespace ncemu {
namespace {

constexpr std::size_t count = 1027;
constexpr AluOp operators[] = {AluOp::add, AluOp::subtract, AluOp::mult};

// Any bits: every sort of number, infinities and NaNs among them.
struct Elements {
  DType type = DType::f32;
  std::vector<std::byte> bytes;

  PlainRow row(std::size_t first = 0) const {
    return {bytes.data() + first * static_cast<std::size_t>(size_of(type)), type == DType::bf16};
  }
  float at(std::size_t i) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * static_cast<std::size_t>(size_of(type)),
                static_cast<std::size_t>(size_of(type)));
    return from_bits(type, bits);
  }
  std::uint32_t bits(std::size_t i) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * static_cast<std::size_t>(size_of(type)),
                static_cast<std::size_t>(size_of(type)));
    return bits;
  }
};

Elements random_elements(DType type, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Elements e{type, std::vector<std::byte>((count + 40) * static_cast<std::size_t>(size_of(type)))};
  for (std::size_t i = 0; i < count + 40; ++i) {
    const std::uint32_t bits =
        i % 3 == 0 ? static_cast<std::uint32_t>(random()) : to_bits(type, normal(random));
    std::memcpy(e.bytes.data() + i * static_cast<std::size_t>(size_of(type)), &bits,
                static_cast<std::size_t>(size_of(type)));
  }
  return e;
}

float plainly(AluOp op, float a, float b) {
  switch (op) {
    case AluOp::add: return a + b;
    case AluOp::subtract: return a - b;
    case AluOp::mult: return a * b;
    default: return a;
  }
}

}  // namespace

TEST_CASE("an operator on rows of fp32 and bf16 in one pass has the bits of three steps") {
  const DType types[] = {DType::f32, DType::bf16};
  for (const DType a_type : types) {
    for (const DType b_type : types) {
      for (const DType out_type : types) {
        const Elements a = random_elements(a_type, 1), b = random_elements(b_type, 2);
        on_every_target([&] {
          for (const AluOp op : operators) {
            CAPTURE(name(op));
            Elements out = random_elements(out_type, 3);
            REQUIRE(apply_fused(op, a.row(), b.row(), out.row(), count));
            for (std::size_t i = 0; i < count; ++i)
              REQUIRE(out.bits(i) == to_bits(out_type, plainly(op, a.at(i), b.at(i))));
          }
        });
      }
    }
  }
}

TEST_CASE("two operators with numbers in one pass round twice in fp32 and once to the destination") {
  const DType types[] = {DType::f32, DType::bf16};
  for (const DType a_type : types) {
    for (const DType out_type : types) {
      const Elements a = random_elements(a_type, 4);
      on_every_target([&] {
        for (const AluOp op0 : {AluOp::bypass, AluOp::add, AluOp::subtract, AluOp::mult}) {
          for (const AluOp op1 : {AluOp::bypass, AluOp::add, AluOp::subtract, AluOp::mult}) {
            CAPTURE(name(op0));
            CAPTURE(name(op1));
            Elements out = random_elements(out_type, 5);
            REQUIRE(apply_fused(op0, 1.7F, op1, -0.3F, a.row(), out.row(), count));
            for (std::size_t i = 0; i < count; ++i) {
              const float first = plainly(op0, a.at(i), 1.7F);
              REQUIRE(out.bits(i) == to_bits(out_type, plainly(op1, first, -0.3F)));
            }
          }
        }
      });
    }
  }
}

TEST_CASE("a result in one pass may lie on its operand or before it") {
  for (const DType type : {DType::f32, DType::bf16}) {
    const Elements before = random_elements(type, 6);
    on_every_target([&] {
      for (const std::size_t shift : {0U, 1U, 16U, 33U}) {
        CAPTURE(shift);
        Elements all = before;
        REQUIRE(apply_fused(AluOp::add, all.row(shift), all.row(shift), all.row(), count));
        for (std::size_t i = 0; i < count; ++i)
          REQUIRE(all.bits(i) == to_bits(type, before.at(i + shift) + before.at(i + shift)));
      }
    });
  }
}

TEST_CASE("other operators and rows that are none are left to others") {
  const Elements a = random_elements(DType::bf16, 7);
  Elements out = random_elements(DType::f32, 8);
  const std::vector<std::byte> untouched = out.bytes;
  CHECK_FALSE(apply_fused(AluOp::max, a.row(), a.row(), out.row(), count));
  CHECK_FALSE(apply_fused(AluOp::add, a.row(), PlainRow{}, out.row(), count));
  CHECK_FALSE(apply_fused(AluOp::add, 1.0F, AluOp::max, 2.0F, a.row(), out.row(), count));
  CHECK(out.bytes == untouched);
}

}  // namespace ncemu
