#pragma once

// Random operands of one vector instruction, as the tests of its families need them, and the operators as C++
// writes them.

#include <cmath>

#include "tests/emu/data/plain.h"

namespace ncemu::test {

// Destination and sources of one shape. Every third set shares its memory, so that results may reach elements
// that are still to be read; at most one source is in PSUM.
class RandomOperands {
 public:
  explicit RandomOperands(Random& r) : r_(r), lanes_(random_lanes(r)), together_(pick(r, 0, 2) == 0) {
    in_psum_ = pick(r, 0, 5);
    elements_ = in_psum_ < 3 ? pick_of(r, {1, 2, 60, 127, 128, 129, 300}) : pick_of(r, awkward_sizes);
  }
  int lanes() const { return lanes_.partitions; }
  int elements() const { return elements_; }

  // Operand 0 is the destination, 1 and 2 are sources.
  AccessPattern operand(int which, DType type) {
    const Space space = which == in_psum_ ? Space::psum : Space::sbuf;
    const auto w = static_cast<std::size_t>(which);
    const std::int64_t base = space == Space::psum || together_ ? 0 : which * 32 * 1024;
    const int start = together_ ? lanes_.start[0] : lanes_.start[w];
    return random_pattern(r_, space, type, start, lanes_.partitions, random_counts(r_, elements_),
                          base + 4 * pick(r_, 0, 4), which != 0);
  }
  // [P, 1] beyond the other operands.
  AccessPattern column(DType type, int which) const {
    return pattern(Space::sbuf, type, lanes_.partitions > 64 ? 0 : 64 * (which % 2), lanes_.partitions,
                   95 * 1024 + 16 * which, {{1, 1}});
  }

 private:
  Random& r_;
  RandomLanes lanes_;
  bool together_;
  int in_psum_, elements_;
};

inline PointerOperand pointer(const AccessPattern& p) {
  return {p.space, p.dtype, p.partition, p.offset, no_place};
}

// Where the operators leave a choice, as emu/data/alu.h says: the number wins against NaN, +0 is above -0.
inline float plain_max(float a, float b) {
  if (std::isnan(a)) return b;
  if (std::isnan(b)) return a;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
inline float plain_op(AluOp op, float a, float b) {
  switch (op) {
    case AluOp::bypass: return a;
    case AluOp::abs: return std::fabs(a);
    case AluOp::add: return a + b;
    case AluOp::subtract: return a - b;
    case AluOp::mult: return a * b;
    case AluOp::max: return plain_max(a, b);
    case AluOp::min: return -plain_max(-a, -b);
    case AluOp::is_equal: return a == b ? 1.0F : 0.0F;
    case AluOp::is_ge: return a >= b ? 1.0F : 0.0F;
    case AluOp::is_gt: return a > b ? 1.0F : 0.0F;
    case AluOp::is_le: return a <= b ? 1.0F : 0.0F;
    case AluOp::is_lt: return a < b ? 1.0F : 0.0F;
    default: return std::numeric_limits<float>::quiet_NaN();
  }
}

inline constexpr auto running_operators = {AluOp::add, AluOp::subtract, AluOp::mult, AluOp::max, AluOp::min};

}  // namespace ncemu::test
