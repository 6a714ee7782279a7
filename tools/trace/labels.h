#pragma once

// What a trace says of each instruction of a program beside its times: mnemonic, operands, options, source
// place. Texts are interned: an unrolled kernel has many instructions and few different operands.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/program.h"

namespace ncemu {

class Labels {
 public:
  using Text = std::uint32_t;  // index in texts()
  struct Operand {
    Text name;   // "dst", "moving"; "with" for what is no operand: "func=exp"
    Text value;  // "acc#0[:, 1, :]"
  };

  explicit Labels(const Program& program);

  // A place in the program: streams one after the other, in the order of the engines.
  std::uint32_t row(Engine engine, std::uint32_t index) const {
    return first_[static_cast<std::size_t>(engine)] + index;
  }
  std::uint32_t rows() const { return first_.back(); }
  Text mnemonic(std::uint32_t row) const { return mnemonics_[row]; }
  std::uint32_t site(std::uint32_t row) const { return sites_[row]; }  // in Program::sites
  std::span<const Operand> operands(std::uint32_t row) const {
    return std::span(operands_).subspan(begin_[row], begin_[row + 1] - begin_[row]);
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::array<std::uint32_t, engine_count + 1> first_{};
  std::vector<Text> mnemonics_;
  std::vector<std::uint32_t> sites_;
  std::vector<std::uint32_t> begin_ = {0};  // of operands_
  std::vector<Operand> operands_;
  std::vector<std::string> texts_;
};

}  // namespace ncemu
