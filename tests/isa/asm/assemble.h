#pragma once

// Shared by the assembler's tests: short sources in, programs or messages out.

#include <doctest/doctest.h>

#include <bit>
#include <string>

#include "isa/asm/assembler.h"

namespace ncemu::test {

// The program of a source without mistakes.
inline Program assembled(const std::string& text, const AssembleOptions& options = {}) {
  Assembly assembly = assemble_text(text, "test.nca", options);
  REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
  return std::move(assembly.program);
}

// The messages of a source with mistakes.
inline std::string errors(const std::string& text, const AssembleOptions& options = {}) {
  const Assembly assembly = assemble_text(text, "test.nca", options);
  CHECK_FALSE(assembly.ok());
  return assembly.diagnostics.text();
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline const Tensor& tensor(const Program& program, const std::string& name) {
  for (const Tensor& t : program.tensors) {
    if (t.name == name) return t;
  }
  FAIL("no tensor " << name);
  return program.tensors.front();
}

inline std::uint32_t element(const Tensor& t, std::size_t i) {
  std::uint32_t bits = 0;
  const auto width = static_cast<std::size_t>(size_of(t.dtype));
  for (std::size_t b = 0; b < width; ++b)
    bits |= std::to_integer<std::uint32_t>(t.data[i * width + b]) << (8 * b);
  return bits;
}

// An integer expression's value, by way of a constant; it must fit 32 bits.
inline std::int64_t integer_value(const std::string& expression, const std::string& before = "") {
  const Program p = assembled(before + "\n.const v : i32[1] = [" + expression + "]\n");
  return static_cast<std::int32_t>(element(tensor(p, "v"), 0));
}
inline float float_value(const std::string& expression, const std::string& before = "") {
  const Program p = assembled(before + "\n.const v : f32[1] = [" + expression + "]\n");
  return std::bit_cast<float>(element(tensor(p, "v"), 0));
}
inline bool holds(const std::string& condition, const std::string& before = "") {
  return assemble_text(before + "\n.assert " + condition + "\n", "test.nca").ok();
}

// Instructions of one opcode, over all streams.
inline std::vector<Instruction> all_of(const Program& program, Opcode opcode) {
  std::vector<Instruction> found;
  for (const auto& stream : program.streams) {
    for (const Instruction& i : stream) {
      if (i.opcode == opcode) found.push_back(i);
    }
  }
  return found;
}

}  // namespace ncemu::test
