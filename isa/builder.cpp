#include "isa/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isa/check.h"
#include "isa/fault.h"
#include "isa/place.h"
#include "isa/probes.h"
#include "isa/tables.h"

namespace ncemu {
namespace {

constexpr std::uint32_t sbuf_alignment = 32;  // bytes (design: tiles)

std::uint32_t round_up(std::uint64_t value, std::uint32_t multiple, const std::string& name) {
  const std::uint64_t rounded = (value + multiple - 1) / multiple * multiple;
  if (rounded > std::numeric_limits<std::uint32_t>::max()) {
    throw Fault(FaultKind::input, "", "tile '{}' needs {} bytes per partition; no machine has that many",
                name, value);
  }
  return static_cast<std::uint32_t>(rounded);
}

// From one element of a tile's array to the next: SBUF blocks are aligned to 32 bytes; a PSUM block either
// shares a bank evenly with its neighbours or takes whole banks, so that none straddles a bank.
std::uint32_t array_stride(const TileSpec& spec, std::uint64_t bytes, std::uint32_t bank_bytes) {
  if (spec.space == Space::sbuf) return round_up(bytes, sbuf_alignment, spec.name);
  if (bytes > bank_bytes) return round_up(bytes, bank_bytes, spec.name);
  std::uint32_t stride = bank_bytes;
  while (stride / 2 >= bytes) stride /= 2;
  return stride;
}

bool touches_psum(const Operands& operands) {
  bool found = false;
  Instruction instruction;
  instruction.operands = operands;
  for_each_access(instruction, [&](const auto& pattern, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      found = found || pattern.space == Space::psum;
    }
  });
  return found;
}

std::string engine_list(EngineSet engines) {
  std::string text;
  for (const Engine e : all_engines) {
    if (engines.contains(e)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name(e));
  }
  return text;
}

}  // namespace

Builder::Builder(Target target, std::string name) : open_{LiveScope{}}, scope_index_(1) {
  program_.target = std::move(target);
  program_.name = std::move(name);
}

View Builder::tensor(std::string name, TensorKind kind, DType dtype, std::vector<std::int64_t> shape) {
  const auto same = [&](const Tensor& t) { return t.name == name; };
  if (std::any_of(program_.tensors.begin(), program_.tensors.end(), same)) {
    throw Fault(FaultKind::input, "", "a tensor named '{}' exists already", name);
  }
  if (program_.tensors.size() >= 65535)
    throw Fault(FaultKind::input, "", "a program has at most 65,535 tensors");
  const auto number = static_cast<std::uint16_t>(program_.tensors.size());
  const View view = View::of_tensor(number, dtype, shape);
  program_.tensors.push_back({std::move(name), kind, dtype, std::move(shape), {}, site_});
  return view;
}

View Builder::constant(std::string name, DType dtype, std::vector<std::int64_t> shape,
                       std::vector<std::byte> data) {
  const View view = tensor(std::move(name), TensorKind::constant, dtype, std::move(shape));
  Tensor& tensor = program_.tensors.back();
  if (static_cast<std::int64_t>(data.size()) != tensor.bytes()) {
    throw Fault(FaultKind::input, "", "constant '{}' needs {} bytes, found {}", tensor.name, tensor.bytes(),
                data.size());
  }
  tensor.data = std::move(data);
  return view;
}

TileRef Builder::tile(const TileSpec& spec) {
  ensure(spec.space != Space::hbm, "tiles are on chip");
  if (spec.shape.empty())
    throw Fault(FaultKind::input, "", "tile '{}' needs a partition dimension", spec.name);
  if (spec.shape[0] < 1 || spec.shape[0] > program_.target.partitions) {
    throw Fault(FaultKind::input, "", "tile '{}' has {} partitions; there are {}", spec.name, spec.shape[0],
                program_.target.partitions);
  }
  if (spec.buffers < 1) throw Fault(FaultKind::input, "", "tile '{}' needs at least one buffer", spec.name);
  // Validates the shapes and bounds the products below.
  View::of_place(spec.space, 0, spec.dtype, spec.shape, 0);
  View::of_tensor(0, spec.dtype, spec.array);
  std::uint64_t bytes = static_cast<std::uint64_t>(size_of(spec.dtype));
  for (std::size_t i = 1; i < spec.shape.size(); ++i) bytes *= static_cast<std::uint64_t>(spec.shape[i]);
  const std::uint32_t stride = array_stride(spec, bytes, program_.target.psum_bank_bytes);
  std::uint64_t total = spec.array.empty() ? bytes : stride;
  for (const std::int64_t d : spec.array) total *= static_cast<std::uint64_t>(d);
  const std::uint32_t place_bytes =
      spec.space == Space::sbuf ? round_up(total, sbuf_alignment, spec.name) : round_up(total, 1, spec.name);

  LiveScope& block = open_.back();
  ScopeIndex& index = scope_index_[block.scope];
  auto [found, is_new] =
      index.tiles.try_emplace(spec.name, static_cast<std::uint32_t>(program_.tiles.size()));
  const std::uint32_t number = found->second;
  if (is_new) {
    if (program_.places.size() + spec.buffers > no_place) {
      throw Fault(FaultKind::input, "", "a program has at most {} tile places", no_place);
    }
    Tile tile;
    tile.name = spec.name;
    tile.space = spec.space;
    tile.buffers = spec.buffers;
    tile.scope = block.scope;
    tile.first_place = static_cast<PlaceId>(program_.places.size());
    tile.site = site_;
    for (std::uint32_t b = 0; b < spec.buffers; ++b) program_.places.push_back({number, 0, 0});
    program_.tiles.push_back(std::move(tile));
    executions_.push_back(0);
    auto& entries = program_.scopes[block.scope].entries;
    tile_positions_.push_back(static_cast<std::uint32_t>(entries.size()));
    entries.push_back({false, number});
  } else {
    if (std::find(block.tiles.begin(), block.tiles.end(), number) != block.tiles.end()) {
      throw Fault(FaultKind::input, "", "tile '{}' exists already in this block", spec.name);
    }
    if (program_.tiles[number].buffers != spec.buffers || program_.tiles[number].space != spec.space) {
      throw Fault(FaultKind::input, "",
                  "tile '{}' was declared before with another memory or number of buffers", spec.name);
    }
  }
  // A declaration may be executed with other sizes; its places are as large as the largest.
  Tile& tile = program_.tiles[number];
  tile.dtype = spec.dtype;
  tile.array = spec.array;
  tile.stride = stride;
  tile.bytes = std::max(tile.bytes, place_bytes);
  tile.fixed_partition = spec.partition;
  tile.fixed_offset = spec.offset;
  if (tile.shape.empty() || spec.shape[0] >= tile.shape[0]) tile.shape = spec.shape;
  block.tiles.push_back(number);
  const std::uint32_t slot = executions_[number]++ % spec.buffers;
  return {number, static_cast<PlaceId>(tile.first_place + slot), spec.dtype, stride, spec.shape, spec.array};
}

View Builder::view(const TileRef& ref, std::span<const std::int64_t> at) const {
  if (at.size() != ref.array.size()) {
    throw Fault(FaultKind::input, "", "tile '{}' is an array of {} dimensions, {} given",
                program_.tiles[ref.tile].name, ref.array.size(), at.size());
  }
  std::int64_t element = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= ref.array[i]) {
      throw Fault(FaultKind::input, "", "element {} of array '{}', dimension {} has {}", at[i],
                  program_.tiles[ref.tile].name, i, ref.array[i]);
    }
    element = element * ref.array[i] + at[i];
  }
  return View::of_place(program_.tiles[ref.tile].space, ref.place, ref.dtype, ref.shape,
                        element * ref.stride);
}

View Builder::view(const TileRef& ref, std::span<const std::int64_t> at, int dimension, Register reg,
                   std::int64_t scale, std::int64_t base) const {
  // The array dimension as an outermost free dimension whose step is the array's stride.
  std::int64_t step = ref.stride / static_cast<std::uint32_t>(size_of(ref.dtype));
  for (std::size_t i = ref.array.size(); i-- > static_cast<std::size_t>(dimension) + 1;) step *= ref.array[i];
  return view(ref, at).indexed_by(reg, scale * step, base * step);
}

View Builder::sbuf(std::string name, DType dtype, std::vector<std::int64_t> shape, std::uint32_t buffers) {
  TileSpec spec;
  spec.name = std::move(name);
  spec.dtype = dtype;
  spec.shape = std::move(shape);
  spec.buffers = buffers;
  return view(tile(spec));
}

View Builder::psum(std::string name, DType dtype, std::vector<std::int64_t> shape, std::uint32_t buffers) {
  TileSpec spec;
  spec.name = std::move(name);
  spec.space = Space::psum;
  spec.dtype = dtype;
  spec.shape = std::move(shape);
  spec.buffers = buffers;
  return view(tile(spec));
}

void Builder::open_scope(std::string_view key) {
  const std::uint32_t parent = open_.back().scope;
  auto [found, is_new] = scope_index_[parent].scopes.try_emplace(
      std::string(key), static_cast<std::uint32_t>(program_.scopes.size()));
  const std::uint32_t scope = found->second;
  if (is_new) {
    auto& entries = program_.scopes[parent].entries;
    ScopeIndex index;
    index.position = static_cast<std::uint32_t>(entries.size());
    entries.push_back({true, scope});
    program_.scopes.push_back({parent, {}});
    scope_index_.push_back(std::move(index));
  } else {
    keep_live_tiles_before(scope);
  }
  open_.push_back({scope, {}});
}

// The static tree lists entries in the order they were first met. When an iteration meets an old block
// while a younger tile of an enclosing block is live, that tile must come before the block.
void Builder::keep_live_tiles_before(std::uint32_t scope) {
  for (std::size_t level = open_.size(); level-- > 0;) {
    const std::uint32_t parent = open_[level].scope;
    auto& entries = program_.scopes[parent].entries;
    for (const std::uint32_t tile : open_[level].tiles) {
      const std::uint32_t from = tile_positions_[tile];
      const std::uint32_t to = scope_index_[scope].position;
      if (from < to) continue;
      std::rotate(entries.begin() + to, entries.begin() + from, entries.begin() + from + 1);
      for (std::uint32_t i = to; i <= from; ++i) {
        (entries[i].is_scope ? scope_index_[entries[i].id].position : tile_positions_[entries[i].id]) = i;
      }
    }
    scope = parent;
  }
}

void Builder::close_scope() {
  ensure(open_.size() > 1, "every block that closes was opened");
  open_.pop_back();
}

void Builder::at(std::string_view file, std::uint32_t line, std::uint32_t column, std::uint32_t parent) {
  auto found = file_index_.find(file);
  if (found == file_index_.end()) {
    found = file_index_.emplace(std::string(file), static_cast<std::uint32_t>(program_.files.size())).first;
    program_.files.emplace_back(file);
  }
  const Site site{found->second, line, column, parent};
  if (program_.sites[site_] == site) return;
  site_ = static_cast<std::uint32_t>(program_.sites.size());
  program_.sites.push_back(site);
}

Engine Builder::default_engine(Opcode opcode, const Operands& operands) const {
  const InstructionInfo& row = info(opcode);
  const auto order = row.order(program_.target.generation);
  if (order.empty()) {
    throw Fault(FaultKind::input, "", "{} is not available on NeuronCore-v{}", row.mnemonic,
                program_.target.generation);
  }
  if (engine_block_open_) {
    const Engine engine = program_.manual_blocks.back().engine;
    if (row.engines(program_.target.generation).contains(engine)) return engine;
    throw Fault(FaultKind::input, "", "{} does not run on {}, whose block this is; it runs on {}",
                row.mnemonic, name(engine), engine_list(row.engines(program_.target.generation)));
  }
  const bool psum = touches_psum(operands);
  for (const Engine e : order) {
    if (!(psum && e == Engine::gpsimd)) return e;
  }
  return order.front();
}

Instruction& Builder::emit(Opcode opcode, Operands operands, std::optional<Engine> engine) {
  const InstructionInfo& row = info(opcode);
  if (!engine) {
    engine = default_engine(opcode, operands);
  } else if (!row.engines(program_.target.generation).contains(*engine)) {
    throw Fault(FaultKind::input, "", "{} does not run on {} of NeuronCore-v{}; it runs on {}", row.mnemonic,
                name(*engine), program_.target.generation,
                engine_list(row.engines(program_.target.generation)));
  }
  if (engine_block_open_ && *engine != program_.manual_blocks.back().engine) {
    throw Fault(FaultKind::input, "", "{} on {} inside the block of {}", row.mnemonic, name(*engine),
                name(program_.manual_blocks.back().engine));
  }
  auto& stream = program_.stream(*engine);
  Instruction& instruction = stream.emplace_back();
  instruction.opcode = opcode;
  instruction.site = site_;
  instruction.operands = std::move(operands);
  program_.order.push_back(*engine);
  return instruction;
}

Register Builder::open_loop(IntOperand start, IntOperand stop, std::int32_t step) {
  if (step < 1) throw Fault(FaultKind::input, "", "the step of a loop must be at least 1, found {}", step);
  if (engine_block_open_)
    throw Fault(FaultKind::input, "", "a loop inside an engine block is written with branches");
  // Counters are taken from the top, so that registers named by hand stay free from the bottom.
  const std::size_t depth = open_loops_.size();
  if (depth + 1 >= program_.target.registers) throw Fault(FaultKind::input, "", "loops are nested too deep");
  Loop loop;
  loop.counter.number = static_cast<std::uint8_t>(program_.target.registers - 1 - depth);
  loop.start = start;
  loop.stop = stop;
  loop.step = step;
  loop.begin = static_cast<std::uint32_t>(program_.order.size());
  loop.site = site_;
  open_loops_.push_back(static_cast<std::uint32_t>(program_.loops.size()));
  program_.loops.push_back(loop);
  return loop.counter;
}

void Builder::close_loop() {
  ensure(!open_loops_.empty(), "every loop that closes was opened");
  program_.loops[open_loops_.back()].end = static_cast<std::uint32_t>(program_.order.size());
  open_loops_.pop_back();
}

void Builder::open_engine(Engine engine) {
  if (engine_block_open_) throw Fault(FaultKind::input, "", "engine blocks cannot be nested");
  const auto position = static_cast<std::uint32_t>(program_.order.size());
  program_.manual_blocks.push_back({engine, position, position, site_});
  engine_block_open_ = true;
}

void Builder::close_engine() {
  ensure(engine_block_open_, "every engine block that closes was opened");
  program_.manual_blocks.back().end = static_cast<std::uint32_t>(program_.order.size());
  engine_block_open_ = false;
}

void Builder::print(std::string label, const View& view) {
  Probe probe;
  probe.label = std::move(label);
  probe.view = view.memory();
  probe.site = site_;
  probe.at = static_cast<std::uint32_t>(program_.order.size());
  probe.loops.assign(open_loops_.begin(), open_loops_.end());
  if (engine_block_open_) probe.block = static_cast<std::uint32_t>(program_.manual_blocks.size() - 1);
  program_.probes.push_back(std::move(probe));
}

// Streams written by hand are final, but for branch targets that count from their block.
void Builder::lower_for_hand_synchronisation() {
  if (!program_.loops.empty()) {
    throw Fault(FaultKind::input, describe_site(program_, program_.loops.front().site),
                "a run-time loop needs `.sync auto`; write branches in engine blocks instead");
  }
  const std::vector<ProbeMarks> marks = mark_probes(program_);
  std::array<std::uint32_t, engine_count> next{};
  std::size_t block = 0;
  std::uint32_t base = 0;
  for (std::uint32_t k = 0; k < program_.order.size(); ++k) {
    const Engine engine = program_.order[k];
    while (block < program_.manual_blocks.size() && program_.manual_blocks[block].end <= k) ++block;
    const bool inside = block < program_.manual_blocks.size() && program_.manual_blocks[block].begin <= k;
    std::uint32_t& index = next[static_cast<std::size_t>(engine)];
    if (inside && program_.manual_blocks[block].begin == k) base = index;
    auto* branch = std::get_if<CompareBranch>(&program_.stream(engine)[index].operands);
    if (inside && branch != nullptr) branch->target.index += base;
    ++index;
  }
  set_probes(program_, marks, [](const ProbeMark& mark, Engine) {
    return mark.what == ProbeMark::What::behind ? mark.index + 1 : mark.index;
  });
  program_.order.clear();
  program_.manual_blocks.clear();
  program_.synchronised = true;
}

Program Builder::finish(Diagnostics& diagnostics, const Finish& options, SyncReport* report) {
  ensure(open_.size() == 1 && open_loops_.empty() && !engine_block_open_, "every block is closed at the end");
  if (options.automatic_tables) insert_table_loads(program_);
  if (!options.placed) place(program_, diagnostics);
  check_program(program_, diagnostics);
  if (!diagnostics.has_errors() && options.lower) {
    if (options.automatic_sync) {
      SyncReport done = synchronise(program_, options.sync);
      if (report != nullptr) *report = std::move(done);
    } else {
      lower_for_hand_synchronisation();
    }
  }
  Program result = std::move(program_);
  *this = Builder(result.target, result.name);
  return result;
}

Program Builder::finish() {
  Diagnostics diagnostics;
  Program program = finish(diagnostics, Finish{});
  if (diagnostics.has_errors()) throw Fault(FaultKind::input, program.name, "{}", diagnostics.text());
  return program;
}

}  // namespace ncemu
