#pragma once

#include <cstdint>
#include <string_view>

#include "isa/types.h"

namespace ncemu {

// Whether `a condition b`: of waits (datasheet 2.4), branches and affine_select.
constexpr bool holds(Comparison condition, std::int64_t a, std::int64_t b) {
  switch (condition) {
    case Comparison::always: return true;
    case Comparison::lt: return a < b;
    case Comparison::le: return a <= b;
    case Comparison::eq: return a == b;
    case Comparison::ne: return a != b;
    case Comparison::ge: return a >= b;
    case Comparison::gt: return a > b;
  }
  return false;
}

// "<", ">=" ...; nothing for `always`.
std::string_view sign(Comparison condition);

}  // namespace ncemu
