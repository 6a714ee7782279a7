#pragma once

// Instructions that break a rule, for rules_test.cpp: what a case is, and short ways to write operands.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "isa/instruction.h"

namespace ncemu::rule_cases {

inline AccessPattern tile(Space space, DType dtype, int partition, int partitions, std::uint32_t offset,
                          std::vector<Dim> dims = {}) {
  AccessPattern p;
  p.space = space;
  p.dtype = dtype;
  p.partition = static_cast<std::uint8_t>(partition);
  p.partitions = static_cast<std::uint8_t>(partitions);
  p.offset = offset;
  std::copy(dims.begin(), dims.end(), p.dims.begin());
  return p;
}
inline AccessPattern sbuf(int partitions = 128, std::uint16_t n = 512, DType dtype = DType::f32) {
  return tile(Space::sbuf, dtype, 0, partitions, 0, {{1, n}});
}
inline AccessPattern psum(int partitions = 128, std::uint16_t n = 512, DType dtype = DType::f32) {
  return tile(Space::psum, dtype, 0, partitions, 0, {{1, n}});
}
inline AccessPattern indexed(AccessPattern p) {
  p.index = Register{1};
  p.index_step = 1;
  return p;
}
inline HbmPattern row(std::int64_t offset, std::uint32_t n, DType dtype = DType::f32) {
  HbmPattern p;
  p.dtype = dtype;
  p.offset = offset;
  p.dims[0] = {1, n};
  return p;
}

inline HbmPattern indexed(HbmPattern p) {
  p.index = Register{1};
  p.index_step = 1;
  return p;
}
inline HbmPattern of_input(HbmPattern p) {
  p.tensor = 1;
  return p;
}

struct Case {
  std::string_view rule;  // a part of its sentence, enough to name it
  std::string_view machine;
  Engine engine;
  Opcode opcode;
  Operands operands;
  std::string operand;  // of the violation
  std::string message;  // the whole
  Wait wait = {};
  Update update = {};
};

inline constexpr Engine T = Engine::tensor, V = Engine::vector, S = Engine::scalar, G = Engine::gpsimd,
                        Y = Engine::sync;

}  // namespace ncemu::rule_cases
