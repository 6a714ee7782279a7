#include "isa/codec.h"

#include "isa/codec_layout.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

using namespace layout;

// Positions count from the first byte of the instruction's first word.
class Writer {
 public:
  Writer(std::span<std::byte> bytes, std::size_t at, std::uint16_t opcode)
      : bytes_(bytes), at_(at), opcode_(opcode) {}
  std::size_t at() const { return at_; }
  unsigned kinds() const { return kinds_; }

  void bits(std::string_view, std::uint64_t& value, std::size_t bytes) {
    ensure(at_ + bytes <= bytes_.size(), "the operands of every form fit the instruction's words");
    for (std::size_t i = 0; i < bytes; ++i) bytes_[at_ + i] = static_cast<std::byte>(value >> (8 * i));
    at_ += bytes;
  }
  // An operand that does not fit the rest of the word begins a further one.
  void make_room(std::size_t bytes) {
    const std::size_t left = word_bytes - at_ % word_bytes;
    if (bytes <= left) return;
    reserved(left);
    transfer_further_header(*this, opcode_);
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
  std::span<std::byte> bytes_;
  std::size_t at_;
  std::uint16_t opcode_;
  unsigned kinds_ = 0;
  unsigned slot_ = 0;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  std::size_t at() const { return at_; }
  void set_kinds(unsigned kinds) { kinds_ = kinds; }
  void scope(std::string_view operand) { operand_ = operand; }
  void note(std::string_view) {}

  void bits(std::string_view, std::uint64_t& value, std::size_t bytes) {
    if (at_ + bytes > bytes_.size()) {
      throw Fault(FaultKind::input, where_, "the operands need more than the {} words of the instruction",
                  bytes_.size() / word_bytes);
    }
    field_at_ = at_;
    found_ = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      found_ |= std::to_integer<std::uint64_t>(bytes_[at_ + i]) << (8 * i);
    at_ += bytes;
    value = found_;
  }
  void make_room(std::size_t bytes) {
    const std::size_t left = word_bytes - at_ % word_bytes;
    if (bytes <= left) return;
    operand_ = {};
    reserved(left);
    transfer_further_header(*this, opcode_);
  }
  void set_opcode(std::uint16_t opcode) { opcode_ = opcode; }
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
    in_hbm =
        at_ < bytes_.size() && std::to_integer<unsigned>(bytes_[at_]) == static_cast<unsigned>(Space::hbm);
  }
  void end() {
    if (kinds_ != 0) fail("flags", 2, kinds_, "no operand kinds beyond those of the form");
    operand_ = {};
    reserved(bytes_.size() - at_);
  }
  static constexpr bool reads = true;
  static constexpr bool describes = false;

 private:
  [[noreturn]] void fail(std::string_view name, std::size_t at, std::uint64_t found,
                         std::string_view expected) const {
    throw Fault(FaultKind::input, where_, "byte {} of the instruction word ({}{}{}): found {}, expected {}",
                at, operand_, operand_.empty() ? "" : " ", name, found, expected);
  }

  std::span<const std::byte> bytes_;
  const std::string& where_;
  std::uint16_t opcode_ = 0;
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

constexpr std::size_t words_byte = 14;  // of the header

void encode_into(const Instruction& instruction, std::span<std::byte> bytes) {
  Operands operands = instruction.operands;
  const InstructionInfo& row = info(instruction.opcode);
  const auto opcode = static_cast<std::uint16_t>(instruction.opcode);
  ensure(operands.index() == row.form, "an instruction's operands have the form of its row");
  try {
    Writer body(bytes, header_bytes, opcode);
    transfer_count(body, operands);
    for_each_field(operands, Operand<Writer>{body});
    Header header{opcode, 0, static_cast<std::uint8_t>(bytes.size() / word_bytes),
                  canonical(instruction.wait), canonical(instruction.update)};
    header.flags = static_cast<std::uint16_t>(body.kinds() << kinds_shift);
    if (header.wait.value_is_register) header.flags |= wait_register_flag;
    Writer head(bytes, 0, opcode);
    transfer(head, header);
    ensure(head.at() == header_bytes, "the header has 16 bytes");
  } catch (const Fault& fault) {
    if (fault.kind() == FaultKind::internal) throw;
    throw Fault(FaultKind::input, std::string(row.mnemonic), "{}", fault.message());
  }
}

}  // namespace

std::size_t word_count(const Instruction& instruction) {
  const auto* compute = std::get_if<DmaCompute>(&instruction.operands);
  if (compute == nullptr || compute->sources.empty()) return 1;
  return 1 + (compute->sources.size() - 1 + sources_per_further_word - 1) / sources_per_further_word;
}

std::size_t word_count(std::span<const std::byte, word_bytes> first) {
  return std::max<std::size_t>(1, std::to_integer<std::size_t>(first[words_byte]));
}

std::vector<Word> encode_words(const Instruction& instruction) {
  const std::size_t count = word_count(instruction);
  std::vector<Word> words(count);
  encode_into(instruction, std::as_writable_bytes(std::span(words)));
  return words;
}

Word encode(const Instruction& instruction) {
  ensure(word_count(instruction) == 1, "an instruction of one word");
  Word word{};
  encode_into(instruction, word);
  return word;
}

Instruction decode(std::span<const std::byte> bytes, const std::string& where) {
  ensure(bytes.size() >= word_bytes && bytes.size() % word_bytes == 0, "whole words are decoded");
  Reader reader(bytes, where);
  Header header;
  transfer(reader, header);
  check_header(header, where);
  Instruction instruction;
  instruction.opcode = static_cast<Opcode>(header.opcode);
  instruction.wait = header.wait;
  instruction.update = header.update;
  instruction.operands = default_operands(instruction.opcode);
  reader.set_opcode(header.opcode);
  reader.set_kinds(static_cast<unsigned>(header.flags) >> kinds_shift);
  transfer_count(reader, instruction.operands);
  const std::size_t needed = word_count(instruction);
  if (header.words != needed || bytes.size() != needed * word_bytes) {
    throw Fault(FaultKind::input, where,
                "byte {} of the instruction word (words): found {} and {} bytes, the operands take {} word{}",
                words_byte, header.words, bytes.size(), needed, needed == 1 ? "" : "s");
  }
  for_each_field(instruction.operands, Operand<Reader>{reader});
  reader.end();
  return instruction;
}

}  // namespace ncemu
