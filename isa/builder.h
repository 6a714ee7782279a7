#pragma once

// Builds a Program instruction by instruction, in text order: what the assembler, C++ kernels and
// the Python front end share. Usable without the text assembler (see README.md).

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "isa/diagnostics.h"
#include "isa/program.h"
#include "isa/sync.h"
#include "isa/view.h"

namespace ncemu {

struct TileSpec {
  std::string name;
  Space space = Space::sbuf;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // [partitions, free...]
  std::vector<std::int64_t> array;  // array dimensions
  std::uint32_t buffers = 1;
  std::optional<std::uint32_t> partition, offset;  // explicit placement; offset in bytes
};

// One execution of a tile declaration.
struct TileRef {
  std::uint32_t tile = no_index;
  PlaceId place = no_place;
  DType dtype = DType::f32;
  std::uint32_t stride = 0;         // bytes from one array element to the next
  std::vector<std::int64_t> shape;  // of this execution
  std::vector<std::int64_t> array;
};

// What dma_copy may do beside copying.
struct CopyOptions {
  std::optional<PointerOperand> index;  // of rows of the side in HBM, one per partition
  Bounds bounds = Bounds::error;
  bool accumulate = false;
};

// A source of dma_compute.
struct ScaledView {
  View view;
  float scale = 1;
};

class Builder {
 public:
  explicit Builder(Target target, std::string name = "kernel");

  const Target& target() const { return program_.target; }
  Program& program() { return program_; }
  const Program& program() const { return program_; }

  View tensor(std::string name, TensorKind kind, DType dtype, std::vector<std::int64_t> shape);
  View constant(std::string name, DType dtype, std::vector<std::int64_t> shape, std::vector<std::byte> data);

  // Declares, or executes again, the tile of this name in the current block; the next of its places.
  TileRef tile(const TileSpec& spec);
  // The tile's block, or one element of its array.
  View view(const TileRef& ref, std::span<const std::int64_t> at = {}) const;
  // An array element chosen at run time in array dimension `dimension`: scale * register + base.
  View view(const TileRef& ref, std::span<const std::int64_t> at, int dimension, Register reg,
            std::int64_t scale, std::int64_t base) const;
  View sbuf(std::string name, DType dtype, std::vector<std::int64_t> shape, std::uint32_t buffers = 1);
  View psum(std::string name, DType dtype, std::vector<std::int64_t> shape, std::uint32_t buffers = 1);

  // Blocks. `key` identifies the block within its parent; opening the same key again is the next
  // iteration of the same block.
  void open_scope(std::string_view key);
  void close_scope();
  // The innermost open block, an index in Program::scopes.
  std::uint32_t scope() const { return open_.back().scope; }

  // Interns a source place; instructions emitted afterwards carry it.
  void at(std::string_view file, std::uint32_t line, std::uint32_t column = 0,
          std::uint32_t parent = no_index);
  void at(std::uint32_t site) { site_ = site; }
  std::uint32_t site() const { return site_; }

  // Appends to the engine's stream. Engine: the default of the row when absent.
  Instruction& emit(Opcode opcode, Operands operands, std::optional<Engine> engine = {});
  // The engine emit() would choose: the first of the row that is legal for the operands' memories.
  Engine default_engine(Opcode opcode, const Operands& operands) const;
  // Transfers (builder_dma.cpp). They check shapes and choose issuer, queue and mode where these are absent:
  // by where the source lies, and whether all addresses are known before the run.
  Instruction& dma_copy(const View& dst, const View& src, std::optional<Engine> issuer = {},
                        std::optional<std::uint8_t> queue = {}, std::optional<DgeMode> mode = {},
                        const CopyOptions& options = {});
  Instruction& dma_transpose(const View& dst, const View& src, std::optional<Engine> issuer = {},
                             std::optional<std::uint8_t> queue = {}, std::optional<DgeMode> mode = {});
  Instruction& dma_compute(const View& dst, std::span<const ScaledView> sources, ComputeOp op,
                           std::optional<Engine> issuer = {}, std::optional<std::uint8_t> queue = {},
                           std::optional<DgeMode> mode = {});

  // Run-time loop; returns its counter register.
  Register open_loop(IntOperand start, IntOperand stop, std::int32_t step);
  void close_loop();

  void open_engine(Engine engine);  // hand-written block
  void close_engine();

  void print(std::string label, const View& view);

  struct Finish {
    bool automatic_sync = true;
    bool automatic_tables = true;
    bool placed = false;  // operands are addresses and places are where they are already
    // False: stops after the rules and keeps the text's order, for those that execute it in sequence.
    bool lower = true;
    SyncOptions sync;
  };
  // Table loads, placement, rules, synchronisation. Errors and warnings go to `diagnostics`; the program is
  // usable only if there are no errors. The builder is empty afterwards.
  Program finish(Diagnostics& diagnostics, const Finish& options, SyncReport* report = nullptr);
  // Throws Fault(input) with all messages if there are errors.
  Program finish();

 private:
  struct RouteChoice;
  Engine choose_route(RouteChoice choice, std::optional<Engine> issuer, std::optional<std::uint8_t> queue,
                      std::optional<DgeMode> mode, Route& route) const;
  struct LiveScope {
    std::uint32_t scope = 0;
    std::vector<std::uint32_t> tiles;  // live, in order of declaration
  };
  // Children of a block by name, and where they stand in Scope::entries.
  struct ScopeIndex {
    std::unordered_map<std::string, std::uint32_t> scopes, tiles;
    std::uint32_t position = 0;  // of this block in its parent's entries
  };
  void keep_live_tiles_before(std::uint32_t scope);
  void lower_for_hand_synchronisation();

  Program program_;
  std::uint32_t site_ = 0;
  std::vector<LiveScope> open_;
  std::vector<ScopeIndex> scope_index_;
  std::vector<std::uint32_t> tile_positions_;  // of each tile in its block's entries
  std::vector<std::uint32_t> executions_;      // of each tile's declaration
  std::vector<std::uint32_t> open_loops_;
  bool engine_block_open_ = false;
  std::map<std::string, std::uint32_t, std::less<>> file_index_;
};

}  // namespace ncemu
