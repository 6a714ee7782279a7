#pragma once

// Instructions of a stream that cost the same. A stream of a million instructions has a few dozen shapes, so
// what follows from the shape (cost, work, ports) is worked out once for each of them.

#include <cstdint>
#include <vector>

#include "isa/instruction.h"

namespace ncemu {

class Shapes {
 public:
  using Number = std::uint32_t;  // counts from 0
  static constexpr Number none = 0xFFFFFFFF;

  // Two instructions have the same number exactly if they differ in nothing but sites, semaphores, and where
  // their operands begin: the tensor, tile and bytes, on chip not the partition. Whether a register says it
  // counts, which register does not.
  Number number(const Instruction& instruction);
  std::size_t size() const { return begins_.size(); }

 private:
  using Word = std::uint64_t;
  bool is(Number number, const std::vector<Word>& key) const;
  void grow();

  std::vector<Word> keys_;           // of all shapes, one behind the other
  std::vector<std::size_t> begins_;  // of each shape's key
  std::vector<Word> hashes_;
  std::vector<Number> table_;  // by hash, open addressing
  std::vector<Word> key_;      // at work
};

}  // namespace ncemu
