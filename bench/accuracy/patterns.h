#pragma once

// The tables' spelling of operands: "fp16", "2(s224)x222(s1)" (slowest dimension first, steps in elements).

#include <optional>
#include <string_view>
#include <vector>

#include "isa/access_pattern.h"

namespace ncemu::accuracy {

// "fp32" -> f32; absent when unknown.
std::optional<DType> dtype_named(std::string_view text);
std::optional<Space> space_named(std::string_view text);

// Absent when the text is no pattern of at most four dimensions that fit an operand.
std::optional<AccessPattern> pattern_named(std::string_view text);

// Parts between separators, without blanks around them; empty text has none.
std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator);

// [partitions, n] adjacent elements.
AccessPattern tile(Space space, DType dtype, int partitions, int n, std::uint32_t offset = 0);
// Rows of n adjacent elements that follow one another in a tensor.
HbmPattern rows_of(std::uint16_t tensor, DType dtype, std::int64_t rows, std::int64_t n,
                   std::int64_t offset = 0);

}  // namespace ncemu::accuracy
