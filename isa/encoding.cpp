// The layout of the instruction word as text: the same visitors as the codec's.

#include <fmt/format.h>

#include <optional>

#include "isa/codec.h"
#include "isa/codec_layout.h"

namespace ncemu {
namespace {

using namespace layout;

constexpr std::string_view kind_names[] = {"none", "f32", "i32", "register", "pointer"};

// "0 sbuf, 1 psum, 2 hbm"
template <typename E>
std::string numbered_names() {
  std::string text;
  for (std::size_t i = 0; i < names<E>().size(); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", i, names<E>()[i]);
  }
  return text;
}

// Long enumerations are listed once, at the end.
template <typename E>
constexpr std::string_view long_name = {};
template <>
constexpr std::string_view long_name<DType> = "element type";
template <>
constexpr std::string_view long_name<AluOp> = "operator";
template <>
constexpr std::string_view long_name<ActivationFunction> = "activation function";

class Describer {
 public:
  explicit Describer(std::size_t at) : at_(at) {}
  std::size_t at() const { return at_; }
  const std::string& text() const { return text_; }

  void line(std::string_view name, std::size_t bytes, std::string_view note) {
    text_ += fmt::format("  {:>4} {:>5}  {:<16} {}\n", at_, bytes, name, note);
    at_ += bytes;
  }
  void bits(std::string_view name, std::uint64_t&, std::size_t bytes) {
    line(name, bytes, note_);
    note_ = {};
  }
  void check(std::string_view, bool, std::string_view) const {}
  void note(std::string_view text) { note_ = text; }
  template <typename E>
  void enumeration() {
    note_ = long_name<E>.empty() ? numbered_names<E>() : std::string(long_name<E>);
  }
  void reserved(std::size_t bytes) {
    if (bytes > 0) line("reserved", bytes, "zero");
  }
  void kind(std::string_view, unsigned&, unsigned, unsigned) {}
  void alternative(bool&) {}
  void make_room(std::size_t) {}
  void scope(std::string_view) {}
  static constexpr bool reads = false;
  static constexpr bool describes = true;

 private:
  std::size_t at_;
  std::string text_;
  std::string note_;
};

// The layout of a form: composite operands in one line, their structure is described once.
struct DescribeOperand {
  Describer& io;
  template <typename T>
  void operator()(std::string_view name, T& value, Role) {
    if constexpr (std::is_same_v<T, ScalarOperand>) {
      io.line(name, scalar_operand_bytes, "scalar operand");
    } else if constexpr (std::is_same_v<T, IntOperand>) {
      io.line(name, integer_operand_bytes, "integer operand");
    } else if constexpr (std::is_same_v<T, AccessPattern>) {
      io.line(name, pattern_bytes, "on-chip pattern");
    } else if constexpr (std::is_same_v<T, std::optional<AccessPattern>>) {
      io.line(name, pattern_bytes, "on-chip pattern if its kind is 1, else (kind 0) zero");
    } else if constexpr (std::is_same_v<T, ArrayPair>) {
      io.line(name, sizeof(ArrayPair), "u8 each: row, column");
    } else if constexpr (std::is_same_v<T, ShuffleMask>) {
      io.line(name, value.source.size(), "u8 each: source lane, 255: unchanged");
    } else if constexpr (std::is_same_v<T, MemoryOperand>) {
      io.line(name, memory_operand_bytes, "memory operand");
    } else if constexpr (std::is_same_v<T, AffineDims>) {
      io.line(name, 24, "affine dimensions");
    } else {
      field(io, name, value);
    }
  }
};

constexpr std::string_view column_heads = "  byte bytes  field\n";

template <typename T>
std::string describe_structure(std::string_view title, T value) {
  Describer io(0);
  transfer(io, value);
  return fmt::format("{} ({} bytes)\n{}{}\n", title, io.at(), column_heads, io.text());
}

std::string further_words() {
  return fmt::format(
      "  Sources from the second on follow in further words of {}: 16 bytes with the opcode in the first two "
      "and\n"
      "  zeros, then for each source a memory operand and its scale. The header's `words` counts all "
      "words.\n",
      sources_per_further_word);
}

}  // namespace

std::string describe_encoding() {
  std::string text =
      "One instruction is one word of 128 bytes, little-endian: a header, then the operands in the order of\n"
      "their form (dma_compute with several sources takes more). Everything reserved, unused or without "
      "meaning is zero. The layout is ncemu's own; the\n"
      "vendor's encoding is not public.\n\n";
  text += describe_structure("header", Header{});
  text += "flags\n   bit 0       the wait's value is the number of a register\n";
  for (unsigned slot = 0; slot < kind_slots; ++slot) {
    const unsigned first = kinds_shift + slot * kind_bits;
    text +=
        fmt::format("   bits {:>2}-{:<3}  kind of scalar, integer or optional operand {}, in form order\n",
                    first, first + kind_bits - 1, slot);
  }
  text += "   kinds      ";
  for (unsigned kind = 0; kind < std::size(kind_names); ++kind)
    text += fmt::format(" {} {}", kind, kind_names[kind]);
  text += "\n\n";
  text += describe_structure("on-chip pattern", AccessPattern{});
  text += describe_structure("HBM pattern", HbmPattern{});
  text += fmt::format(
      "memory operand ({} bytes)\n  an HBM pattern if its first byte is {}, else an on-chip pattern and {} "
      "reserved bytes\n\n",
      memory_operand_bytes, static_cast<int>(Space::hbm), memory_operand_bytes - 32);
  text += describe_structure("affine dimensions", AffineDims{});
  text += describe_structure("pointer operand", PointerOperand{});
  text += fmt::format(
      "scalar operand ({} bytes)\n  by its kind: zeros, an f32, an i32, a register (1 byte) or a pointer "
      "operand; the rest is zero\n\n",
      scalar_operand_bytes);
  text += fmt::format(
      "integer operand ({} bytes)\n  by its kind: an i32 or a register (1 byte); the rest is zero\n",
      integer_operand_bytes);

  for (std::size_t form = 0; form < std::variant_size_v<Operands>; ++form) {
    std::string rows;
    std::optional<Operands> operands;
    for (const InstructionInfo& row : all_instructions()) {
      if (row.form != form) continue;
      if (!operands) operands = default_operands(row.opcode);
      rows += fmt::format("{}{} (0x{:02x})", rows.empty() ? "" : ", ", row.mnemonic,
                          static_cast<unsigned>(row.opcode));
    }
    if (!operands) continue;
    Describer io(header_bytes);
    transfer_count(io, *operands);
    for_each_field(*operands, DescribeOperand{io});
    if (io.at() < word_bytes) io.reserved(word_bytes - io.at());
    text += fmt::format("\n{}\n{}{}", rows, column_heads, io.text());
    if (std::holds_alternative<DmaCompute>(*operands)) text += further_words();
  }
  text += fmt::format("\nelement types\n  {}\n\noperators\n  {}\n\nactivation functions\n  {}\n",
                      numbered_names<DType>(), numbered_names<AluOp>(), numbered_names<ActivationFunction>());
  return text;
}

}  // namespace ncemu
