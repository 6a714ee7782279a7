// Transfers that do more than copy: dma_transpose and dma_compute (datasheet 6.10.2, 6.10.3). Both read
// everything before they write anything.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "emu/data/alu.h"
#include "emu/data/convert.h"
#include "emu/data/exec.h"
#include "emu/data/transfer_side.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// A whole side, contiguous in stream order.
template <typename Side>
std::vector<std::byte> read_all(const Side& side) {
  const std::int64_t size = size_of(side.dtype());
  std::vector<std::byte> bytes(static_cast<std::size_t>(side.elements() * size));
  for (std::int64_t first = 0, n = 0; first < side.elements(); first += n) {
    n = std::min(side.until_break(first), side.elements() - first);
    side.read(first, n, bytes.data() + first * size);
  }
  return bytes;
}

template <typename Side>
void write_all(Side& side, const std::byte* bytes) {
  const std::int64_t size = size_of(side.dtype());
  for (std::int64_t first = 0, n = 0; first < side.elements(); first += n) {
    n = std::min(side.until_break(first), side.elements() - first);
    side.write(first, n, bytes + first * size);
  }
}

void write_operand(std::string_view mnemonic, const MemoryOperand& operand, const std::byte* bytes,
                   State& state) {
  std::visit(
      [&](const auto& pattern) {
        auto side = make_side(mnemonic, "dst", pattern, state);
        write_all(side, bytes);
      },
      operand);
  if (const auto* tile = std::get_if<AccessPattern>(&operand)) leave_groups(*tile, state);
}

std::vector<std::byte> read_operand(std::string_view mnemonic, std::string_view name,
                                    const MemoryOperand& operand, State& state) {
  return std::visit([&](const auto& pattern) { return read_all(make_side(mnemonic, name, pattern, state)); },
                    operand);
}

std::int64_t elements_of(const MemoryOperand& operand) {
  if (const auto* tile = std::get_if<AccessPattern>(&operand)) return tile->elements() * tile->partitions;
  return std::get<HbmPattern>(operand).elements();
}

DType type_of(const MemoryOperand& operand) {
  return std::visit([](const auto& pattern) { return pattern.dtype; }, operand);
}

// Slowest, between, fastest. The two dimensions between keep their order, so they count as one.
std::array<std::int64_t, 3> sizes_of(const MemoryOperand& operand) {
  return std::visit(
      [](const auto& p) {
        std::int64_t slowest = p.dims[3].count;
        if constexpr (std::is_same_v<std::decay_t<decltype(p)>, AccessPattern>) slowest = p.partitions;
        const auto between =
            static_cast<std::int64_t>(p.dims[2].count) * static_cast<std::int64_t>(p.dims[1].count);
        return std::array<std::int64_t, 3>{slowest, between, p.dims[0].count};
      },
      operand);
}

template <typename Bits>
void reverse_axes(const std::byte* from, std::byte* to, const std::array<std::int64_t, 3>& sizes) {
  const auto [slow, between, fast] = sizes;
  for (std::int64_t f = 0; f < fast; ++f) {
    for (std::int64_t m = 0; m < between; ++m) {
      for (std::int64_t s = 0; s < slow; ++s, to += sizeof(Bits)) {
        std::memcpy(to, from + ((s * between + m) * fast + f) * static_cast<std::int64_t>(sizeof(Bits)),
                    sizeof(Bits));
      }
    }
  }
}

AluOp operator_of(ComputeOp op) {
  switch (op) {
    case ComputeOp::add:
    case ComputeOp::fma: return AluOp::add;
    case ComputeOp::min: return AluOp::min;
    case ComputeOp::max: return AluOp::max;
  }
  return AluOp::add;
}

}  // namespace

void exec::dma_transpose(const DmaTranspose& f, Engine, State& state) {
  const auto sizes = sizes_of(f.src), made = sizes_of(f.dst);
  if (made[0] != sizes[2] || made[1] != sizes[1] || made[2] != sizes[0] || type_of(f.dst) != type_of(f.src)) {
    throw Fault(FaultKind::program, "", "dma_transpose: dst is {} [{}, {}, {}], src is {} [{}, {}, {}]",
                name(type_of(f.dst)), made[0], made[1], made[2], name(type_of(f.src)), sizes[0], sizes[1],
                sizes[2]);
  }
  const std::vector<std::byte> from = read_operand("dma_transpose", "src", f.src, state);
  std::vector<std::byte> to(from.size());
  switch (size_of(type_of(f.src))) {
    case 1: reverse_axes<std::uint8_t>(from.data(), to.data(), sizes); break;
    case 2: reverse_axes<std::uint16_t>(from.data(), to.data(), sizes); break;
    default: reverse_axes<std::uint32_t>(from.data(), to.data(), sizes); break;
  }
  write_operand("dma_transpose", f.dst, to.data(), state);
}

void exec::dma_compute(const DmaCompute& f, Engine, State& state) {
  const auto count = static_cast<std::size_t>(elements_of(f.dst));
  std::vector<float> result(count), values(count);
  bool first = true;
  for (const DmaCompute::Source& source : f.sources) {
    if (elements_of(source.src) != elements_of(f.dst)) {
      throw Fault(FaultKind::program, "", "dma_compute: dst has {} elements, a source has {}", count,
                  elements_of(source.src));
    }
    const std::vector<std::byte> bytes = read_operand("dma_compute", "a source", source.src, state);
    to_f32(type_of(source.src), bytes.data(), values.data(), count);
    if (f.op == ComputeOp::fma)
      apply_scalar(AluOp::mult, values.data(), source.scale, false, values.data(), count);
    if (first) {
      result.swap(values);
    } else {
      apply(operator_of(f.op), result.data(), values.data(), result.data(), count);
    }
    first = false;
  }
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(size_of(type_of(f.dst))));
  from_f32(type_of(f.dst), result.data(), bytes.data(), count);
  write_operand("dma_compute", f.dst, bytes.data(), state);
}

}  // namespace ncemu
