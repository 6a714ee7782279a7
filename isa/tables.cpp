#include "isa/tables.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "isa/fault.h"

namespace ncemu {
namespace {

// Walks the text order and knows which set is resident, where that can be known.
class TableWalk {
 public:
  explicit TableWalk(const Program& program) : program_(&program) {}

  // Positions of the text order, ascending, before which a load is needed, and the set.
  std::vector<std::pair<std::uint32_t, TableSet>> loads() {
    std::array<std::size_t, engine_count> next{};
    for (std::uint32_t k = 0; k < program_->order.size(); ++k) {
      cross_boundaries(k);
      const Engine engine = program_->order[k];
      const Instruction& instruction = program_->stream(engine)[next[static_cast<std::size_t>(engine)]++];
      if (in_block_) continue;
      if (const auto* load = std::get_if<TableLoad>(&instruction.operands)) resident_ = load->table;
      if (const auto* activation = std::get_if<Activation>(&instruction.operands)) {
        const TableSet needed = table_set(activation->func);
        if (needed == TableSet::any || resident_ == needed) continue;
        loads_.push_back({k, needed});
        resident_ = needed;
      }
    }
    return std::move(loads_);
  }

 private:
  // A loop's body is entered from before it and from its own end; what follows it, from its end or, without a
  // single iteration, from before it. What a hand-written block leaves resident is its own business.
  void cross_boundaries(std::uint32_t k) {
    while (!open_loops_.empty() && open_loops_.back() <= k) {
      resident_.reset();
      open_loops_.pop_back();
    }
    for (; loop_ < program_->loops.size() && program_->loops[loop_].begin == k; ++loop_) {
      if (program_->loops[loop_].end == k) continue;
      open_loops_.push_back(program_->loops[loop_].end);
      resident_.reset();
    }
    in_block_ = false;
    for (; block_ < program_->manual_blocks.size(); ++block_) {
      const ManualBlock& block = program_->manual_blocks[block_];
      if (block.begin > k) return;
      if (block.end > k) {
        in_block_ = true;
        if (block.engine == Engine::scalar) resident_.reset();
        return;
      }
    }
  }

  const Program* program_;
  std::optional<TableSet> resident_;
  bool in_block_ = false;
  std::size_t loop_ = 0, block_ = 0;
  std::vector<std::uint32_t> open_loops_;  // their ends, innermost last
  std::vector<std::pair<std::uint32_t, TableSet>> loads_;
};

}  // namespace

void insert_table_loads(Program& program) {
  ensure(program.order.size() == program.instruction_count(), "the text order describes the streams");
  const auto loads = TableWalk(program).loads();
  if (loads.empty()) return;

  std::vector<Engine> order;
  order.reserve(program.order.size() + loads.size());
  std::vector<Instruction> stream;
  auto& old = program.stream(Engine::scalar);
  stream.reserve(old.size() + loads.size());
  std::size_t done = 0, next = 0;
  for (std::uint32_t k = 0; k < program.order.size(); ++k) {
    if (done < loads.size() && loads[done].first == k) {
      Instruction load;
      load.opcode = Opcode::act_table_load;
      load.site = old[next].site;
      load.operands = TableLoad{loads[done].second};
      stream.push_back(std::move(load));
      order.push_back(Engine::scalar);
      ++done;
    }
    order.push_back(program.order[k]);
    if (program.order[k] != Engine::scalar) continue;
    stream.push_back(std::move(old[next++]));
  }
  old = std::move(stream);
  program.order = std::move(order);

  // Position k moves behind the loads before it; one at k itself stays on k's side of a boundary.
  const auto shift = [&](std::uint32_t& k) {
    const auto before = std::lower_bound(loads.begin(), loads.end(), std::pair(k, TableSet::any));
    k += static_cast<std::uint32_t>(before - loads.begin());
  };
  for (Loop& loop : program.loops) {
    shift(loop.begin);
    shift(loop.end);
  }
  for (ManualBlock& block : program.manual_blocks) {
    shift(block.begin);
    shift(block.end);
  }
  for (Probe& probe : program.probes) shift(probe.at);
}

}  // namespace ncemu
