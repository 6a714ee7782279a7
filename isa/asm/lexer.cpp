#include "isa/asm/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace ncemu::language {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

struct Punctuation {
  std::string_view text;
  TokenKind kind;
};
// Longer ones first.
// clang-format off
constexpr Punctuation punctuation[] = {
  {"..", TokenKind::range},       {"==", TokenKind::equal},         {"!=", TokenKind::not_equal},
  {"<=", TokenKind::less_equal},  {">=", TokenKind::greater_equal}, {"<<", TokenKind::shift_left},
  {">>", TokenKind::shift_right}, {"//", TokenKind::floor_slash},
  {".", TokenKind::dot},          {",", TokenKind::comma},          {":", TokenKind::colon},
  {"?", TokenKind::question},     {"@", TokenKind::at},             {"(", TokenKind::left_paren},
  {")", TokenKind::right_paren},  {"[", TokenKind::left_bracket},   {"]", TokenKind::right_bracket},
  {"=", TokenKind::assign},       {"<", TokenKind::less},           {">", TokenKind::greater},
  {"+", TokenKind::plus},         {"-", TokenKind::minus},          {"*", TokenKind::star},
  {"/", TokenKind::slash},        {"%", TokenKind::percent},        {"&", TokenKind::ampersand},
  {"|", TokenKind::bar},          {"^", TokenKind::caret},          {"~", TokenKind::tilde},
};
// clang-format on

class Lexer {
 public:
  Lexer(const Sources& sources, std::uint32_t file, Reporter& reporter)
      : file_(file), text_(sources.file(file).text()), reporter_(reporter) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) step();
    if (!open_.empty()) never_closed();
    end_line();
    push(TokenKind::end_of_file, at_);
    return std::move(tokens_);
  }

 private:
  struct Bracket {
    char character;
    std::uint32_t offset;
  };

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Where from(std::uint32_t start) const { return {file_, start, at_ - start}; }

  Token& push(TokenKind kind, std::uint32_t start) {
    Token token;
    token.kind = kind;
    token.where = from(start);
    token.text = text_.substr(start, at_ - start);
    tokens_.push_back(token);
    return tokens_.back();
  }

  void end_line() {
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::end_of_line) push(TokenKind::end_of_line, at_);
  }

  void step() {
    const char c = peek();
    if (c == '\n') {
      newline();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && peek() != '\n') ++at_;
    } else if (c == '\\') {
      continuation();
    } else if (c == '"') {
      string();
    } else if (is_digit(c)) {
      number();
    } else if (is_name_start(c)) {
      const std::uint32_t start = at_;
      while (is_name_part(peek())) ++at_;
      push(TokenKind::name, start);
    } else {
      symbol();
    }
  }

  void newline() {
    if (open_.empty()) {
      end_line();
      ++at_;
      return;
    }
    ++at_;
    // A directive inside brackets: the bracket was forgotten, and the rest of the file is worth reading.
    std::size_t i = at_;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t')) ++i;
    if (i >= text_.size() || text_[i] != '.') return;
    std::size_t end = ++i;
    while (end < text_.size() && is_name_part(text_[end])) ++end;
    const std::string_view word = text_.substr(i, end - i);
    const bool call = end < text_.size() && text_[end] == '(';
    const auto& directives = directive_names();
    if (!call && std::find(directives.begin(), directives.end(), word) != directives.end()) {
      never_closed();
      --at_;
      end_line();
      ++at_;
    }
  }

  void never_closed() {
    const Bracket bracket = open_.back();
    open_.clear();
    reporter_.error({file_, bracket.offset, 1}, fmt::format("'{}' is never closed", bracket.character));
  }

  void continuation() {
    std::size_t i = at_ + 1;
    while (i < text_.size() && (text_[i] == ' ' || text_[i] == '\t' || text_[i] == '\r')) ++i;
    if (i < text_.size() && text_[i] != '\n') {
      reporter_.error({file_, at_, 1}, "'\\' continues a line and must be its last character");
      ++at_;
      return;
    }
    at_ = static_cast<std::uint32_t>(std::min(i + 1, text_.size()));
  }

  void string() {
    const std::uint32_t start = at_++;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n') ++at_;
    if (peek() != '"') {
      reporter_.error({file_, start, 1}, "the string does not end on its line");
      push(TokenKind::string, start).text = text_.substr(start + 1, at_ - start - 1);
      return;
    }
    ++at_;
    push(TokenKind::string, start).text = text_.substr(start + 1, at_ - start - 2);
  }

  void number() {
    const std::uint32_t start = at_;
    if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'b')) {
      const int base = peek(1) == 'x' ? 16 : 2;
      at_ += 2;
      while (is_name_part(peek())) ++at_;
      integer(start, start + 2, base);
      return;
    }
    const auto digits = [&] {
      while (is_digit(peek()) || (peek() == '_' && is_digit(peek(1)))) ++at_;
    };
    digits();
    bool real = false;
    if (peek() == '.' && is_digit(peek(1))) {
      real = true;
      ++at_;
      digits();
    } else if (peek() == '.' && peek(1) != '.' && !is_name_start(peek(1))) {
      real = true;  // "1."
      ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        real = true;
        at_ += static_cast<std::uint32_t>(1 + sign);
        digits();
      }
    }
    if (is_name_part(peek())) {
      while (is_name_part(peek())) ++at_;
      malformed(start);
      return;
    }
    if (!real) {
      integer(start, start, 10);
      return;
    }
    const std::string plain = without_separators(start);
    Token& token = push(TokenKind::real, start);
    const char* const end = plain.data() + plain.size();
    const auto out_of_range = std::errc::result_out_of_range;
    const bool bad = std::from_chars(plain.data(), end, token.real).ec == out_of_range;
    // A decimal beyond fp32 has no single value of its own: infinity or zero, as a rounding gives.
    if (std::from_chars(plain.data(), end, token.single).ec == out_of_range) {
      token.single =
          static_cast<float>(std::min(token.real, 1e300) > 1 ? std::numeric_limits<float>::infinity() : 0);
    }
    if (bad) reporter_.error(token.where, "the number is outside the range of a double");
  }

  std::string without_separators(std::uint32_t start) const {
    std::string plain(text_.substr(start, at_ - start));
    std::erase(plain, '_');
    return plain;
  }

  void integer(std::uint32_t start, std::uint32_t first_digit, int base) {
    std::string plain(text_.substr(first_digit, at_ - first_digit));
    std::erase(plain, '_');
    Token& token = push(TokenKind::integer, start);
    const char* const end = plain.data() + plain.size();
    const auto [stopped, code] = std::from_chars(plain.data(), end, token.integer, base);
    if (code == std::errc::result_out_of_range) {
      reporter_.error(token.where, fmt::format("{} does not fit in a 64-bit integer", token.text));
    } else if (code != std::errc{} || stopped != end) {
      malformed(start);
    }
  }

  void malformed(std::uint32_t start) {
    if (tokens_.empty() || tokens_.back().where.offset != start) push(TokenKind::integer, start);
    reporter_.error(from(start), fmt::format("'{}' is not a number", text_.substr(start, at_ - start)));
  }

  void symbol() {
    const std::uint32_t start = at_;
    for (const Punctuation& p : punctuation) {
      if (text_.substr(at_, p.text.size()) != p.text) continue;
      at_ += static_cast<std::uint32_t>(p.text.size());
      push(p.kind, start);
      bracket(p.text[0], start);
      return;
    }
    const auto byte = static_cast<unsigned char>(peek());
    ++at_;
    while (byte >= 0x80 && (static_cast<unsigned char>(peek()) & 0xC0U) == 0x80U)
      ++at_;  // one UTF-8 character
    if (byte < 0x20 || byte == 0x7F) {
      reporter_.error(from(start), fmt::format("the character 0x{:02x} has no meaning here", byte));
    } else {
      reporter_.error(from(start), fmt::format("the character '{}' has no meaning here",
                                               text_.substr(start, at_ - start)));
    }
  }

  void bracket(char c, std::uint32_t offset) {
    if (c == '(' || c == '[') open_.push_back({c, offset});
    // A bracket of the wrong kind is the parser's to report.
    if ((c == ')' || c == ']') && !open_.empty()) open_.pop_back();
  }

  std::uint32_t file_;
  std::string_view text_;
  Reporter& reporter_;
  std::uint32_t at_ = 0;
  std::vector<Bracket> open_;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const Sources& sources, std::uint32_t file, Reporter& reporter) {
  return Lexer(sources, file, reporter).run();
}

}  // namespace ncemu::language
