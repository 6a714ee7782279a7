#pragma once

// The layout of the instruction word (codec.h). Each structure of the word is transferred by one function
// template, `transfer(io, structure)`, that names its fields once. A Writer makes bytes of them, a Reader
// reads and checks bytes (codec.cpp), a Describer prints the layout (encoding.cpp).

#include <bit>
#include <string_view>
#include <type_traits>

#include "isa/codec.h"
#include "isa/fault.h"

namespace ncemu::layout {

inline constexpr std::size_t header_bytes = 16;
inline constexpr std::size_t pattern_bytes = 32;
inline constexpr std::size_t memory_operand_bytes = 48;
inline constexpr std::size_t scalar_operand_bytes = 8;
inline constexpr std::size_t integer_operand_bytes = 4;

// The first word holds one source of dma_compute, each further one two: a source is a memory operand and an
// f32.
inline constexpr std::size_t sources_per_further_word = 2;
inline constexpr std::size_t most_words =
    1 + (DmaCompute::most_sources - 1 + sources_per_further_word - 1) / sources_per_further_word;

// The offset of an HBM pattern has 56 bits, so that two patterns and an index pointer fit one word.
inline constexpr std::size_t hbm_offset_bytes = 7;

// Kinds of scalar and integer operands in the header's flags: the alternatives of ScalarOperand.
inline constexpr unsigned kind_bits = 3;
inline constexpr unsigned kind_slots = 4;
// IntOperand has two of these alternatives: i32 and register.
inline constexpr unsigned first_integer_kind = 2;

inline constexpr unsigned wait_register_flag = 1;
inline constexpr unsigned kinds_shift = 1;
inline constexpr unsigned flags_in_use = 1 + kind_bits * kind_slots;

// Which alternative a variant's constructor by index takes, at run time.
template <typename Variant, std::size_t I = 0>
Variant make_alternative(std::size_t index) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (index == I) return Variant(std::in_place_index<I>);
    return make_alternative<Variant, I + 1>(index);
  }
  throw Fault(FaultKind::internal, "ncemu", "no alternative {}", index);
}

// ---- fields ---------------------------------------------------------------------------------

// Numbers, enumerations, booleans and the small types with one number.
template <typename Io, typename T>
void field(Io& io, std::string_view name, T& value) {
  std::uint64_t raw = 0;
  if constexpr (std::is_same_v<T, Register>) {
    raw = value.number;
    io.note("register, 255: none");
    io.bits(name, raw, 1);
    value.number = static_cast<std::uint8_t>(raw);
  } else if constexpr (std::is_same_v<T, BranchTarget>) {
    raw = value.index;
    io.note("index in the stream");
    io.bits(name, raw, 4);
    value.index = static_cast<std::uint32_t>(raw);
  } else if constexpr (std::is_same_v<T, float>) {
    raw = std::bit_cast<std::uint32_t>(value);
    io.note("f32");
    io.bits(name, raw, 4);
    value = std::bit_cast<float>(static_cast<std::uint32_t>(raw));
  } else if constexpr (std::is_same_v<T, bool>) {
    raw = value ? 1 : 0;
    io.note("0 or 1");
    io.bits(name, raw, 1);
    io.check(name, raw <= 1, "0 or 1");
    value = raw != 0;
  } else if constexpr (std::is_enum_v<T>) {
    const std::size_t count = names<T>().size();
    raw = static_cast<std::uint64_t>(value);
    if constexpr (Io::describes) io.template enumeration<T>();
    io.bits(name, raw, 1);
    io.check(name, raw < count, fmt::format("0 to {}", count - 1));
    value = static_cast<T>(raw);
  } else {
    static_assert(std::is_integral_v<T>);
    raw = static_cast<std::make_unsigned_t<T>>(value);
    if constexpr (Io::describes) io.note(fmt::format("{}{}", std::is_signed_v<T> ? "i" : "u", 8 * sizeof(T)));
    io.bits(name, raw, sizeof(T));
    value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(raw));
  }
}

// The memory of an on-chip operand.
template <typename Io>
void on_chip_space(Io& io, Space& space) {
  std::uint64_t raw = static_cast<std::uint64_t>(space);
  io.note("0 sbuf, 1 psum");
  io.bits("space", raw, 1);
  io.check("space", raw < static_cast<std::uint64_t>(Space::hbm), "0 (sbuf) or 1 (psum)");
  space = static_cast<Space>(raw);
}

// The step of an absent index register means nothing and is zero.
template <typename Io>
void index_stride(Io& io, Register index, std::int32_t& step) {
  if (!index.present()) step = 0;
  field(io, "index stride", step);
  io.check("index stride", index.present() || step == 0, "0, as there is no index register");
}

template <typename Io, typename Dims>
void dimensions(Io& io, Dims& dims) {
  static constexpr std::string_view steps[] = {"step 0", "step 1", "step 2", "step 3"};
  static constexpr std::string_view counts[] = {"count 0", "count 1", "count 2", "count 3"};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    field(io, steps[i], dims[i].step);
    field(io, counts[i], dims[i].count);
  }
}

template <typename Io>
void transfer(Io& io, AccessPattern& p) {
  on_chip_space(io, p.space);
  field(io, "type", p.dtype);
  field(io, "partition", p.partition);
  field(io, "partitions", p.partitions);
  field(io, "offset", p.offset);
  dimensions(io, p.dims);
  field(io, "index", p.index);
  io.reserved(3);
  index_stride(io, p.index, p.index_step);
}

template <typename Io>
void transfer(Io& io, HbmPattern& p) {
  Space space = Space::hbm;
  field(io, "space", space);
  field(io, "type", p.dtype);
  field(io, "tensor", p.tensor);
  Register index = p.index;
  std::int32_t step = p.index.present() ? p.index_step : 0;
  field(io, "index stride", step);
  const std::int64_t limit = std::int64_t{1} << (8 * hbm_offset_bytes - 1);
  auto raw = static_cast<std::uint64_t>(p.offset);
  io.note("i56, elements");
  if constexpr (!Io::reads) io.check("offset", p.offset >= -limit && p.offset < limit, "56 bits");
  io.bits("offset", raw, hbm_offset_bytes);
  constexpr unsigned unused = 64 - 8 * hbm_offset_bytes;
  p.offset = static_cast<std::int64_t>(raw << unused) >> unused;
  field(io, "index", index);
  io.check("index", index.present() || step == 0, "a register, as there is an index stride");
  p.index = index;
  p.index_step = step;
  dimensions(io, p.dims);
}

template <typename Io>
void transfer(Io& io, AffineDims& a) {
  dimensions(io, a.dims);
}

template <typename Io>
void transfer(Io& io, PointerOperand& p) {
  on_chip_space(io, p.space);
  field(io, "type", p.dtype);
  field(io, "partition", p.partition);
  io.reserved(1);
  field(io, "offset", p.offset);
}

template <typename Io>
void transfer(Io& io, MemoryOperand& m) {
  const std::size_t end = io.at() + memory_operand_bytes;
  bool in_hbm = std::holds_alternative<HbmPattern>(m);
  io.alternative(in_hbm);
  if constexpr (Io::reads) m = in_hbm ? MemoryOperand(HbmPattern{}) : MemoryOperand(AccessPattern{});
  std::visit([&](auto& pattern) { transfer(io, pattern); }, m);
  io.reserved(end - io.at());
}

template <typename Io>
void transfer_alternative(Io&, std::monostate&) {}
template <typename Io>
void transfer_alternative(Io& io, PointerOperand& pointer) {
  transfer(io, pointer);
}
template <typename Io, typename T>
void transfer_alternative(Io& io, T& value) {
  field(io, "value", value);
}

// A scalar or integer operand: its kind in the header, its value in a fixed room.
template <typename Io, typename Variant>
void transfer_kinds(Io& io, std::string_view name, Variant& value, unsigned first, std::size_t bytes) {
  const std::size_t end = io.at() + bytes;
  unsigned kind = static_cast<unsigned>(value.index()) + first;
  io.kind(name, kind, first, first + static_cast<unsigned>(std::variant_size_v<Variant>) - 1);
  if constexpr (Io::reads) value = make_alternative<Variant>(kind - first);
  std::visit([&](auto& v) { transfer_alternative(io, v); }, value);
  io.reserved(end - io.at());
}

// A pattern or nothing, as the kinds 1 and 0.
template <typename Io>
void transfer_optional(Io& io, std::string_view name, std::optional<AccessPattern>& pattern) {
  unsigned kind = pattern ? 1 : 0;
  io.kind(name, kind, 0, 1);
  if constexpr (Io::reads) pattern = kind != 0 ? std::optional<AccessPattern>(std::in_place) : std::nullopt;
  if (pattern)
    transfer(io, *pattern);
  else
    io.reserved(pattern_bytes);
}

// One operand of a form.
template <typename Io>
struct Operand {
  Io& io;
  template <typename T>
  void operator()(std::string_view name, T& value, Role) {
    if constexpr (std::is_same_v<T, MemoryOperand>) io.make_room(memory_operand_bytes);
    io.scope(name);
    if constexpr (std::is_same_v<T, ScalarOperand>) {
      transfer_kinds(io, name, value, 0, scalar_operand_bytes);
    } else if constexpr (std::is_same_v<T, IntOperand>) {
      transfer_kinds(io, name, value, first_integer_kind, integer_operand_bytes);
    } else if constexpr (std::is_same_v<T, AccessPattern> || std::is_same_v<T, MemoryOperand> ||
                         std::is_same_v<T, AffineDims>) {
      transfer(io, value);
    } else if constexpr (std::is_same_v<T, std::optional<AccessPattern>>) {
      transfer_optional(io, name, value);
    } else if constexpr (std::is_same_v<T, ArrayPair>) {
      field(io, "row", value.row);
      field(io, "column", value.column);
    } else if constexpr (std::is_same_v<T, ShuffleMask>) {
      for (std::uint8_t& lane : value.source) field(io, "lane", lane);
    } else {
      io.scope({});
      field(io, name, value);
    }
  }
};

// Ahead of the operands of dma_compute: how many sources follow.
template <typename Io>
void transfer_count(Io& io, Operands& operands) {
  auto* compute = std::get_if<DmaCompute>(&operands);
  if (compute == nullptr) return;
  auto count = static_cast<std::uint8_t>(compute->sources.size());
  field(io, "sources", count);
  io.check("sources", count >= 1 && count <= DmaCompute::most_sources,
           fmt::format("1 to {}", DmaCompute::most_sources));
  if constexpr (Io::reads) compute->sources.assign(count, {});
}

struct Header {
  std::uint16_t opcode = 0;
  std::uint16_t flags = 0;
  std::uint8_t words = 1;
  Wait wait;
  Update update;
};

template <typename Io>
void transfer(Io& io, Header& h) {
  field(io, "opcode", h.opcode);
  if constexpr (Io::reads)
    io.check("opcode", find_instruction(h.opcode) != nullptr, "a code of the instruction table");
  field(io, "flags", h.flags);
  field(io, "wait semaphore", h.wait.semaphore);
  field(io, "wait condition", h.wait.condition);
  field(io, "wait value", h.wait.value);
  field(io, "update semaphore", h.update.semaphore);
  field(io, "update operation", h.update.operation);
  field(io, "update when", h.update.when);
  io.reserved(1);
  field(io, "update value", h.update.value);
  field(io, "words", h.words);
  io.check("words", h.words >= 1 && h.words <= most_words, fmt::format("1 to {}", most_words));
  io.reserved(1);
}

// The header of a further word: the opcode again and 0 in place of the number of words.
template <typename Io>
void transfer_further_header(Io& io, std::uint16_t opcode) {
  const std::uint16_t expected = opcode;
  field(io, "opcode", opcode);
  io.check("opcode", opcode == expected, fmt::format("{}, as in the first word", expected));
  io.reserved(header_bytes - sizeof opcode);
}

}  // namespace ncemu::layout
