#include "tests/support/mutate.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace ncemu::test {
namespace {

const char* const words[] = {".for i in 0 .. 1000000000000\n",
                             ".end\n",
                             ".else\n",
                             ".if true\n",
                             ".macro q(a)\n",
                             "q(1)\n",
                             "9223372036854775807",
                             ".ap(sbuf, f32, 0, 128, 0, [[1, 4]])",
                             ".hbm(x, f32, 0, [[1, 4]])",
                             "r63",
                             ".loop r = 0 .. r1\n",
                             ".scope\n",
                             ".engine scalar\n",
                             "[",
                             "(",
                             "..",
                             ":+",
                             "1e308",
                             "bits(1)",
                             ".include \"fuzz.nca\"\n",
                             "max(",
                             "t[1]",
                             ".sync manual\n",
                             ".const c : f32[1000000, 1000000] = iota\n",
                             ".broadcast(1, 70000)",
                             "inf",
                             "-",
                             "not ",
                             "? 1 : ",
                             ".as(u16)",
                             ", engine = gpsimd",
                             ", engine = scalar",
                             "[:, 0:1]",
                             "[0:0]",
                             "nan",
                             "-1e30",
                             "f8e4m3",
                             "i8",
                             "accumulate = true",
                             "65536",
                             "129",
                             "load_stationary w\n",
                             ".machine trn2\n"};

constexpr int awkward_numbers[] = {0,  1,  2,  3,   5,   8,   15,  16,  17,  31, 32,
                                   33, 63, 64, 127, 128, 129, 255, 511, 512, 513};

struct Token {
  std::size_t at = 0, length = 0;
  bool number = false;
};

// Words and numbers.
std::vector<Token> tokens(const std::string& text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  std::vector<Token> all;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (digit(text[end]) || letter(text[end]))) ++end;
    if (end > i) all.push_back({i, end - i, digit(text[i])});
    i = std::max(end, i + 1);
  }
  return all;
}

}  // namespace

std::string mutate(std::string text, std::mt19937_64& random) {
  const auto pick = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  const std::string characters = " .,:[]()+-*/%<>=!&|^~?@\"#\\\n0123456789abcrxS";
  const int edits = 1 + static_cast<int>(pick(4));
  for (int i = 0; i < edits && !text.empty(); ++i) {
    const std::size_t at = pick(text.size());
    switch (pick(14)) {
      case 0: text.erase(at, 1 + pick(3)); break;
      case 1: text.insert(at, 1, static_cast<char>(random() & 0xFF)); break;
      case 2: text[at] = characters[pick(characters.size())]; break;
      case 3: text.insert(at, words[pick(std::size(words))]); break;
      case 4: text.insert(at, text.substr(pick(text.size()), pick(40))); break;
      case 5: text.erase(at, pick(40)); break;
      case 6: text.insert(at, std::to_string(static_cast<std::int64_t>(random()) >> pick(64))); break;
      case 7:
      case 8:
      case 9:
      case 10: {  // a number becomes another one
        std::vector<Token> numbers = tokens(text);
        std::erase_if(numbers, [](const Token& t) { return !t.number; });
        if (numbers.empty()) break;
        const Token t = numbers[pick(numbers.size())];
        text.replace(t.at, t.length, std::to_string(awkward_numbers[pick(std::size(awkward_numbers))]));
        break;
      }
      case 11:
      case 12: {  // a word takes the place of another
        std::vector<Token> names = tokens(text);
        std::erase_if(names, [](const Token& t) { return t.number; });
        if (names.empty()) break;
        const Token from = names[pick(names.size())], to = names[pick(names.size())];
        text.replace(to.at, to.length, text.substr(from.at, from.length));
        break;
      }
      default: {  // a line goes elsewhere
        const std::size_t begin = text.rfind('\n', at) == std::string::npos ? 0 : text.rfind('\n', at);
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(begin, end - begin);
        text.insert(pick(text.size()), line);
      }
    }
  }
  return text;
}

}  // namespace ncemu::test
