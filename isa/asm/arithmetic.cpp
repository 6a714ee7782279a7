#include "isa/asm/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isa/fault.h"

namespace ncemu::language {
namespace {

using Kind = ExpressionKind;

std::int64_t shift_left(const Expression& e, std::int64_t a, std::int64_t b) {
  if (b < 0) stop(e.b->where, fmt::format("a shift by {} bits", b));
  std::int64_t result = 0;
  if (a != 0 && (b > 62 || __builtin_mul_overflow(a, std::int64_t{1} << b, &result))) overflow(e);
  return result;
}

std::int64_t integer_operation(const Expression& e, Kind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (kind) {
    case Kind::add:
      if (__builtin_add_overflow(a, b, &result)) overflow(e);
      return result;
    case Kind::subtract:
      if (__builtin_sub_overflow(a, b, &result)) overflow(e);
      return result;
    case Kind::multiply:
      if (__builtin_mul_overflow(a, b, &result)) overflow(e);
      return result;
    case Kind::divide:
    case Kind::floor_divide:
    case Kind::modulo:
      if (b == 0) stop(e.operator_where, fmt::format("{} is divided by zero", a));
      if (b == -1) {
        if (kind == Kind::modulo) return 0;
        if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) overflow(e);
        return result;
      }
      if (kind == Kind::floor_divide) return floor_divide(a, b);
      if (kind == Kind::modulo) return floor_modulo(a, b);
      if (a % b != 0) {
        stop(e.operator_where, fmt::format("{} / {} is not an integer", a, b),
             "write a // b to round down or ceil_div(a, b) to round up");
      }
      return a / b;
    case Kind::bit_or: return a | b;
    case Kind::bit_xor: return a ^ b;
    case Kind::bit_and: return a & b;
    case Kind::shift_left: return shift_left(e, a, b);
    case Kind::shift_right:
      if (b < 0) stop(e.b->where, fmt::format("a shift by {} bits", b));
      return a >> std::min<std::int64_t>(b, 63);
    default: break;
  }
  throw Fault(FaultKind::internal, "ncemu", "no integer operator {}", static_cast<int>(kind));
}

double double_operation(const Expression& e, double a, double b) {
  switch (e.kind) {
    case Kind::add: return a + b;
    case Kind::subtract: return a - b;
    case Kind::multiply: return a * b;
    case Kind::divide:
    case Kind::floor_divide:
    case Kind::modulo:
      if (b == 0) stop(e.operator_where, fmt::format("{} is divided by zero", a));
      if (e.kind == Kind::divide) return a / b;
      if (e.kind == Kind::floor_divide) return std::floor(a / b);
      return a - b * std::floor(a / b);
    default: stop(e.operator_where, "bits and shifts need integers");
  }
}

template <typename T>
bool compare(Kind kind, const T& a, const T& b) {
  switch (kind) {
    case Kind::equal: return a == b;
    case Kind::not_equal: return a != b;
    case Kind::less: return a < b;
    case Kind::less_equal: return a <= b;
    case Kind::greater: return a > b;
    default: return a >= b;
  }
}

Value compare_values(const Expression& e, const Value& a, const Value& b) {
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  if (x != nullptr && y != nullptr) return compare(e.kind, *x, *y);
  if (is_number(a) && is_number(b)) return compare(e.kind, as_double(a), as_double(b));
  if (e.kind == Kind::equal || e.kind == Kind::not_equal) {
    const bool negated = e.kind == Kind::not_equal;
    if (const auto* s = std::get_if<DType>(&a), *t = std::get_if<DType>(&b); s && t)
      return (*s == *t) != negated;
    if (const auto* s = std::get_if<bool>(&a), *t = std::get_if<bool>(&b); s && t)
      return (*s == *t) != negated;
    if (const auto* s = std::get_if<Text>(&a), *t = std::get_if<Text>(&b); s && t)
      return (s->text == t->text) != negated;
  }
  stop(e.operator_where, fmt::format("cannot compare {} with {}", describe(a), describe(b)));
}

// An index at run time stays scale * register + base.
Value affine_operation(const Expression& e, Kind kind, const Value& a, const Value& b) {
  const auto* x = std::get_if<Affine>(&a);
  const auto* y = std::get_if<Affine>(&b);
  const auto* m = std::get_if<std::int64_t>(&a);
  const auto* n = std::get_if<std::int64_t>(&b);
  const auto combine = [&](std::int64_t p, std::int64_t q) { return integer_operation(e, kind, p, q); };
  if (kind == Kind::multiply && x != nullptr && n != nullptr) {
    return Affine{x->reg, combine(x->scale, *n), combine(x->base, *n)};
  }
  if (kind == Kind::multiply && y != nullptr && m != nullptr) {
    return Affine{y->reg, combine(y->scale, *m), combine(y->base, *m)};
  }
  if (kind == Kind::add || kind == Kind::subtract) {
    if (x != nullptr && n != nullptr) return Affine{x->reg, x->scale, combine(x->base, *n)};
    if (m != nullptr && y != nullptr) {
      return Affine{y->reg, combine(0, y->scale), combine(*m, y->base)};
    }
    if (x != nullptr && y != nullptr && x->reg == y->reg) {
      const Affine sum{x->reg, combine(x->scale, y->scale), combine(x->base, y->base)};
      if (sum.scale == 0) return sum.base;
      return sum;
    }
  }
  stop(e.where,
       fmt::format("{} and {}: an index at run time is register * constant + constant", describe(a),
                   describe(b)),
       kind == Kind::modulo ? "tiles rotate by 'buffers = n' on a tile declared in a loop with 'unroll = n'"
                            : "compute anything else with register_alu in an '.engine' block");
}

}  // namespace

void overflow(const Expression& e) { stop(e.where, "the result does not fit in a 64-bit integer"); }

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::int64_t floor_modulo(std::int64_t a, std::int64_t b) {
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Value unary_operation(const Expression& e, const Value& a) {
  const bool negates = e.kind == Kind::negate;
  if (const auto* integer = std::get_if<std::int64_t>(&a)) {
    return negates ? integer_operation(e, Kind::subtract, 0, *integer) : ~*integer;
  }
  if (const auto* real = std::get_if<double>(&a); real != nullptr && negates) return -*real;
  if (std::holds_alternative<Affine>(a) && negates)
    return affine_operation(e, Kind::multiply, a, std::int64_t{-1});
  stop(e.where, fmt::format("'{}' needs {}, found {}", negates ? "-" : "~",
                            negates ? "a number" : "an integer", describe(a)));
}

Value binary_operation(const Expression& e, const Value& a, const Value& b) {
  if (e.kind >= Kind::equal && e.kind <= Kind::greater_equal) return compare_values(e, a, b);
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  if (x != nullptr && y != nullptr) return integer_operation(e, e.kind, *x, *y);
  if (is_number(a) && is_number(b)) return double_operation(e, as_double(a), as_double(b));
  if (std::holds_alternative<Affine>(a) || std::holds_alternative<Affine>(b))
    return affine_operation(e, e.kind, a, b);
  stop(e.operator_where,
       fmt::format("this operator needs numbers, found {} and {}", describe(a), describe(b)));
}

}  // namespace ncemu::language
