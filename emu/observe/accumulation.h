#pragma once

// PSUM accumulation groups without data (design: PSUM groups): matmuls that accumulate where no group was
// opened, or into words that another engine wrote since, and several groups open in one bank.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "emu/machine/observer.h"
#include "emu/observe/finding.h"
#include "emu/observe/lane_classes.h"

namespace ncemu {

class Accumulation : public Observer {
 public:
  explicit Accumulation(const Program& program);

  void on_start(const Started& started) override;
  std::vector<Finding> findings() const;

 private:
  // A word: 0 untouched, the number of the group it belongs to, or, with the top bit, the instruction of
  // another engine that wrote it last: engine in bits 28 to 30, index in the bits below.
  using Word = std::uint32_t;
  static constexpr Word foreign = Word{1} << 31;
  enum class Mistake : std::uint8_t { no_group, foreign_words, older_group };

  void matmul(const Started& started, const Matmul& matmul);
  void write(const Started& started, const AccessPattern& pattern);
  void stamp(const AccessPattern& pattern, Word word);
  std::uint32_t& newest(std::uint32_t partition, std::uint32_t word);
  void report(const Started& started, Mistake mistake, Word by);

  static constexpr std::uint32_t bank_words = 512;     // datasheet 1.2
  static constexpr std::uint32_t quadrant_lanes = 32;  // the smallest column group (datasheet 6.1)

  const Program& program_;
  LaneClasses<std::vector<Word>> words_;
  std::vector<std::uint32_t> newest_;  // per bank and quadrant
  std::uint32_t groups_ = 0;
  std::vector<Finding> findings_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, Mistake>, std::size_t> seen_;
};

}  // namespace ncemu
