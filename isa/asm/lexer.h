#pragma once

// Text to tokens. A statement is a line; `\` at its end or an open bracket continues it.

#include <vector>

#include "isa/asm/report.h"
#include "isa/asm/source.h"

namespace ncemu::language {

// clang-format off
enum class TokenKind : std::uint8_t {
  end_of_file, end_of_line, name, integer, real, string,
  dot, range, comma, colon, question, at,
  left_paren, right_paren, left_bracket, right_bracket,
  assign, equal, not_equal, less, less_equal, greater, greater_equal,
  shift_left, shift_right, plus, minus, star, slash, floor_slash, percent, ampersand, bar, caret, tilde,
};
// clang-format on

struct Token {
  TokenKind kind = TokenKind::end_of_file;
  Where where;
  std::string_view text;     // of names; of strings without their quotes
  std::int64_t integer = 0;  // of integers
  double real = 0;           // of reals
  float single = 0;          // the same, rounded once from the decimal text
};

// Ends with end_of_line, end_of_file. Reports what it cannot read and goes on behind it.
std::vector<Token> tokenize(const Sources& sources, std::uint32_t file, Reporter& reporter);

// Words that open a line after a dot: `.for`, `.sbuf`, ...
const std::vector<std::string_view>& directive_names();

}  // namespace ncemu::language
