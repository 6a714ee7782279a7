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
  static constexpr std::uint32_t bank_words = 512;     // datasheet 1.2
  static constexpr std::uint32_t quadrant_lanes = 32;  // the smallest column group (datasheet 6.1)
  static constexpr Word foreign = Word{1} << 31;
  enum class Mistake : std::uint8_t { no_group, foreign_words, older_group };

  void matmul(const Started& started, const Matmul& matmul);
  void write(const Started& started, const AccessPattern& pattern);
  void stamp(const AccessPattern& pattern, Word word);
  std::uint32_t& newest(std::uint32_t partition, std::uint32_t word);
  void report(const Started& started, Mistake mistake, Word by);

  const Program& program_;
  // The stretch of a bank that was stamped last: all its words are one, so that a matmul into it needs no
  // look at them.
  struct Stretch {
    Lanes lanes;
    std::int64_t begin = 0, end = 0;  // bytes of the partition; empty: none
    Word word = 0;
  };
  static constexpr std::int64_t bank_bytes = std::int64_t{bank_words} * 4;
  // Of a pattern that is one run within one bank; null: it is not.
  Stretch* bank_of(const detail::Runs& runs);
  const Stretch* inside_last(const AccessPattern& pattern, const detail::Runs& runs);

  LaneClasses<std::vector<Word>> words_;
  std::vector<Stretch> last_;          // per bank
  std::vector<std::uint32_t> newest_;  // per bank and quadrant
  std::uint32_t groups_ = 0;
  std::vector<Finding> findings_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, Mistake>, std::size_t> seen_;
};

}  // namespace ncemu
