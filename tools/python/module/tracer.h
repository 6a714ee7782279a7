#pragma once

// Builds a program call by call for Python: isa/builder.h with tiles that live as long as they are used, and
// instructions that can still be changed.

#include <pybind11/pybind11.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/builder.h"
#include "tools/python/module/handle.h"
#include "tools/python/module/kernel.h"
#include "tools/python/module/lifetimes.h"
#include "tools/python/module/operands.h"

namespace ncemu::python {

class Tracer {
 public:
  Tracer(MachineConfig machine, std::string name);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  const MachineConfig& machine() const { return machine_; }

  Handle tensor(std::string name, TensorKind kind, std::vector<std::int64_t> shape, DType dtype);
  Handle constant(std::string name, DType dtype, std::vector<std::int64_t> shape,
                  std::vector<std::byte> data);
  Handle tile(std::string name, std::vector<std::int64_t> shape, DType dtype, Space space,
              std::optional<std::uint32_t> partition, std::optional<std::uint32_t> offset);
  void place(const Handle& tile, std::uint32_t partition, std::uint32_t offset);

  // The number of a source place, made if it is new.
  std::uint32_t site(const std::string& file, std::uint32_t line, std::uint32_t column, std::uint32_t parent);
  std::uint32_t at(std::uint32_t site);
  bool has_site() const { return builder_.site() != 0; }
  std::string describe_site() const { return ncemu::describe_site(program_(), builder_.site()); }

  // `operands` also holds engine, file, line, site, wait, signal.
  std::uint32_t emit(std::string_view mnemonic, pybind11::dict operands);
  void change(std::uint32_t position, pybind11::dict operands);
  std::uint32_t position() const { return static_cast<std::uint32_t>(where_.size()); }

  Register open_loop(pybind11::handle start, pybind11::handle stop, std::int32_t step);
  void close_loop();
  void open_block(Engine engine);
  void close_block();
  Register reg(std::int64_t number) const;
  std::uint8_t semaphore(const std::string& name);
  void print(std::string label, const Handle& view);

  // Up to the next instruction; the moments of loops that are still open are not known.
  std::vector<TracedTile> lifetimes();
  KernelPointer finish(bool automatic_sync, bool automatic_tables, AllocationOrder order);

 private:
  // Where the instruction of a position is, and where its tiles are listed.
  struct Where {
    Engine engine = Engine::tensor;
    std::uint32_t index = 0;       // in the stream
    std::uint32_t first_tile = 0;  // in tile_numbers_
  };
  // What emit() takes beside operands.
  struct Extras {
    std::optional<Engine> engine;
    std::optional<Wait> wait;
    std::optional<Update> signal;
    Py_ssize_t used = 0;
  };
  const Program& program_() const { return builder_.program(); }
  Instruction& instruction(const Where& where);
  Extras read_extras(const pybind11::dict& operands);
  Instruction& emit_operands(const InstructionInfo& row, const pybind11::dict& operands, const Extras& extras,
                             Py_ssize_t& used, TileNumbers& tiles);
  Instruction& emit_transfer(const InstructionInfo& row, const pybind11::dict& operands, const Extras& extras,
                             Py_ssize_t& used, TileNumbers& tiles);
  // Whether a transfer still has the elements and types that its route was chosen for.
  void check_changed_transfer(const InstructionInfo& row, const Operands& before,
                              const Operands& after) const;
  Wait read_wait(pybind11::handle value) const;
  Update read_signal(pybind11::handle value) const;
  void check_all_used(const InstructionInfo& row, const pybind11::dict& operands, Py_ssize_t used) const;
  void note_uses();
  void place_operands(Program& program);

  MachineConfig machine_;
  Builder builder_;
  std::vector<TracedTile> tiles_;
  std::vector<Where> where_;
  std::vector<std::uint32_t> tile_numbers_;
  std::vector<std::uint32_t> open_loops_;
  struct PrintedTile {
    std::size_t probe;
    std::uint32_t tile;
  };
  std::vector<PrintedTile> printed_;
  std::unordered_map<std::string, std::uint32_t> file_numbers_;
  std::map<std::array<std::uint32_t, 4>, std::uint32_t> sites_;  // by file, line, column, parent
  std::uint32_t engine_blocks_ = 0;                              // open ones: 0 or 1
  std::uint32_t hand_site_ = no_index;  // of a wait or a signal outside an engine block
  std::size_t semaphores_ = 0;
};

}  // namespace ncemu::python
