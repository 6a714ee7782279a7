#include "tools/python/module/tracer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "isa/fault.h"

namespace ncemu::python {
namespace py = pybind11;
namespace {

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Fault(FaultKind::input, "", text, std::forward<Args>(args)...);
}

// Keywords of emit() that are not operands; interned, as the keywords of calls are.
struct Keywords {
  py::object engine = intern("engine"), file = intern("file"), line = intern("line"), site = intern("site"),
             wait = intern("wait"), signal = intern("signal");

  static py::object intern(const char* text) {
    return py::reinterpret_steal<py::object>(PyUnicode_InternFromString(text));
  }
};
const Keywords& keywords() {
  static const auto& all = *new Keywords;  // the interpreter may be gone before this library is
  return all;
}

std::uint32_t small(std::int64_t value, const char* what) {
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) fail("{} cannot be {}", what, value);
  return static_cast<std::uint32_t>(value);
}

// The places that tiles of one name take, so that reports speak of them by name.
using PlaceKey = std::tuple<std::string_view, std::uint32_t, Space, DType, std::uint32_t, std::uint32_t,
                            std::vector<std::int64_t>>;

}  // namespace

Tracer::Tracer(MachineConfig machine, std::string name)
    : machine_(std::move(machine)), builder_(machine_.target, std::move(name)) {}

Handle Tracer::tensor(std::string name, TensorKind kind, std::vector<std::int64_t> shape, DType dtype) {
  const View view = builder_.tensor(name, kind, dtype, shape);
  const auto number = static_cast<std::uint32_t>(program_().tensors.size() - 1);
  return {view, std::make_shared<const Storage>(
                    Storage{std::move(name), Space::hbm, dtype, std::move(shape), number, this})};
}

Handle Tracer::constant(std::string name, DType dtype, std::vector<std::int64_t> shape,
                        std::vector<std::byte> data) {
  const View view = builder_.constant(name, dtype, shape, std::move(data));
  const auto number = static_cast<std::uint32_t>(program_().tensors.size() - 1);
  return {view, std::make_shared<const Storage>(
                    Storage{std::move(name), Space::hbm, dtype, std::move(shape), number, this})};
}

Handle Tracer::tile(std::string name, std::vector<std::int64_t> shape, DType dtype, Space space,
                    std::optional<std::uint32_t> partition, std::optional<std::uint32_t> offset) {
  if (space == Space::hbm) fail("tile '{}' must be in sbuf or psum; tensor() makes memory in HBM", name);
  const Target& target = builder_.target();
  if (shape.empty()) fail("tile '{}' needs a partition dimension", name);
  if (shape[0] > target.partitions)
    fail("tile '{}' has {} partitions; there are {}", name, shape[0], target.partitions);
  const View view = View::of_place(space, no_place, dtype, shape, 0);
  const auto number = static_cast<std::uint32_t>(tiles_.size());
  auto storage =
      std::make_shared<const Storage>(Storage{std::move(name), space, dtype, std::move(shape), number, this});
  const std::int64_t bytes = storage->bytes();
  const std::uint32_t capacity =
      space == Space::sbuf ? target.sbuf_partition_bytes : target.psum_partition_bytes();
  if (bytes > capacity)
    fail("tile '{}' needs {} bytes per partition; {} has {}", storage->name, bytes, ncemu::name(space),
         capacity);
  TracedTile& tile = tiles_.emplace_back();
  tile.name = storage->name;
  tile.space = space;
  tile.dtype = dtype;
  tile.shape = storage->shape;
  tile.bytes = static_cast<std::uint32_t>(bytes);
  tile.loop = open_loops_.empty() ? no_index : open_loops_.back();
  tile.site = builder_.site();
  if (partition || offset) {
    tile.fixed = true;
    tile.partition = partition.value_or(0);
    tile.offset = offset.value_or(0);
  }
  return {view, std::move(storage)};
}

void Tracer::place(const Handle& view, std::uint32_t partition, std::uint32_t offset) {
  if (view.storage->builder != this || !view.on_chip())
    fail("place() takes a tile of this builder, found '{}'", view.storage->name);
  TracedTile& tile = tiles_[view.storage->number];
  tile.fixed = true;
  tile.partition = partition;
  tile.offset = offset;
}

std::uint32_t Tracer::site(const std::string& file, std::uint32_t line, std::uint32_t column,
                           std::uint32_t parent) {
  const auto number = file_numbers_.try_emplace(file, static_cast<std::uint32_t>(file_numbers_.size()));
  const auto [found, is_new] = sites_.try_emplace({number.first->second, line, column, parent}, 0);
  if (is_new) {
    const std::uint32_t before = builder_.site();
    builder_.at(file, line, column, parent);
    found->second = builder_.site();
    builder_.at(before);
  }
  return found->second;
}

std::uint32_t Tracer::at(std::uint32_t site) {
  if (site >= program_().sites.size()) fail("there is no source place {}", site);
  builder_.at(site);
  return site;
}

Tracer::Extras Tracer::read_extras(const py::dict& operands) {
  const Keywords& names = keywords();
  Extras extras;
  const auto take = [&](const py::object& name) -> PyObject* {
    PyObject* value = PyDict_GetItem(operands.ptr(), name.ptr());  // borrowed
    if (value != nullptr) ++extras.used;
    return value == Py_None ? nullptr : value;
  };
  if (PyObject* engine = take(names.engine)) {
    const std::string_view word = text_of(engine, "engine");
    extras.engine = find<Engine>(word);
    if (!extras.engine) fail("there is no engine '{}': tensor, vector, scalar, gpsimd, sync", word);
  }
  if (PyObject* wait = take(names.wait)) extras.wait = read_wait(wait);
  if (PyObject* signal = take(names.signal)) extras.signal = read_signal(signal);
  PyObject* const site = take(names.site);
  PyObject* const file = take(names.file);
  PyObject* const line = take(names.line);
  if (site != nullptr) {
    at(small(integer_of(site, "site"), "site"));
  } else if (file != nullptr) {
    at(this->site(std::string(text_of(file, "file")),
                  line == nullptr ? 0 : small(integer_of(line, "line"), "line"), 0, no_index));
  }
  return extras;
}

void Tracer::check_all_used(const InstructionInfo& row, const py::dict& operands, Py_ssize_t used) const {
  if (used == PyDict_Size(operands.ptr())) return;
  std::vector<std::string_view> known = {"engine", "file", "line", "site", "wait", "signal"};
  for (const py::object& name : field_names(row.opcode).names) known.push_back(text_of(name, ""));
  for (const auto& [key, value] : operands) {
    const std::string_view name = text_of(key, "an operand's name");
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = did_you_mean(name, known);
    fail("{} has no operand '{}'{}", row.mnemonic, name,
         near.empty() ? std::string() : fmt::format(", did you mean '{}'?", near));
  }
  fail("{}: an operand is given that it does not take here", row.mnemonic);
}

Instruction& Tracer::instruction(const Where& where) {
  return builder_.program().stream(where.engine)[where.index];
}

std::uint32_t Tracer::emit(std::string_view mnemonic, py::dict operands) {
  const InstructionInfo* row = find_instruction(mnemonic);
  const Extras extras = read_extras(operands);
  if (row == nullptr) {
    std::vector<std::string_view> known;
    for (const InstructionInfo& i : all_instructions()) known.push_back(i.mnemonic);
    const std::string_view near = did_you_mean(mnemonic, known);
    fail("there is no instruction '{}'{}", mnemonic,
         near.empty() ? std::string() : fmt::format(", did you mean '{}'?", near));
  }
  Py_ssize_t used = extras.used;
  TileNumbers tiles;
  // Nothing of an instruction stays behind when one of its operands cannot be.
  Instruction& made = row->is_dma() ? emit_transfer(*row, operands, extras, used, tiles)
                                    : emit_operands(*row, operands, extras, used, tiles);
  if (extras.wait) made.wait = *extras.wait;
  if (extras.signal) made.update = *extras.signal;
  if ((extras.wait || extras.signal) && engine_blocks_ == 0 && hand_site_ == no_index)
    hand_site_ = builder_.site();
  const Engine engine = program_().order.back();
  where_.push_back({engine, static_cast<std::uint32_t>(program_().stream(engine).size() - 1),
                    static_cast<std::uint32_t>(tile_numbers_.size())});
  tile_numbers_.insert(tile_numbers_.end(), tiles.begin(), tiles.end());
  return position() - 1;
}

Instruction& Tracer::emit_operands(const InstructionInfo& row, const py::dict& operands, const Extras& extras,
                                   Py_ssize_t& used, TileNumbers& tiles) {
  Operands made = default_operands(row.opcode);
  OperandReader reader(row, operands, this);
  std::visit([&](auto& form) { std::decay_t<decltype(form)>::fields(form, reader); }, made);
  used += reader.used();
  check_all_used(row, operands, used);
  tiles = reader.tiles();
  return builder_.emit(row.opcode, std::move(made), extras.engine);
}

void Tracer::change(std::uint32_t position, py::dict operands) {
  if (position >= where_.size())
    fail("there is no instruction {}; {} have been emitted", position, where_.size());
  Where& where = where_[position];
  Instruction& changed = instruction(where);
  const InstructionInfo& row = info(changed.opcode);
  // The reader takes as many as the instruction has.
  const auto old = std::span(tile_numbers_).subspan(where.first_tile);
  Operands made = changed.operands;
  OperandReader reader(row, operands, this, old, false);
  std::visit([&](auto& form) { std::decay_t<decltype(form)>::fields(form, reader); }, made);
  check_all_used(row, operands, reader.used());
  if (row.is_dma()) check_changed_transfer(row, changed.operands, made);
  changed.operands = std::move(made);
  where.first_tile = static_cast<std::uint32_t>(tile_numbers_.size());
  tile_numbers_.insert(tile_numbers_.end(), reader.tiles().begin(), reader.tiles().end());
}

Register Tracer::open_loop(py::handle start, py::handle stop, std::int32_t step) {
  const auto bound = [](py::handle value, const char* what) -> IntOperand {
    if (py::isinstance<Register>(value)) return value.cast<Register>();
    const std::int64_t n = integer_of(value, what);
    if (n != static_cast<std::int32_t>(n)) fail("{} of a loop fits 32 bits, found {}", what, n);
    return static_cast<std::int32_t>(n);
  };
  const Register counter = builder_.open_loop(bound(start, "the start"), bound(stop, "the end"), step);
  open_loops_.push_back(static_cast<std::uint32_t>(program_().loops.size() - 1));
  return counter;
}

void Tracer::close_loop() {
  if (open_loops_.empty()) fail("no loop is open");
  builder_.close_loop();
  open_loops_.pop_back();
}

void Tracer::open_block(Engine engine) {
  builder_.open_engine(engine);
  ++engine_blocks_;
}

void Tracer::close_block() {
  if (engine_blocks_ == 0) fail("no engine block is open");
  builder_.close_engine();
  --engine_blocks_;
}

Register Tracer::reg(std::int64_t number) const {
  if (number < 0 || number >= builder_.target().registers)
    fail("there is no register {}: 0 to {}", number, builder_.target().registers - 1);
  return Register{static_cast<std::uint8_t>(number)};
}

std::uint8_t Tracer::semaphore(const std::string& name) {
  const std::size_t number = static_cast<std::size_t>(sync_semaphores::first_user) + semaphores_;
  if (number >= builder_.target().semaphores)
    fail("semaphore '{}': all {} are taken", name, builder_.target().semaphores);
  ++semaphores_;
  builder_.program().semaphores.push_back({name, static_cast<std::uint8_t>(number)});
  return static_cast<std::uint8_t>(number);
}

void Tracer::print(std::string label, const Handle& view) {
  if (view.storage->builder != this) fail("'{}' belongs to another builder", view.storage->name);
  builder_.print(std::move(label), view.view);
  if (view.on_chip()) printed_.push_back({program_().probes.size() - 1, view.storage->number});
}

// First and last use of every tile.
void Tracer::note_uses() {
  for (TracedTile& tile : tiles_) {
    tile.first = never;
    tile.last = 0;
  }
  const auto use = [&](std::uint32_t tile, std::uint32_t position) {
    tiles_[tile].first = std::min(tiles_[tile].first, position);
    tiles_[tile].last = std::max(tiles_[tile].last, position);
  };
  for (std::uint32_t position = 0; position < where_.size(); ++position) {
    std::uint32_t next = where_[position].first_tile;
    for_each_on_chip(instruction(where_[position]).operands,
                     [&](auto&) { use(tile_numbers_[next++], position); });
  }
  // A value that is printed must still be there when the run comes to the point.
  for (const PrintedTile& printed : printed_) {
    const std::uint32_t at = program_().probes[printed.probe].at;
    if (tiles_[printed.tile].used()) use(printed.tile, at);
  }
}

std::vector<TracedTile> Tracer::lifetimes() {
  note_uses();
  extend_through_loops(tiles_, program_().loops);
  return tiles_;
}

// Addresses for operands, and places for reports. Declarations of one name at one address are one place.
void Tracer::place_operands(Program& program) {
  std::map<PlaceKey, PlaceId> known;
  std::vector<PlaceId> place_of(tiles_.size(), no_place);
  for (std::size_t t = 0; t < tiles_.size(); ++t) {
    const TracedTile& tile = tiles_[t];
    if (!tile.used()) continue;
    const PlaceKey key{tile.name, tile.site, tile.space, tile.dtype, tile.partition, tile.offset, tile.shape};
    const auto found = known.find(key);
    if (found != known.end()) {
      place_of[t] = found->second;
      continue;
    }
    // Reports say addresses instead of names for the rest of a program with more places than there are
    // numbers.
    if (program.places.size() >= no_place) continue;
    const auto place = static_cast<PlaceId>(program.places.size());
    known.emplace(key, place);
    place_of[t] = place;
    Tile made;
    made.name = tile.name;
    made.space = tile.space;
    made.dtype = tile.dtype;
    made.shape = tile.shape;
    made.stride = made.bytes = tile.bytes;
    made.first_place = place;
    made.site = tile.site;
    program.scopes[0].entries.push_back({false, static_cast<std::uint32_t>(program.tiles.size())});
    program.places.push_back({static_cast<std::uint32_t>(program.tiles.size()),
                              static_cast<std::uint8_t>(tile.partition), tile.offset});
    program.tiles.push_back(std::move(made));
  }
  const auto move = [&](auto& operand, std::uint32_t number) {
    const TracedTile& tile = tiles_[number];
    operand.place = place_of[number];
    operand.offset += tile.offset;
    operand.partition = static_cast<std::uint8_t>(operand.partition + tile.partition);
  };
  for (const Where& where : where_) {
    std::uint32_t next = where.first_tile;
    for_each_on_chip(program.stream(where.engine)[where.index].operands,
                     [&](auto& operand) { move(operand, tile_numbers_[next++]); });
  }
  for (const PrintedTile& printed : printed_)
    move(std::get<AccessPattern>(program.probes[printed.probe].view), printed.tile);
}

KernelPointer Tracer::finish(bool automatic_sync, bool automatic_tables, AllocationOrder order) {
  if (!open_loops_.empty()) fail("a loop is still open at the end");
  if (engine_blocks_ != 0) fail("an engine block is still open at the end");
  if (automatic_sync && hand_site_ != no_index) {
    throw Fault(
        FaultKind::input, ncemu::describe_site(program_(), hand_site_),
        "a wait or a signal outside a block; sync=\"auto\" adds waits and signals itself, sync=\"manual\" "
        "leaves all of them to you");
  }
  auto made = std::make_shared<RunnableKernel>();
  command::Kernel& kernel = made->kernel;
  made->name = program_().name;
  kernel.machine = machine_;
  note_uses();
  extend_through_loops(tiles_, program_().loops);
  allocate(tiles_, program_(), order, kernel.diagnostics);
  throw_errors(kernel.diagnostics);
  place_operands(builder_.program());
  Builder::Finish options;
  options.placed = true;
  options.automatic_sync = automatic_sync;
  options.automatic_tables = automatic_tables;
  kernel.program = builder_.finish(kernel.diagnostics, options, &kernel.sync);
  tiles_.clear();
  where_.clear();
  tile_numbers_.clear();
  printed_.clear();
  sites_.clear();
  file_numbers_.clear();
  semaphores_ = 0;
  hand_site_ = no_index;
  throw_errors(kernel.diagnostics);
  take_overlaps(kernel);
  return made;
}

}  // namespace ncemu::python
