#include "emu/observe/data_flow.h"

#include <algorithm>

namespace ncemu {
namespace {

struct Row {
  Opcode opcode;
  Flow flow;
};
// Not listed: all.
// clang-format off
constexpr Row flows[] = {
    {Opcode::activation,               Flow::elements},
    {Opcode::tensor_copy,              Flow::elements},
    {Opcode::memset,                   Flow::elements},
    {Opcode::tensor_scalar,            Flow::elements},
    {Opcode::tensor_tensor,            Flow::elements},
    {Opcode::tensor_reduce,            Flow::elements},
    {Opcode::reciprocal,               Flow::elements},
    {Opcode::tensor_copy_predicated,   Flow::elements},
    {Opcode::scalar_tensor_tensor,     Flow::elements},
    {Opcode::dropout,                  Flow::elements},
    {Opcode::tensor_scalar_reduce,     Flow::elements},
    {Opcode::range_select,             Flow::elements},
    {Opcode::select_reduce,            Flow::elements},
    {Opcode::affine_select,            Flow::elements},
    {Opcode::dma_copy,                 Flow::elements},
    {Opcode::dma_compute,              Flow::elements},
    {Opcode::tensor_scalar_cumulative, Flow::lanes},
    {Opcode::tensor_tensor_scan,       Flow::lanes},
    {Opcode::bn_stats,                 Flow::lanes},
    {Opcode::bn_aggr,                  Flow::lanes},
    {Opcode::max8,                     Flow::lanes},
    {Opcode::find_index8,              Flow::lanes},
    {Opcode::match_replace8,           Flow::lanes},
    {Opcode::n_gather,                 Flow::lanes},
    {Opcode::sequence_bounds,          Flow::lanes},
};
// clang-format on

void take(Origin& to, Origin from) {
  if (to == sound) to = from;
}

// Lane by lane; the rule of Flow::elements where `whole` is false.
void flow_lanes(Flowing& destination, const Flowing& source, bool whole) {
  const std::size_t n = destination.elements(), m = source.elements();
  const bool blocks = !whole && n != 0 && m % n == 0;
  for (std::size_t lane = 0; lane < destination.lanes; ++lane) {
    const auto from = source.origins.begin() + static_cast<std::ptrdiff_t>(lane * m);
    const std::size_t length = blocks ? m / n : m;
    for (std::size_t i = 0; i < n; ++i) {
      const auto begin = from + static_cast<std::ptrdiff_t>(blocks ? i * length : 0);
      const auto end = begin + static_cast<std::ptrdiff_t>(length);
      const auto found = std::find_if(begin, end, [](Origin o) { return o != sound; });
      if (found != end) take(destination.origins[lane * n + i], *found);
    }
  }
}

ReduceCommand command_of(const Instruction& instruction) {
  if (const auto* a = std::get_if<Activation>(&instruction.operands)) return a->reduce_cmd;
  if (const auto* r = std::get_if<TensorScalarReduce>(&instruction.operands)) return r->reduce_cmd;
  if (const auto* c = std::get_if<TensorScalarCumulative>(&instruction.operands)) return c->reduce_cmd;
  if (const auto* r = std::get_if<RangeSelect>(&instruction.operands)) return r->reduce_cmd;
  if (const auto* s = std::get_if<SelectReduce>(&instruction.operands)) return s->reduce_cmd;
  return ReduceCommand::idle;
}

}  // namespace

Flow flow(Opcode opcode) {
  const auto found =
      std::find_if(std::begin(flows), std::end(flows), [&](const Row& row) { return row.opcode == opcode; });
  return found == std::end(flows) ? Flow::all : found->flow;
}

bool chosen_by_data(const Instruction& instruction, std::string_view operand) {
  if (const auto* gather = std::get_if<LocalGather>(&instruction.operands)) {
    return operand == "src" || (operand == "index" && gather->num_valid_indices != 0);
  }
  const Opcode opcode = instruction.opcode;
  if (opcode == Opcode::select_reduce) return operand == "on_true";
  return operand == "src" && (opcode == Opcode::n_gather || opcode == Opcode::range_select ||
                              opcode == Opcode::tensor_copy_predicated || opcode == Opcode::stream_shuffle);
}

Origin first_origin(const std::vector<Origin>& origins) {
  const auto found = std::find_if(origins.begin(), origins.end(), [](Origin o) { return o != sound; });
  return found == origins.end() ? sound : *found;
}

void flow_into(Flowing& destination, const Flowing& source, Flow how) {
  const Origin any = first_origin(source.origins);
  if (any == sound) return;
  if (how == Flow::elements && destination.origins.size() == source.origins.size()) {
    for (std::size_t i = 0; i < source.origins.size(); ++i) take(destination.origins[i], source.origins[i]);
  } else if (how != Flow::all && destination.lanes == source.lanes) {
    flow_lanes(destination, source, how == Flow::lanes);
  } else {
    for (Origin& o : destination.origins) take(o, any);
  }
}

void EngineOrigins::load(const LoadStationary& load, const Flowing& source) {
  const auto apart = [](int x, int nx, int y, int ny) { return x + nx <= y || y + ny <= x; };
  std::erase_if(stationaries_, [&](const Tile& t) {
    return !apart(t.position.row, t.size.row, load.tile_position.row, load.tile_size.row) &&
           !apart(t.position.column, t.size.column, load.tile_position.column, load.tile_size.column);
  });
  if (first_origin(source.origins) == sound) return;
  const std::size_t rows = load.double_row ? 2 : 1, columns = source.elements() / rows;
  Tile tile{load.tile_position, load.tile_size, std::vector<Origin>(columns)};
  for (std::size_t i = 0; i < source.origins.size(); ++i) take(tile.columns[i % columns], source.origins[i]);
  stationaries_.push_back(std::move(tile));
  any_ = true;
}

// Column m of the stationary operand makes lane m of the destination, column n of the moving one its column
// n.
void EngineOrigins::multiply(const Matmul& matmul, const Flowing& moving, Flowing& destination) const {
  const std::size_t columns = destination.elements();
  for (std::size_t i = 0; i < moving.origins.size(); ++i) {
    if (moving.origins[i] == sound) continue;
    for (std::size_t m = 0; m < destination.lanes; ++m)
      take(destination.origins[m * columns + i % columns], moving.origins[i]);
  }
  for (const Tile& tile : stationaries_) {
    if (tile.position != matmul.tile_position || tile.size != matmul.tile_size) continue;
    for (std::size_t m = 0; m < std::min(tile.columns.size(), destination.lanes); ++m) {
      for (std::size_t n = 0; n < columns; ++n) take(destination.origins[m * columns + n], tile.columns[m]);
    }
  }
}

void EngineOrigins::reduce(PerLane& accumulators, ReduceCommand command, int first, const Flowing& values) {
  for (std::size_t lane = 0; lane < values.lanes; ++lane) {
    Origin& accumulator = accumulators[static_cast<std::size_t>(first) + lane];
    if (command != ReduceCommand::reduce) accumulator = sound;
    if (command == ReduceCommand::reset) continue;
    for (std::size_t i = 0; i < values.elements(); ++i)
      take(accumulator, values.origins[lane * values.elements() + i]);
    any_ = any_ || accumulator != sound;
  }
}

void EngineOrigins::pass(const Instruction& instruction, Engine engine, const Flowing& source,
                         Flowing& destination) {
  PerLane& accumulators = engine == Engine::vector ? vector_ : scalar_;
  if (const auto* load_operands = std::get_if<LoadStationary>(&instruction.operands)) {
    load(*load_operands, source);
  } else if (const auto* matmul = std::get_if<Matmul>(&instruction.operands)) {
    multiply(*matmul, source, destination);
  } else if (instruction.opcode == Opcode::read_accumulator) {
    const auto& dst = std::get<Destination>(instruction.operands).dst;
    for (std::size_t lane = 0; lane < destination.origins.size(); ++lane)
      take(destination.origins[lane], accumulators[dst.partition + lane]);
  } else if (instruction.opcode == Opcode::match_value_load) {
    match_ = first_origin(source.origins);
  } else if (instruction.opcode == Opcode::find_index8 || instruction.opcode == Opcode::match_replace8) {
    for (Origin& o : destination.origins) take(o, match_);
  } else if (instruction.opcode == Opcode::set_rng_seed || instruction.opcode == Opcode::rand_set_state) {
    random_ = first_origin(source.origins);
  } else if (instruction.opcode == Opcode::rng || instruction.opcode == Opcode::dropout ||
             instruction.opcode == Opcode::rand_get_state) {
    for (Origin& o : destination.origins) take(o, random_);
  }
  any_ = any_ || match_ != sound || random_ != sound;
  const ReduceCommand command = command_of(instruction);
  if (command != ReduceCommand::idle) {
    for_each_field(instruction.operands, [&](std::string_view name, const auto& field, Role) {
      if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AccessPattern>) {
        if (name == "dst") reduce(accumulators, command, field.partition, destination);
      }
    });
  }
}

}  // namespace ncemu
