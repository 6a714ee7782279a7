#pragma once

// A tensor against a reference: how many elements differ, the worst one, and both values there.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/types.h"

namespace ncemu {

// An element is equal when |got - want| <= absolute + relative * |want|, when both are the same infinity, or
// when both are NaN.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

struct Difference {
  std::size_t count = 0;
  std::size_t different = 0;
  // Of the differing elements, the one with the largest error (the first of several); a NaN or an infinity on
  // one side only is an infinite error.
  std::size_t worst = 0;
  double got = 0, want = 0;
  double error = 0;
  std::uint32_t got_bits = 0, want_bits = 0;  // by bits only
  bool by_bits = false;
  bool equal() const { return different == 0; }
};

// `got` holds want.size() elements of the type, little-endian.
Difference compare(DType dtype, std::span<const std::byte> got, std::span<const double> want,
                   const Tolerance& tolerance);
// The same with what is allowed of each element; `allowed` has an entry per element.
Difference compare(DType dtype, std::span<const std::byte> got, std::span<const double> want,
                   std::span<const double> allowed);
// Every bit; -0 and 0 differ, so do two NaNs of different payload. Both hold elements of the type.
Difference compare_bits(DType dtype, std::span<const std::byte> got, std::span<const std::byte> want);

// "12 of 4096 elements differ; worst at [3, 5]: got 1.5, expected 1.25 (error 0.25)"
std::string describe(const Difference& difference, std::span<const std::int64_t> shape);

// "[3, 5]" of the row-major element `index`; "[]" of a scalar.
std::string index_text(std::size_t index, std::span<const std::int64_t> shape);
// "[128, 512]"
std::string shape_text(std::span<const std::int64_t> shape);

// The bits of element i, little-endian, zero-extended; its value.
std::uint32_t element_bits(DType dtype, std::span<const std::byte> bytes, std::size_t i);
double element_value(DType dtype, std::span<const std::byte> bytes, std::size_t i);

}  // namespace ncemu
