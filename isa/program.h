#pragma once

// A program: one instruction stream per engine, the tensors it names, and where each instruction
// came from. Before synchronisation it also knows the text's order, its run-time loops and its
// hand-written blocks; `place` and `synchronise` (place.h, sync.h) turn that into streams that the
// machine runs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "isa/instruction.h"
#include "isa/target.h"

namespace ncemu {

inline constexpr std::uint32_t no_index = 0xFFFFFFFF;

// A place in a source. `parent` is the site of the macro call or include that led here, or no_index.
struct Site {
  std::uint32_t file = no_index;  // index in Program::files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t parent = no_index;
  friend bool operator==(const Site&, const Site&) = default;
};

enum class TensorKind : std::uint8_t { input, output, inout, scratch, constant };

// A tensor in HBM, row-major.
struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::scratch;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  // constants only
  std::uint32_t site = 0;

  std::int64_t elements() const {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    return n;
  }
  std::int64_t bytes() const { return elements() * size_of(dtype); }
};

// A declaration of on-chip memory: `count` blocks (the array dimensions, one allocation with a
// uniform stride) of [partitions, ...], at `buffers` places used in rotation.
struct Tile {
  std::string name;
  Space space = Space::sbuf;
  DType dtype = DType::f32;
  std::vector<std::int64_t> array;  // array dimensions, may be empty
  std::vector<std::int64_t> shape;  // [partitions, free...]
  std::uint32_t stride = 0;         // bytes from one array element to the next
  std::uint32_t bytes = 0;          // per partition and place: array count x stride
  std::uint32_t buffers = 1;
  std::optional<std::uint32_t> fixed_partition, fixed_offset;  // explicit placement
  std::uint32_t scope = 0;
  PlaceId first_place = 0;  // its places are first_place .. first_place + buffers - 1
  std::uint32_t site = 0;
};

// One of a tile's places; partition and offset are assigned by place().
struct Place {
  std::uint32_t tile = no_index;
  std::uint8_t partition = 0;
  std::uint32_t offset = 0;  // bytes in each partition
};

// The blocks of the text as a static tree (all iterations of a loop are one block). Entries are in
// text order; a tile lives from its entry to the end of its block.
struct Scope {
  struct Entry {
    bool is_scope = false;
    std::uint32_t id = 0;  // index in Program::scopes or Program::tiles
  };
  std::uint32_t parent = no_index;
  std::vector<Entry> entries;
};

// A run-time loop over positions [begin, end) of the text order. Every stream with instructions in
// it runs the loop with its own counter register of the same number.
struct Loop {
  Register counter;
  IntOperand start = 0, stop = 0;
  std::int32_t step = 1;  // > 0
  std::uint32_t begin = 0, end = 0;
  std::uint32_t site = 0;
};

// A hand-written block of one engine: positions [begin, end) of the text order. Neighbouring blocks
// form a group; all streams join before and after a group. Branch targets inside count from the
// block's first instruction until synchronise() makes them stream indices; target = length leaves the block.
struct ManualBlock {
  Engine engine = Engine::tensor;
  std::uint32_t begin = 0, end = 0;
  std::uint32_t site = 0;
};

// A value to show at a point of the text (`.print`). An engine arrives there when its sequencer comes to its
// position: what it has written before has taken effect then. A probe without positions shows before anything
// runs; one without rounds shows once, when every engine with a position has arrived; else it shows for the
// k-th time when the engines of `rounds` have arrived k times and the others at all.
struct Probe {
  std::string label;  // the view as written
  MemoryOperand view;
  std::uint32_t site = 0;
  std::array<std::uint32_t, engine_count> position = no_positions();  // in the streams, their ends included
  EngineSet rounds;  // engines that pass the point again and again, in a loop or a block

  // Where the point is before synchronisation: the position of the text order, the open loops (outer first)
  // and the open block. Positions follow from it (probes.h).
  std::uint32_t at = 0;
  std::vector<std::uint32_t> loops;
  std::uint32_t block = no_index;

  static constexpr std::array<std::uint32_t, engine_count> no_positions() {
    std::array<std::uint32_t, engine_count> none{};
    none.fill(no_index);
    return none;
  }
};

// A comment that allows what a check would report at a statement (isa/asm/allowances.h).
struct Allowance {
  std::uint32_t file = 0;                    // index in Program::files
  std::uint32_t line = 0;                    // of the statement
  std::uint32_t at_line = 0, at_column = 0;  // of the comment
  std::vector<std::string> checks;
  std::string reason;
  friend bool operator==(const Allowance&, const Allowance&) = default;
};

struct NamedSemaphore {
  std::string name;
  std::uint8_t number = 0;
};

struct Program {
  std::string name;
  Target target;
  std::array<std::vector<Instruction>, engine_count> streams;
  std::vector<Tensor> tensors;

  // Debug data.
  std::vector<std::string> files;
  std::vector<Site> sites = {Site{}};  // sites[0] is "nowhere"
  std::vector<Tile> tiles;
  std::vector<Place> places;
  std::vector<Scope> scopes = {Scope{}};  // scopes[0] is the file
  std::vector<NamedSemaphore> semaphores;
  std::vector<Probe> probes;
  std::vector<Allowance> allowances;

  // Text order: position k belongs to stream order[k], whose instructions follow one another.
  // Empty once synchronised, or when the writer synchronises by hand.
  std::vector<Engine> order;
  std::vector<Loop> loops;  // outer before inner, in order of begin
  std::vector<ManualBlock> manual_blocks;
  bool synchronised = false;

  std::vector<Instruction>& stream(Engine e) { return streams[static_cast<std::size_t>(e)]; }
  const std::vector<Instruction>& stream(Engine e) const { return streams[static_cast<std::size_t>(e)]; }
  std::size_t instruction_count() const {
    std::size_t n = 0;
    for (const auto& s : streams) n += s.size();
    return n;
  }
};

// "gemm.nca:12:3", with the macro calls that led there; "<unknown>" for no_index.
std::string describe_site(const Program& program, std::uint32_t site);

}  // namespace ncemu
