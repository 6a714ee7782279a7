#include "isa/probes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "isa/fault.h"
#include "isa/sync_footprint.h"
#include "isa/sync_hazards.h"

namespace ncemu {
namespace {

using autosync::Footprint;
using What = ProbeMark::What;

std::size_t number(Engine e) { return static_cast<std::size_t>(e); }

// The loops and blocks around a position of the text order.
class Nesting {
 public:
  explicit Nesting(const Program& program) : program_(&program) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < program.loops.size(); ++i) {
      while (!open.empty() && program.loops[open.back()].end <= program.loops[i].begin) open.pop_back();
      parent_.push_back(open.empty() ? no_index : open.back());
      if (!empty(i)) open.push_back(i);
    }
  }

  // A loop without instructions runs in no stream.
  bool empty(std::uint32_t loop) const { return program_->loops[loop].begin == program_->loops[loop].end; }

  // The outermost loop that holds position k and is none of `around`.
  std::optional<std::uint32_t> closed_loop(std::uint32_t k, const std::vector<std::uint32_t>& around) const {
    const auto& loops = program_->loops;
    const auto next = std::upper_bound(loops.begin(), loops.end(), k,
                                       [](std::uint32_t at, const Loop& l) { return at < l.begin; });
    auto loop = next == loops.begin() ? no_index : static_cast<std::uint32_t>(next - loops.begin() - 1);
    std::optional<std::uint32_t> found;
    for (; loop != no_index; loop = parent_[loop]) {
      if (loops[loop].end <= k) continue;
      if (std::find(around.begin(), around.end(), loop) != around.end()) break;
      found = loop;
    }
    return found;
  }

  // Position k, or the last of the hand-written block that holds it.
  std::uint32_t block_end(std::uint32_t k) const {
    const auto& blocks = program_->manual_blocks;
    auto block = std::upper_bound(blocks.begin(), blocks.end(), k,
                                  [](std::uint32_t at, const ManualBlock& b) { return at < b.begin; });
    while (block != blocks.begin()) {
      --block;
      if (block->begin == block->end) continue;
      return k < block->end ? block->end - 1 : k;
    }
    return k;
  }

 private:
  const Program* program_;
  std::vector<std::uint32_t> parent_;
};

class Marker {
 public:
  explicit Marker(Program& program)
      : program_(program),
        nesting_(program),
        footprints_(program),
        viewed_(footprints_.regions()),
        marks_(program.probes.size()) {
    written_.reserve(engine_count);
    for ([[maybe_unused]] const Engine e : all_engines) written_.emplace_back(footprints_.regions());
    index_.reserve(program.order.size());
    std::array<std::uint32_t, engine_count> next{};
    for (const Engine e : program.order) index_.push_back(next[number(e)]++);
    for (const Probe& probe : program.probes) {
      collect_view(probe);
      for (const Footprint& f : accesses_) viewed_[f.region] = true;
    }
  }

  std::vector<ProbeMarks> run() {
    std::size_t next = 0;
    for (std::uint32_t k = 0; k <= program_.order.size(); ++k) {
      for (; next < program_.probes.size() && program_.probes[next].at == k; ++next) meet(next);
      for (auto [it, end] = waiting_.equal_range(k); it != end; ++it) leave_loop(it->second);
      waiting_.erase(k);
      if (k < program_.order.size()) record(k);
    }
    ensure(next == program_.probes.size(), "probes stand in the order of the text");
    return std::move(marks_);
  }

 private:
  // Per engine: the last position that writes some of the view.
  using Writes = std::array<std::optional<std::uint32_t>, engine_count>;

  // The view as what an instruction reads.
  void collect_view(const Probe& probe) {
    Instruction reader;
    reader.opcode = Opcode::register_load;
    reader.operands = RegisterLoad{Register{0}, probe.view};
    accesses_.clear();
    footprints_.collect(reader, accesses_);
  }

  void record(std::uint32_t k) {
    const Engine engine = program_.order[k];
    accesses_.clear();
    footprints_.collect(program_.stream(engine)[index_[k]], accesses_);
    for (const Footprint& footprint : accesses_) {
      if (!footprint.write || !viewed_[footprint.region]) continue;
      written_[number(engine)].record(footprint, 0, k, [](const autosync::Access&) {});
    }
  }

  Writes last_writes(const Probe& probe, std::uint32_t k) {
    collect_view(probe);
    Writes last;
    for (const Footprint& footprint : accesses_) {
      for (const Engine e : all_engines) {
        written_[number(e)].record(footprint, 0, k, [&](const autosync::Access& earlier) {
          last[number(e)] = std::max(last[number(e)].value_or(0), earlier.position);
        });
      }
    }
    return last;
  }

  // The text comes to the point.
  void meet(std::size_t p) {
    Probe& probe = program_.probes[p];
    const Writes last = last_writes(probe, probe.at);
    for (const Engine e : all_engines) {
      if (last[number(e)]) marks_[p][number(e)] = behind(*last[number(e)], probe);
    }
    if (probe.block != no_index && block_of(probe).begin != block_of(probe).end) {
      const Engine e = block_of(probe).engine;
      const bool at_end = probe.at == block_of(probe).end;
      marks_[p][number(e)] =
          at_end ? ProbeMark{What::behind, index_[probe.at - 1]} : ProbeMark{What::at, index_[probe.at]};
      probe.rounds = e;
      return;
    }
    while (!probe.loops.empty() && nesting_.empty(probe.loops.back())) probe.loops.pop_back();
    if (probe.loops.empty()) return;
    const Loop& loop = program_.loops[probe.loops.back()];
    for (const Engine e : all_engines) {
      if (last[number(e)] && *last[number(e)] >= loop.begin) probe.rounds = probe.rounds | e;
    }
    waiting_.emplace(loop.end, p);
  }

  // The text comes to the end of the innermost loop around the point.
  void leave_loop(std::size_t p) {
    Probe& probe = program_.probes[p];
    const std::uint32_t id = probe.loops.back();
    const Loop& loop = program_.loops[id];
    const Writes last = last_writes(probe, loop.end);
    for (const Engine e : all_engines) {
      if (probe.rounds.contains(e) || !last[number(e)] || *last[number(e)] < probe.at) continue;
      marks_[p][number(e)] = {What::loop_begin, id};
      probe.rounds = probe.rounds | e;
    }
    if (!probe.rounds.empty()) return;
    const bool first = probe.at == loop.begin;
    const Engine e = program_.order[first ? loop.begin : probe.at - 1];
    marks_[p][number(e)] = first ? ProbeMark{What::loop_begin, id} : behind(probe.at - 1, probe);
    probe.rounds = e;
  }

  ProbeMark behind(std::uint32_t k, const Probe& probe) const {
    if (const auto loop = nesting_.closed_loop(k, probe.loops)) return {What::loop_end, *loop};
    return {What::behind, index_[nesting_.block_end(k)]};
  }

  const ManualBlock& block_of(const Probe& probe) const { return program_.manual_blocks[probe.block]; }

  Program& program_;
  Nesting nesting_;
  autosync::Footprints footprints_;
  std::vector<bool> viewed_;                // regions of some probe's view
  std::vector<autosync::Hazards> written_;  // per engine, since only its own order is sure
  std::vector<std::uint32_t> index_;        // of each position in its engine's stream
  std::vector<ProbeMarks> marks_;
  std::multimap<std::uint32_t, std::size_t> waiting_;  // probes by the end of their loop
  std::vector<Footprint> accesses_;
};

}  // namespace

std::vector<ProbeMarks> mark_probes(Program& program) {
  if (program.probes.empty()) return {};
  return Marker(program).run();
}

}  // namespace ncemu
