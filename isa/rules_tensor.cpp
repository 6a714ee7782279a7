// Rules about the tensor engine.

#include <array>

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

constexpr std::int64_t stationary_elements = 128;  // datasheet 1.6
constexpr std::int64_t moving_elements = 512;      // datasheet 1.6
constexpr unsigned array_size = 128;               // datasheet 1.2: rows, and columns

// What load_stationary and matmul have in common.
struct ArrayUse {
  bool transpose, double_row;
  ArrayPair position, size;
};
ArrayUse array_use(const Operands& operands) {
  if (const auto* load = std::get_if<LoadStationary>(&operands))
    return {load->transpose, load->double_row, load->tile_position, load->tile_size};
  const auto& m = std::get<Matmul>(operands);
  return {m.transpose, m.double_row, m.tile_position, m.tile_size};
}

// At most `limit` elements per partition, or twice that in an even number.
void check_rows(Context& c, std::string_view operand, std::int64_t elements, bool double_row,
                std::int64_t limit) {
  const std::int64_t most = double_row ? 2 * limit : limit;
  if (elements > most)
    c.broken(operand, "has {} elements per partition, at most {} are possible", elements, most);
  if (double_row && elements % 2 != 0)
    c.broken(operand, "has {} elements per partition, double_row takes two rows of equal length", elements);
}

}  // namespace

void tensor_engine_type(Context& c) {
  for (const OnChip& o : c.on_chip()) {
    if (o.role != Role::read || is_float(o.pattern.dtype)) continue;
    c.broken(o.name, "is {}, expected a float type", name(o.pattern.dtype));
  }
}

void stationary_size(Context& c) {
  const auto& f = c.operands<LoadStationary>();
  check_rows(c, "src", elements_of(f.src), f.double_row, stationary_elements);
}

void moving_size(Context& c) {
  const auto& f = c.operands<Matmul>();
  check_rows(c, "moving", elements_of(f.moving), f.double_row, moving_elements);
}

void matmul_elements(Context& c) {
  const auto& f = c.operands<Matmul>();
  const std::int64_t row = elements_of(f.moving) / (f.double_row ? 2 : 1);
  if (elements_of(f.dst) != row)
    c.broken("dst", "has {} elements per partition, a row of moving has {}", elements_of(f.dst), row);
}

void matmul_result_type(Context& c) {
  const auto& f = c.operands<Matmul>();
  const bool moves = f.transpose && !c.v2();
  const DType expected = !moves ? DType::f32 : size_of(f.moving.dtype) == 1 ? DType::u16 : f.moving.dtype;
  if (f.dst.dtype != expected) c.broken("dst", "is {}, expected {}", name(f.dst.dtype), name(expected));
}

void transpose_overwrites(Context& c) {
  const auto& f = c.operands<Matmul>();
  if (f.transpose && f.accumulate && !c.v2())
    c.broken("accumulate", "is true, but transpose = true moves elements");
}

void double_row_type(Context& c) {
  const ArrayUse use = array_use(c.instruction.operands);
  if (!use.double_row) return;
  if (c.v2()) c.broken("double_row", "is true, but NeuronCore-v2 does not have it");
  if (use.transpose) c.broken("double_row", "is true, and so is transpose");
  if (use.size.column != array_size)
    c.broken("double_row", "is true in a tile of {} columns, expected {}", use.size.column, array_size);
  for (const OnChip& o : c.on_chip()) {
    const DType type = o.pattern.dtype;
    if (o.role == Role::read && type != DType::f8e4m3 && type != DType::f8e5m2)
      c.broken(o.name, "is {}, double_row takes f8e4m3 or f8e5m2", name(type));
  }
}

void array_tile(Context& c) {
  const ArrayUse use = array_use(c.instruction.operands);
  const auto check = [&](std::string_view what, unsigned at, unsigned size) {
    const bool exists = size == 64 || size == array_size || (size == 32 && !c.v2());
    if (!exists) {
      c.broken("tile_size", "has {} {}, expected {}64 or 128", size, what, c.v2() ? "" : "32, ");
    } else if (at % size != 0 || at + size > array_size) {
      c.broken("tile_position", "is at {} {} with a size of {}", what, at, size);
    }
  };
  check("rows", use.position.row, use.size.row);
  check("columns", use.position.column, use.size.column);
}

void array_tile_operands(Context& c) {
  const ArrayUse use = array_use(c.instruction.operands);
  const bool whole = use.size == whole_array;
  for (const OnChip& o : c.on_chip()) {
    const bool result = o.role == Role::write;
    const unsigned first = result ? use.position.column : use.position.row;
    const unsigned size = result ? use.size.column : use.size.row;
    if (!whole && o.pattern.partition != first)
      c.broken(o.name, "starts at partition {}, the tile of the array at {}", o.pattern.partition, first);
    if (!whole && o.pattern.partitions > size)
      c.broken(o.name, "covers {} partitions, the tile of the array {}", o.pattern.partitions, size);
  }
  const auto* load = std::get_if<LoadStationary>(&c.instruction.operands);
  if (load == nullptr || whole) return;
  const std::int64_t columns = elements_of(load->src) / (use.double_row ? 2 : 1);
  if (columns > use.size.column)
    c.broken("src", "has {} columns, the tile of the array {}", columns, use.size.column);
}

void matmul_one_bank(Context& c) {
  const AccessPattern& dst = c.operands<Matmul>().dst;
  if (dst.space != Space::psum || dst.index.present())
    return;  // the machine checks the bank of an indexed one
  const Extent e = extent(dst);
  const std::int64_t bank = c.target.psum_bank_bytes;
  if (e.begin < 0 || e.begin / bank == (e.end - 1) / bank) return;
  c.broken("dst", "spans PSUM banks {} to {} (bytes {} to {}, a bank has {})", e.begin / bank,
           (e.end - 1) / bank, e.begin, e.end - 1, bank);
}

}  // namespace ncemu::check
