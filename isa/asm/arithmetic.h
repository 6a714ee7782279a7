#pragma once

// The operators of expressions on values. `e` is the operator's node, for messages.

#include "isa/asm/report.h"
#include "isa/asm/syntax.h"
#include "isa/asm/value.h"

namespace ncemu::language {

[[noreturn]] void overflow(const Expression& e);

// Rounding down; b is not zero and not -1.
std::int64_t floor_divide(std::int64_t a, std::int64_t b);
std::int64_t floor_modulo(std::int64_t a, std::int64_t b);

// Integers stay integers (checked), mixed operands become double, indices at run time stay
// register * constant + constant, and what is left is an error.
Value binary_operation(const Expression& e, const Value& a, const Value& b);
Value unary_operation(const Expression& e, const Value& a);

}  // namespace ncemu::language
