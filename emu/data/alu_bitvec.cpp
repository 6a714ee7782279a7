// The bitvec class, on raw bits in 32-bit lanes, and the register ALU.

#include "emu/data/alu.h"

#include <algorithm>
#include <bit>

#include "isa/fault.h"

namespace ncemu {
namespace {

constexpr std::size_t piece = 256;

// Elements narrower than a lane come sign- or zero-extended; only a right shift sees the difference.
class Shifter {
 public:
  explicit Shifter(int width) : width_(static_cast<std::uint32_t>(width)) {
    ensure(width == 8 || width == 16 || width == 32, "an integer element has 8, 16 or 32 bits");
  }
  std::uint32_t left(std::uint32_t a, std::uint32_t by) const { return by >= width_ ? 0 : a << by; }
  std::uint32_t right(std::uint32_t a, std::uint32_t by) const {
    return by >= width_ ? 0 : (a & (~0U >> (32 - width_))) >> by;
  }
  std::uint32_t arithmetic_right(std::uint32_t a, std::uint32_t by) const {
    const std::int32_t extended = static_cast<std::int32_t>(a << (32 - width_)) >> (32 - width_);
    return static_cast<std::uint32_t>(extended >> std::min(by, width_ - 1));
  }

 private:
  std::uint32_t width_;
};

template <typename Op>
void row(const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* out, std::size_t count, Op op) {
  std::uint32_t result[piece];
  for (std::size_t i = 0; i < count; ++i) result[i] = op(a[i], b[i]);
  std::copy_n(result, count, out);
}

// At most one piece; the buffer of `row` tells the compiler that nothing overlaps.
void apply_piece(AluOp op, const std::uint32_t* a, const std::uint32_t* b, Shifter shift, std::uint32_t* out,
                 std::size_t count) {
  using U = std::uint32_t;
  ensure(op == AluOp::bypass || is_bitvec(op), "only bitvec operators work on raw bits");
  switch (op) {
    // clang-format off
    case AluOp::bypass:              return row(a, b, out, count, [](U x, U) { return x; });
    case AluOp::bitwise_not:         return row(a, b, out, count, [](U x, U) { return ~x; });
    case AluOp::bitwise_and:         return row(a, b, out, count, [](U x, U y) { return x & y; });
    case AluOp::bitwise_or:          return row(a, b, out, count, [](U x, U y) { return x | y; });
    case AluOp::bitwise_xor:         return row(a, b, out, count, [](U x, U y) { return x ^ y; });
    case AluOp::logical_shift_left:  return row(a, b, out, count, [=](U x, U y) { return shift.left(x, y); });
    case AluOp::logical_shift_right: return row(a, b, out, count, [=](U x, U y) { return shift.right(x, y); });
    case AluOp::arith_shift_right:   return row(a, b, out, count, [=](U x, U y) { return shift.arithmetic_right(x, y); });
    case AluOp::add: case AluOp::subtract: case AluOp::mult: case AluOp::divide: case AluOp::mod: case AluOp::pow:
    case AluOp::max: case AluOp::min: case AluOp::abs_max: case AluOp::abs_min: case AluOp::average:
    case AluOp::is_equal: case AluOp::not_equal: case AluOp::is_ge: case AluOp::is_gt: case AluOp::is_le:
    case AluOp::is_lt: case AluOp::logical_and: case AluOp::logical_or: case AluOp::logical_xor: case AluOp::abs:
    case AluOp::rsqrt: case AluOp::reciprocal: case AluOp::square: case AluOp::relu: break;
      // clang-format on
  }
}

std::int32_t as_signed(std::uint32_t value) { return static_cast<std::int32_t>(value); }

// Towards minus infinity. In 64 bits, where -2^31 / -1 does not overflow.
std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t checked_divide(AluOp op, std::int32_t a, std::int32_t b) {
  if (b == 0) throw Fault(FaultKind::program, "", "register_alu {}: {} is divided by zero", name(op), a);
  return floor_divide(a, b);
}

std::int64_t magnitude(std::int32_t value) { return value < 0 ? -std::int64_t{value} : value; }

}  // namespace

void apply(AluOp op, const std::uint32_t* a, const std::uint32_t* b, int width, std::uint32_t* out,
           std::size_t count) {
  const Shifter shift(width);
  for (std::size_t i = 0; i < count; i += piece) {
    apply_piece(op, a + i, b + i, shift, out + i, std::min(piece, count - i));
  }
}

void apply_scalar(AluOp op, const std::uint32_t* a, std::uint32_t b, bool reversed, int width,
                  std::uint32_t* out, std::size_t count) {
  const Shifter shift(width);
  std::uint32_t repeated[piece];
  std::fill_n(repeated, std::min(piece, count), b);
  const bool swap = reversed && !is_unary(op);
  for (std::size_t i = 0; i < count; i += piece) {
    apply_piece(op, swap ? repeated : a + i, swap ? a + i : repeated, shift, out + i,
                std::min(piece, count - i));
  }
}

std::uint32_t reduce(AluOp op, const std::uint32_t* a, std::size_t count) {
  ensure(count > 0, "a reduction has at least one element");
  std::uint32_t result = a[0];
  for (std::size_t i = 1; i < count; ++i) apply_piece(op, &result, a + i, Shifter(32), &result, 1);
  return result;
}

std::int32_t apply_register(AluOp op, std::int32_t a, std::int32_t b) {
  const std::uint32_t x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
  const Shifter shift(32);
  switch (op) {
    // clang-format off
    case AluOp::bypass:              return a;
    case AluOp::add:                 return as_signed(x + y);
    case AluOp::subtract:            return as_signed(x - y);
    case AluOp::mult:                return as_signed(x * y);
    case AluOp::divide:              return static_cast<std::int32_t>(checked_divide(op, a, b));
    case AluOp::mod:                 return static_cast<std::int32_t>(a - checked_divide(op, a, b) * b);
    case AluOp::max:                 return std::max(a, b);
    case AluOp::min:                 return std::min(a, b);
    case AluOp::abs_max:             return magnitude(a) > magnitude(b) ? a : b;
    case AluOp::abs_min:             return magnitude(a) < magnitude(b) ? a : b;
    case AluOp::is_equal:            return a == b;
    case AluOp::not_equal:           return a != b;
    case AluOp::is_ge:               return a >= b;
    case AluOp::is_gt:               return a > b;
    case AluOp::is_le:               return a <= b;
    case AluOp::is_lt:               return a < b;
    case AluOp::logical_and:         return a != 0 && b != 0;
    case AluOp::logical_or:          return a != 0 || b != 0;
    case AluOp::logical_xor:         return (a != 0) != (b != 0);
    case AluOp::abs:                 return as_signed(a < 0 ? 0 - x : x);
    case AluOp::square:              return as_signed(x * x);
    case AluOp::relu:                return std::max(a, 0);
    case AluOp::bitwise_not:         return ~a;
    case AluOp::bitwise_and:         return a & b;
    case AluOp::bitwise_or:          return a | b;
    case AluOp::bitwise_xor:         return a ^ b;
    case AluOp::logical_shift_left:  return as_signed(shift.left(x, y));
    case AluOp::logical_shift_right: return as_signed(shift.right(x, y));
    case AluOp::arith_shift_right:   return as_signed(shift.arithmetic_right(x, y));
    case AluOp::pow: case AluOp::average: case AluOp::rsqrt: case AluOp::reciprocal: break;
      // clang-format on
  }
  throw Fault(FaultKind::program, "", "register_alu: '{}' is not an operation on integers", name(op));
}

}  // namespace ncemu
