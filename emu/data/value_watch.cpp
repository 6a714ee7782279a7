#include "emu/data/value_watch.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "emu/data/state.h"
#include "emu/data/walk.h"
#include "emu/data/workers.h"
#include "isa/number.h"

namespace ncemu {
namespace {

// A float is not finite if these bits are all set: the exponent; of f8e4m3fn, which has no infinities, all
// but the sign.
std::uint32_t not_finite_bits(DType type) {
  const FloatFormat format = float_format(type);
  return format.has_infinity ? format.infinity() : format.nan();
}

// The top bit is set if any of the elements has all bits of the mask, which leaves the sign out: t - 1
// borrows from the top only for t = 0. Compilers make vector code of it.
template <typename Bits>
Bits borrow(const std::byte* from, std::int64_t step, std::int64_t count, Bits mask) {
  Bits any = 0;
  const auto look = [&](const std::byte* at) {
    Bits bits;
    std::memcpy(&bits, at, sizeof bits);
    const auto t = static_cast<Bits>((bits & mask) ^ mask);
    any = static_cast<Bits>(any | static_cast<Bits>(t - 1));
  };
  if (step == sizeof(Bits)) {
    for (std::int64_t i = 0; i < count; ++i) look(from + i * static_cast<std::int64_t>(sizeof(Bits)));
  } else {
    for (std::int64_t i = 0; i < count; ++i) look(from + i * step);
  }
  return any;
}

// Rows of `count` elements, `stride` bytes apart.
template <typename Bits>
bool any_not_finite(const std::byte* from, std::int64_t step, std::int64_t count, std::int64_t rows,
                    std::int64_t stride, std::uint32_t mask) {
  Bits any = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    any = static_cast<Bits>(any | borrow<Bits>(from + row * stride, step, count, static_cast<Bits>(mask)));
  return (any >> (8 * sizeof(Bits) - 1)) != 0;
}

bool any_not_finite(DType type, const std::byte* from, std::int64_t step, std::int64_t count,
                    std::int64_t rows = 1, std::int64_t stride = 0) {
  const std::uint32_t mask = not_finite_bits(type);
  switch (size_of(type)) {
    case 1: return any_not_finite<std::uint8_t>(from, step, count, rows, stride, mask);
    case 2: return any_not_finite<std::uint16_t>(from, step, count, rows, stride, mask);
    default: return any_not_finite<std::uint32_t>(from, step, count, rows, stride, mask);
  }
}

float value_at(DType type, const std::byte* from) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, from, static_cast<std::size_t>(size_of(type)));
  return from_bits(type, bits);
}

struct Spot {
  int partition = 0;
  std::int64_t element = 0;
  float value = 0;
};

// The first element that is not finite, in stream order.
std::optional<Spot> first_not_finite(const AccessPattern& pattern, const State& state) {
  if (!is_float(pattern.dtype)) return std::nullopt;
  const OnChipMemory& memory = pattern.space == Space::psum ? state.psum : state.sbuf;
  const Walk walk(pattern);
  const Extent reach = extent(pattern);
  const std::byte* const base = memory.row(pattern.partition, reach.begin, reach.end);
  const auto stride = static_cast<std::int64_t>(memory.stride());
  std::atomic<bool> any = false;
  share_out(state.workers, pattern.partitions, pattern.partitions * walk.elements(),
            [&](const Share& lanes, std::size_t) {
              const std::byte* const first = base + lanes.begin * stride;
              bool here = false;
              walk.segments(0, walk.elements(), [&](const Segment& s) {
                here = here || any_not_finite(pattern.dtype, first + s.offset, s.step, s.count,
                                              lanes.end - lanes.begin, stride);
              });
              if (here) any = true;
            });
  if (!any) return std::nullopt;
  for (int lane = 0; lane < pattern.partitions; ++lane) {
    std::optional<Spot> found;
    std::int64_t element = 0;
    walk.segments(0, walk.elements(), [&](const Segment& s) {
      const std::byte* from = base + lane * stride + s.offset;
      for (std::int64_t i = 0; i < s.count && !found; ++i, from += s.step) {
        if (any_not_finite(pattern.dtype, from, s.step, 1))
          found = Spot{pattern.partition + lane, element + i, value_at(pattern.dtype, from)};
      }
      element += s.count;
    });
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<Spot> first_not_finite(const HbmPattern& pattern, const State& state) {
  if (!is_float(pattern.dtype)) return std::nullopt;
  const std::int64_t width = size_of(pattern.dtype);
  std::optional<Spot> found;
  std::int64_t element = 0;
  for_each_run(pattern, [&](std::int64_t begin, std::int64_t length) {
    for (std::int64_t end = begin + length; begin < end && !found;) {
      const auto piece = state.hbm.view(pattern.tensor, begin, end - begin);
      const auto size = static_cast<std::int64_t>(piece.size());
      if (any_not_finite(pattern.dtype, piece.data(), width, size / width)) {
        std::int64_t at = 0;
        while (!any_not_finite(pattern.dtype, piece.data() + at, width, 1)) at += width;
        found = Spot{0, element + at / width, value_at(pattern.dtype, piece.data() + at)};
      }
      element += size / width;
      begin += size;
    }
  });
  return found;
}

// Before anything runs: what the kernel is given.
bool everything_is_finite(const State& state) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;
  for (std::size_t t = 0; t < state.hbm.tensors(); ++t) {
    const auto tensor = static_cast<std::uint16_t>(t);
    const DType type = state.hbm.dtype(tensor);
    if (!is_float(type)) continue;
    const std::int64_t bytes = state.hbm.bytes(tensor);
    for (std::int64_t at = 0; at < bytes; at += piece) {
      if (!state.hbm.exists(tensor, at)) continue;
      const auto view = state.hbm.view(tensor, at, std::min(piece, bytes - at));
      if (any_not_finite(type, view.data(), size_of(type),
                         static_cast<std::int64_t>(view.size()) / size_of(type)))
        return false;
    }
  }
  return true;
}

bool overlaps_any_write(const Instruction& instruction, const AccessPattern& source) {
  bool any = false;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      any = any || (role == Role::write && overlap(pattern, source));
    }
  });
  return any;
}

// Immediates and values of registers.
bool scalars_are_finite(const Operands& operands) {
  bool finite = true;
  for_each_field(operands, [&](std::string_view, const auto& field, Role) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (std::is_same_v<Field, float>) {
      finite = finite && std::isfinite(field);
    } else if constexpr (std::is_same_v<Field, ScalarOperand>) {
      if (const auto* value = std::get_if<float>(&field)) finite = finite && std::isfinite(*value);
    }
  });
  return finite;
}

// Transfers that keep their bits make nothing new.
bool only_moves(const Instruction& instruction) {
  if (instruction.opcode == Opcode::dma_transpose) return true;
  const auto* copy = std::get_if<DmaCopy>(&instruction.operands);
  if (copy == nullptr || copy->accumulate) return false;
  const auto type = [](const MemoryOperand& m) {
    return std::visit([](const auto& p) { return p.dtype; }, m);
  };
  return type(copy->dst) == type(copy->src);
}

bool by_index(const Instruction& instruction) {
  const auto* copy = std::get_if<DmaCopy>(&instruction.operands);
  return copy != nullptr && std::holds_alternative<PointerOperand>(copy->index);
}

}  // namespace

void SaturationCount::look(DType type, const float* values, int partition, int lanes, std::int64_t first,
                           std::int64_t count) {
  // Half a step above the largest value a tie goes to the even neighbour, which is beyond it: the largest
  // code is odd. Below the smallest integer the tie stays, and its neighbour is even.
  float high = 0, low = 0;
  if (is_integer(type)) {
    const int bits = 8 * size_of(type);
    const bool has_sign = type == DType::i8 || type == DType::i16 || type == DType::i32;
    high = static_cast<float>(std::ldexp(1.0, has_sign ? bits - 1 : bits) - 0.5);
    low = std::nextafter(static_cast<float>(has_sign ? -std::ldexp(1.0, bits - 1) - 0.5 : -0.5),
                         -std::numeric_limits<float>::infinity());
  } else {
    const FloatFormat format = float_format(type);
    const std::uint32_t last = format.has_infinity ? format.infinity() - 1 : format.last_number();
    const float largest = from_bits(type, last), below = from_bits(type, last - 1);
    high = largest + (largest - below) / 2;
    low = -high;
  }
  const bool integer = is_integer(type);
  const auto lost = [&](float x) {
    return (x >= high || x <= low) && (integer || std::isfinite(x));  // NaN: neither
  };
  const std::int64_t all = lanes * count;
  std::int64_t here = 0;
  for (std::int64_t i = 0; i < all; ++i) here += lost(values[i]) ? 1 : 0;
  if (here == 0) return;
  std::int64_t i = 0;
  while (!lost(values[i])) ++i;
  add(here, partition + static_cast<int>(i / count), first + i % count, values[i]);
}

void SaturationCount::add(std::int64_t values, int partition, std::int64_t element, float value) {
  const auto lock = guard_ != nullptr ? std::unique_lock(*guard_) : std::unique_lock<std::mutex>();
  if (values_ == 0 || std::pair(partition, element) < std::pair(partition_, element_)) {
    partition_ = partition;
    element_ = element;
    value_ = value;
  }
  values_ += values;
}

SaturationCount* saturation_of(State& state, DType type) {
  return state.watch && (is_integer(type) || is_fp8(type)) ? &state.watch->saturation() : nullptr;
}

void ValueWatch::before(const Instruction& instruction, const State& state) {
  saturation_.begin(state.workers != nullptr ? &state.workers->guard() : nullptr);
  finite_before_ = true;
  found_finite_ = false;
  // As long as nothing anywhere is infinite or NaN, what an instruction overwrites need not be looked at.
  if (!started_) all_finite_ = everything_is_finite(state);
  started_ = true;
  if (all_finite_ || info(instruction.opcode).is_dma()) return;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (role != Role::read || !finite_before_ || !overlaps_any_write(instruction, pattern)) return;
      finite_before_ = !first_not_finite(pattern, state);
    }
  });
  const auto* matmul = std::get_if<Matmul>(&instruction.operands);
  if (matmul != nullptr && matmul->accumulate) finite_before_ = !first_not_finite(matmul->dst, state);
}

void ValueWatch::after(const Instruction& instruction, State& state) {
  if (!state.on_event) return;
  int partition = 0;               // of the destination,
  std::int64_t lane_elements = 0;  // and its elements per partition; 0: in HBM
  std::optional<Spot> made;
  const bool looks = !found_finite_ && !only_moves(instruction) && !by_index(instruction);
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if (role != Role::write) return;
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (lane_elements == 0) partition = pattern.partition;
      if (lane_elements == 0) lane_elements = pattern.elements();
    }
    if (looks && !made) made = first_not_finite(pattern, state);
  });
  if (made) all_finite_ = false;
  if (saturation_.values() > 0) {
    const bool through = info(instruction.opcode).is_dma() && lane_elements != 0;
    state.on_event({.kind = DataEvent::Kind::saturated,
                    .partition = through ? partition + static_cast<int>(saturation_.element() / lane_elements)
                                         : saturation_.partition(),
                    .element = through ? saturation_.element() % lane_elements : saturation_.element(),
                    .value = saturation_.value(),
                    .count = saturation_.values()});
    return;
  }
  if (!made || !finite_before_ || !scalars_are_finite(instruction.operands)) return;
  bool finite = true, has_source = false;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if (role != Role::read || !finite) return;
    has_source = true;
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>) {
      if (overlaps_any_write(instruction, pattern)) return;  // looked at before
    }
    finite = !first_not_finite(pattern, state);
  });
  const bool is_matmul = instruction.opcode == Opcode::matmul;
  if (is_matmul && finite) {
    for (const Stationary& s : state.stationaries) {
      for (std::size_t i = 0; finite && i < s.values.size(); ++i) finite = std::isfinite(s.values[i]);
    }
  }
  // A lane's accumulator has no operand to look at: it counts unless its terms were reported already.
  if (!finite || (!has_source && anything_reported_)) return;
  anything_reported_ = true;
  state.on_event({.kind = DataEvent::Kind::not_finite,
                  .partition = made->partition,
                  .element = made->element,
                  .value = made->value});
}

}  // namespace ncemu
