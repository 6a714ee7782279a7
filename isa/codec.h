#pragma once

// Instructions to and from 128-byte words, little-endian (README.md of this room and
// `ncemu isa --encoding` show the layout). The vendor's own encoding is not public; this one is ours.

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "isa/instruction.h"

namespace ncemu {

inline constexpr std::size_t word_bytes = 128;
using Word = std::array<std::byte, word_bytes>;

// Words of an instruction: 1 for all but dma_compute, whose further sources continue in further words.
std::size_t word_count(const Instruction& instruction);
// The number that the first word of an instruction gives; at least 1, whatever the word.
std::size_t word_count(std::span<const std::byte, word_bytes> first);

std::vector<Word> encode_words(const Instruction& instruction);
// Of an instruction of one word.
Word encode(const Instruction& instruction);
// `bytes`: all words of one instruction. Throws Fault(input, where, ...) on an unknown opcode, a value
// outside an enumeration or a reserved bit set.
Instruction decode(std::span<const std::byte> bytes, const std::string& where);

// The layout of the header, of each operand type and of each form, as text.
std::string describe_encoding();

}  // namespace ncemu
