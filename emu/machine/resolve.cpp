#include "emu/machine/resolve.h"

#include <bit>

#include "isa/fault.h"

namespace ncemu {
namespace {

std::int32_t value_of(Register r, const Registers& registers) {
  ensure(r.number < registers.size(), "an operand names one of the registers r0 to r63");
  return registers[r.number];
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

// The bytes an indexed operand may reach, and what to call them.
struct Room {
  std::int64_t begin = 0, end = 0;
  std::string name;
};

Room room_of(const AccessPattern& p, const Program& program) {
  if (p.place < program.places.size()) {
    const Place& place = program.places[p.place];
    if (place.tile < program.tiles.size()) {
      const Tile& tile = program.tiles[place.tile];
      return {place.offset, std::int64_t{place.offset} + tile.bytes, fmt::format("tile '{}'", tile.name)};
    }
  }
  const std::int64_t bytes =
      p.space == Space::sbuf ? program.target.sbuf_partition_bytes : program.target.psum_partition_bytes();
  return {0, bytes, fmt::format("{}", p.space == Space::sbuf ? "an SBUF partition" : "a PSUM partition")};
}

Room room_of(const HbmPattern& p, const Program& program) {
  ensure(p.tensor < program.tensors.size(), "an HBM operand names a tensor of the program");
  const Tensor& tensor = program.tensors[p.tensor];
  return {0, tensor.bytes(), fmt::format("tensor '{}'", tensor.name)};
}

// Bytes that one unit of the index moves the operand.
template <typename Pattern>
std::int64_t step_bytes(const Pattern& p) {
  return std::int64_t{p.index_step} * size_of(p.dtype);
}

// How far the index moves the operand; what 64 bits cannot hold is farther than any memory reaches.
std::int64_t shift_bytes(std::int64_t index, std::int64_t step) {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  std::int64_t shift = 0;
  if (__builtin_mul_overflow(index, step, &shift) || shift > far || shift < -far)
    return (index < 0) == (step < 0) ? far : -far;
  return shift;
}

template <typename Pattern>
[[noreturn]] void refuse(const Pattern& p, const Room& room, const Extent& base, std::int64_t index,
                         std::string_view operand) {
  const std::int64_t step = step_bytes(p);
  // Values v with room.begin <= base.begin + v * step and base.end + v * step <= room.end.
  std::string inside = "no value";
  if (step != 0) {
    const std::int64_t down = room.begin - base.begin, up = room.end - base.end;
    const std::int64_t low = step > 0 ? -floor_div(-down, step) : -floor_div(-up, step);
    const std::int64_t high = step > 0 ? floor_div(up, step) : floor_div(down, step);
    if (low == high) inside = fmt::format("only {}", low);
    if (low < high) inside = fmt::format("{} to {}", low, high);
  }
  throw Fault(FaultKind::program, "", "{}: index r{} = {} is outside {} ({} inside)", operand, p.index.number,
              index, room.name, inside + (inside.front() == 'n' || inside.front() == 'o' ? " is" : " are"));
}

template <typename Pattern>
bool resolve_pattern(Pattern& p, const Registers& registers, const Program& program, std::string_view operand,
                     Bounds bounds) {
  if (!p.index.present()) return true;
  const std::int64_t index = value_of(p.index, registers);
  const Room room = room_of(p, program);
  const Extent base = extent(p);
  const std::int64_t shift = shift_bytes(index, step_bytes(p));
  const bool inside = base.begin + shift >= room.begin && base.end + shift <= room.end;
  if (!inside && bounds == Bounds::error) refuse(p, room, base, index, operand);
  using Offset = decltype(p.offset);
  const std::int64_t unit = std::is_same_v<Pattern, AccessPattern> ? 1 : size_of(p.dtype);
  if (inside) p.offset = static_cast<Offset>(std::int64_t{p.offset} + shift / unit);
  p.index = {};
  p.index_step = 0;
  return inside;
}

// Integer scalars belong to the bitvec class and to fills of integer tiles (design: one register is read as
// fp32 or as an integer by what is done with it).
bool scalars_are_integers(const Operands& operands) {
  if (const auto* fill = std::get_if<Memset>(&operands)) return is_integer(fill->dst.dtype);
  if (const auto* copy = std::get_if<CopyPredicated>(&operands)) return is_integer(copy->dst.dtype);
  bool bitvec = false;
  for_each_field(operands, [&](std::string_view, const auto& field, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, AluOp>) bitvec = bitvec || is_bitvec(field);
  });
  return bitvec;
}

struct Resolver {
  const Registers& registers;
  const Program& program;
  bool integers;
  Bounds bounds;
  bool& inside;

  void operator()(std::string_view name, AccessPattern& p, Role) const {
    inside = resolve_pattern(p, registers, program, name, bounds) && inside;
  }
  void operator()(std::string_view name, std::optional<AccessPattern>& p, Role) const {
    if (p) inside = resolve_pattern(*p, registers, program, name, bounds) && inside;
  }
  void operator()(std::string_view name, MemoryOperand& m, Role) const {
    std::visit([&](auto& p) { inside = resolve_pattern(p, registers, program, name, bounds) && inside; }, m);
  }
  void operator()(std::string_view, ScalarOperand& s, Role) const {
    const auto* r = std::get_if<Register>(&s);
    if (r == nullptr) return;
    const std::int32_t bits = value_of(*r, registers);
    if (integers) {
      s = bits;
    } else {
      s = std::bit_cast<float>(bits);
    }
  }
  template <typename T>
  void operator()(std::string_view, T&, Role) const {}
};

struct Finder {
  bool& found;
  void operator()(std::string_view, const AccessPattern& p, Role) const {
    found = found || p.index.present();
  }
  void operator()(std::string_view, const std::optional<AccessPattern>& p, Role) const {
    found = found || (p && p->index.present());
  }
  void operator()(std::string_view, const MemoryOperand& m, Role) const {
    std::visit([&](const auto& p) { found = found || p.index.present(); }, m);
  }
  void operator()(std::string_view, const ScalarOperand& s, Role) const {
    found = found || std::holds_alternative<Register>(s);
  }
  template <typename T>
  void operator()(std::string_view, const T&, Role) const {}
};

}  // namespace

bool needs_resolving(const Instruction& instruction) {
  bool found = instruction.wait.present() && instruction.wait.value_is_register;
  for_each_field(instruction.operands, Finder{found});
  return found;
}

std::uint16_t wait_value(const Wait& wait, const Registers& registers, const Target& target) {
  if (!wait.value_is_register) return wait.value;
  const std::int32_t value = value_of(Register{static_cast<std::uint8_t>(wait.value)}, registers);
  if (value < 0 || static_cast<std::uint32_t>(value) > target.semaphore_max) {
    throw Fault(FaultKind::program, "", "waits for the value of r{}, which is {}; a semaphore counts 0 to {}",
                wait.value, value, target.semaphore_max);
  }
  return static_cast<std::uint16_t>(value);
}

bool resolve(Instruction& instruction, const Registers& registers, const Program& program) {
  if (instruction.wait.present() && instruction.wait.value_is_register) {
    instruction.wait.value = wait_value(instruction.wait, registers, program.target);
    instruction.wait.value_is_register = false;
  }
  const auto* copy = std::get_if<DmaCopy>(&instruction.operands);
  bool inside = true;
  for_each_field(instruction.operands,
                 Resolver{registers, program, scalars_are_integers(instruction.operands),
                          copy != nullptr ? copy->bounds : Bounds::error, inside});
  return inside;
}

}  // namespace ncemu
