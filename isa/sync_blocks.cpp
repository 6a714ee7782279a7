#include "isa/sync_blocks.h"

namespace ncemu::autosync {

Blocks::Blocks(const Program& program) : program_(&program), loop_streams_(program.loops.size()) {
  for (const Engine e : all_engines) {
    if (!program.stream(e).empty()) all_ = all_ | e;
  }
  for (std::size_t i = 0; i < program.loops.size(); ++i) {
    for (std::uint32_t k = program.loops[i].begin; k < program.loops[i].end; ++k) {
      loop_streams_[i] = loop_streams_[i] | program.order[k];
    }
  }
}

std::span<const Blocks::Step> Blocks::at(std::uint32_t k) {
  steps_.clear();
  const auto& loops = program_->loops;
  const auto& blocks = program_->manual_blocks;
  const bool block_ends = block_open_ && blocks[block_].end <= k;
  const std::uint32_t block_site = block_ends ? blocks[block_].site : 0;
  if (block_ends) {
    block_open_ = false;
    ++block_;
  }
  while (block_ < blocks.size() && !block_open_ && blocks[block_].begin == blocks[block_].end) ++block_;
  while (loop_ < loops.size() && loops[loop_].begin <= k && loops[loop_].begin == loops[loop_].end) ++loop_;
  const bool block_begins = block_ < blocks.size() && !block_open_ && blocks[block_].begin == k;
  const bool loop_boundary =
      (!open_.empty() && loops[open_.back()].end <= k) || (loop_ < loops.size() && loops[loop_].begin == k);
  // Neighbouring blocks are one group: they run at the same time.
  const bool group_goes_on = block_ends && block_begins && !loop_boundary;
  if (block_ends && !group_goes_on) add_join(block_site);
  close_loops(k);
  open_loops(k);
  if (block_begins) {
    if (!group_goes_on) add_join(blocks[block_].site);
    steps_.push_back({Step::What::open_block, static_cast<std::uint32_t>(block_), {}, 0});
    block_open_ = true;
  }
  return steps_;
}

void Blocks::add_join(std::uint32_t site) { steps_.push_back({Step::What::join, 0, streams(), site}); }

// An iteration ends with a join, so that the next finds the counters as the first did.
void Blocks::close_loops(std::uint32_t k) {
  while (!open_.empty() && program_->loops[open_.back()].end <= k) {
    const std::uint32_t id = open_.back();
    const std::uint32_t site = program_->loops[id].site;
    add_join(site);
    open_.pop_back();
    steps_.push_back({Step::What::close_loop, id, streams(), site});
  }
}

void Blocks::open_loops(std::uint32_t k) {
  for (const auto& loops = program_->loops; loop_ < loops.size() && loops[loop_].begin == k; ++loop_) {
    if (loops[loop_].end == k) continue;
    add_join(loops[loop_].site);
    steps_.push_back({Step::What::open_loop, static_cast<std::uint32_t>(loop_), {}, 0});
    open_.push_back(static_cast<std::uint32_t>(loop_));
  }
}

}  // namespace ncemu::autosync
