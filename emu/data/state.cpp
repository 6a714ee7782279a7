#include "emu/data/state.h"

#include <bit>
#include <cstring>

#include "emu/data/operand.h"
#include "emu/data/workers.h"
#include "isa/fault.h"

namespace ncemu {

static_assert(std::endian::native == std::endian::little, "memories hold little-endian elements");

namespace {

template <typename Pattern>
void check_single(std::string_view mnemonic, std::string_view name, const Pattern& pattern,
                  const State& state) {
  check_inside(mnemonic, name, pattern, state);
  std::int64_t elements = pattern.elements();
  if constexpr (std::is_same_v<Pattern, AccessPattern>) elements *= pattern.partitions;
  if (elements == 1) return;
  throw Fault(FaultKind::program, "", "{}: a register holds one element, {} has {}", mnemonic, name,
              elements);
}

template <typename Memory>
auto* row(Memory& memory, const AccessPattern& single, std::size_t size) {
  return memory.row(single.partition, single.offset, single.offset + static_cast<std::int64_t>(size));
}

std::uint32_t widen(DType type, std::uint32_t bits) {
  if (type == DType::i8) return static_cast<std::uint32_t>(static_cast<std::int8_t>(bits));
  if (type == DType::i16) return static_cast<std::uint32_t>(static_cast<std::int16_t>(bits));
  return bits;
}

}  // namespace

State::State(const Program& program, std::byte initial)
    : generation(program.target.generation),
      sbuf(program.target.partitions, program.target.sbuf_partition_bytes, initial),
      psum(program.target.partitions, program.target.psum_partition_bytes(), initial),
      hbm(program.tensors, initial),
      groups(program.target.partitions, program.target.psum_partition_bytes() / 4) {}

std::uint32_t load_element(const MemoryOperand& operand, const State& state) {
  return std::visit(
      [&](const auto& pattern) {
        check_single("register_load", "src", pattern, state);
        std::uint32_t bits = 0;
        const auto size = static_cast<std::size_t>(size_of(pattern.dtype));
        if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
          const OnChipMemory& memory = pattern.space == Space::sbuf ? state.sbuf : state.psum;
          std::memcpy(&bits, row(memory, pattern, size) + pattern.offset, size);
        } else {
          state.hbm.read(pattern.tensor, pattern.offset * size_of(pattern.dtype),
                         {reinterpret_cast<std::byte*>(&bits), size});
        }
        return widen(pattern.dtype, bits);
      },
      operand);
}

void State::share_work(Workers& helpers) {
  workers = &helpers;
  packing_rooms.resize(static_cast<std::size_t>(helpers.threads()));
}

void store_element(const MemoryOperand& operand, std::uint32_t bits, State& state) {
  std::visit(
      [&](const auto& pattern) {
        check_single("register_store", "dst", pattern, state);
        const auto size = static_cast<std::size_t>(size_of(pattern.dtype));
        if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
          OnChipMemory& memory = pattern.space == Space::sbuf ? state.sbuf : state.psum;
          std::memcpy(row(memory, pattern, size) + pattern.offset, &bits, size);
          leave_groups(pattern, state);
        } else {
          state.hbm.write(pattern.tensor, pattern.offset * size_of(pattern.dtype),
                          {reinterpret_cast<const std::byte*>(&bits), size});
        }
      },
      operand);
}

}  // namespace ncemu
