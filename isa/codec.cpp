#include "isa/codec.h"

#include "isa/codec_layout.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

using namespace layout;

class Writer {
 public:
  explicit Writer(Word& word, std::size_t at) : word_(word), at_(at) {}
  std::size_t at() const { return at_; }
  unsigned kinds() const { return kinds_; }

  void bits(std::string_view, std::uint64_t& value, std::size_t bytes) {
    ensure(at_ + bytes <= word_bytes, "the operands of every form fit one instruction word");
    for (std::size_t i = 0; i < bytes; ++i) word_[at_ + i] = static_cast<std::byte>(value >> (8 * i));
    at_ += bytes;
  }
  void check(std::string_view name, bool holds, std::string_view expected) const {
    if (!holds)
      throw Fault(FaultKind::input, "", "{} does not fit the instruction word: expected {}", name, expected);
  }
  void reserved(std::size_t bytes) {
    std::uint64_t zero = 0;
    for (; bytes > 0; --bytes) bits("reserved", zero, 1);
  }
  void kind(std::string_view, unsigned& kind, unsigned, unsigned) {
    ensure(slot_ < kind_slots, "the header has room for the kinds of four scalar operands");
    kinds_ |= kind << (kind_bits * slot_++);
  }
  // Whether the next pattern lies in HBM; what follows names its space itself.
  void alternative(bool&) {}
  void note(std::string_view) {}
  void scope(std::string_view) {}
  static constexpr bool reads = false;
  static constexpr bool describes = false;

 private:
  Word& word_;
  std::size_t at_;
  unsigned kinds_ = 0;
  unsigned slot_ = 0;
};

class Reader {
 public:
  Reader(std::span<const std::byte, word_bytes> word, const std::string& where)
      : word_(word), where_(where) {}
  std::size_t at() const { return at_; }
  void set_kinds(unsigned kinds) { kinds_ = kinds; }
  void scope(std::string_view operand) { operand_ = operand; }
  void note(std::string_view) {}

  void bits(std::string_view, std::uint64_t& value, std::size_t bytes) {
    ensure(at_ + bytes <= word_bytes, "the operands of every form fit one instruction word");
    field_at_ = at_;
    found_ = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      found_ |= std::to_integer<std::uint64_t>(word_[at_ + i]) << (8 * i);
    at_ += bytes;
    value = found_;
  }
  // About the field read last.
  void check(std::string_view name, bool holds, std::string_view expected) const {
    if (!holds) fail(name, field_at_, found_, expected);
  }
  void reserved(std::size_t bytes) {
    std::uint64_t value = 0;
    for (; bytes > 0; --bytes) {
      bits("reserved", value, 1);
      check("reserved", value == 0, "0");
    }
  }
  void kind(std::string_view, unsigned& kind, unsigned first, unsigned last) {
    kind = kinds_ & ((1U << kind_bits) - 1);
    kinds_ >>= kind_bits;
    if (kind < first || kind > last) {
      fail("kind in the header's flags", 2, kind, fmt::format("{} to {}", first, last));
    }
  }
  void alternative(bool& in_hbm) {
    in_hbm = std::to_integer<unsigned>(word_[at_]) == static_cast<unsigned>(Space::hbm);
  }
  void end() {
    if (kinds_ != 0) fail("flags", 2, kinds_, "no operand kinds beyond those of the form");
    operand_ = {};
    reserved(word_bytes - at_);
  }
  static constexpr bool reads = true;
  static constexpr bool describes = false;

 private:
  [[noreturn]] void fail(std::string_view name, std::size_t at, std::uint64_t found,
                         std::string_view expected) const {
    throw Fault(FaultKind::input, where_, "byte {} of the instruction word ({}{}{}): found {}, expected {}",
                at, operand_, operand_.empty() ? "" : " ", name, found, expected);
  }

  std::span<const std::byte, word_bytes> word_;
  const std::string& where_;
  std::size_t at_ = 0;
  unsigned kinds_ = 0;
  std::string_view operand_;
  std::size_t field_at_ = 0;
  std::uint64_t found_ = 0;
};

bool has_value(UpdateOperation operation) {
  return operation == UpdateOperation::sem_add_imm || operation == UpdateOperation::sem_sub_imm ||
         operation == UpdateOperation::sem_wr_imm;
}

// Fields without meaning are zero in the word: all of an absent wait or update, and the value of an
// update that takes none.
Wait canonical(const Wait& wait) { return wait.present() ? wait : Wait{}; }
Update canonical(Update update) {
  if (!update.present()) return {.when = UpdateWhen::read};  // encoded as zero
  if (!has_value(update.operation)) update.value = 0;
  return update;
}

// What the fields of the header must agree on.
void check_header(Header& h, const std::string& where) {
  const auto expect = [&](bool holds, int byte, std::string_view name, std::string_view message) {
    if (!holds)
      throw Fault(FaultKind::input, where, "byte {} of the instruction word ({}): {}", byte, name, message);
  };
  h.wait.value_is_register = (h.flags & wait_register_flag) != 0;
  expect((h.flags >> flags_in_use) == 0, 2, "flags", "reserved bits are set");
  expect(h.wait.present() || h.wait == Wait{}, 4, "wait", "not zero, but there is no wait");
  expect(has_value(h.update.operation) || h.update.value == 0, 12, "update value",
         "not zero, but it has no meaning");
  if (h.update.present()) return;
  expect(h.update.semaphore == 0 && h.update.when == UpdateWhen::read, 8, "update",
         "not zero, but there is no update");
  h.update = {};
}

}  // namespace

Word encode(const Instruction& instruction) {
  Word word{};
  Operands operands = instruction.operands;
  const InstructionInfo& row = info(instruction.opcode);
  ensure(operands.index() == row.form, "an instruction's operands have the form of its row");
  try {
    Writer body(word, header_bytes);
    for_each_field(operands, Operand<Writer>{body});
    Header header{static_cast<std::uint16_t>(instruction.opcode), 0, canonical(instruction.wait),
                  canonical(instruction.update)};
    header.flags = static_cast<std::uint16_t>(body.kinds() << kinds_shift);
    if (header.wait.value_is_register) header.flags |= wait_register_flag;
    Writer head(word, 0);
    transfer(head, header);
    ensure(head.at() == header_bytes, "the header has 16 bytes");
  } catch (const Fault& fault) {
    if (fault.kind() == FaultKind::internal) throw;
    throw Fault(FaultKind::input, std::string(row.mnemonic), "{}", fault.message());
  }
  return word;
}

Instruction decode(std::span<const std::byte, word_bytes> word, const std::string& where) {
  Reader reader(word, where);
  Header header;
  transfer(reader, header);
  check_header(header, where);
  Instruction instruction;
  instruction.opcode = static_cast<Opcode>(header.opcode);
  instruction.wait = header.wait;
  instruction.update = header.update;
  instruction.operands = default_operands(instruction.opcode);
  reader.set_kinds(static_cast<unsigned>(header.flags) >> kinds_shift);
  for_each_field(instruction.operands, Operand<Reader>{reader});
  reader.end();
  return instruction;
}

}  // namespace ncemu
