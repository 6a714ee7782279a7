#pragma once

// The loops and hand-written blocks of a text as one walks it: what opens and closes at each position, and
// where the streams must join.

#include <cstdint>
#include <span>
#include <vector>

#include "isa/program.h"

namespace ncemu::autosync {

class Blocks {
 public:
  explicit Blocks(const Program& program);

  struct Step {
    enum class What : std::uint8_t { join, open_loop, close_loop, open_block } what = What::join;
    std::uint32_t id = 0;  // of the loop or block
    EngineSet streams;     // of a join: who takes part; of close_loop: who runs the text around the loop
    std::uint32_t site = 0;
  };
  // What happens before position k; to be asked for every k in turn, and for the end of the text. The span is
  // valid until the next call.
  std::span<const Step> at(std::uint32_t k);

  // The block that position k, the last asked for, lies in; nullptr: none.
  const ManualBlock* block() const { return block_open_ ? &program_->manual_blocks[block_] : nullptr; }
  // The streams that run this place of the text together.
  EngineSet streams() const { return open_.empty() ? all_ : loop_streams_[open_.back()]; }
  // The streams that run each loop: those with instructions in it.
  const std::vector<EngineSet>& loop_streams() const { return loop_streams_; }

 private:
  void add_join(std::uint32_t site);
  void close_loops(std::uint32_t k);
  void open_loops(std::uint32_t k);

  const Program* program_;
  EngineSet all_;
  std::vector<EngineSet> loop_streams_;
  std::vector<std::uint32_t> open_;  // loops, innermost last
  std::size_t loop_ = 0;             // next to open
  std::size_t block_ = 0;            // open, or next to open
  bool block_open_ = false;
  std::vector<Step> steps_;
};

}  // namespace ncemu::autosync
