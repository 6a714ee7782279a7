#include "tools/command/source_blocks.h"

#include <algorithm>
#include <sstream>

#include "isa/asm/lexer.h"
#include "isa/asm/source.h"
#include "isa/fault.h"

namespace ncemu::command {
namespace {

constexpr std::string_view blanks = " \t\r";

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
}

// A head without its comment: ".for k in 0 .. KT".
std::string head(std::string_view line) { return trimmed(line.substr(0, line.find('#'))); }

// Every block ends at its `.end`; only loops and macros are kept.
void add_blocks(std::uint32_t file, const language::Sources& sources,
                const std::vector<language::Token>& tokens, std::vector<SourceBlock>& blocks) {
  struct Open {
    bool kept;
    SourceBlock block;
  };
  std::vector<Open> open;
  const language::SourceFile& source = sources.file(0);
  bool line_start = true;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool directive = line_start && tokens[i].kind == language::TokenKind::dot &&
                           tokens[i + 1].kind == language::TokenKind::name;
    line_start = tokens[i].kind == language::TokenKind::end_of_line;
    if (!directive) continue;
    const std::string_view word = tokens[i + 1].text;
    const std::uint32_t line = source.line_of(tokens[i].where.offset);
    if (word == "end") {
      if (open.empty()) return;  // not a source that assembles
      open.back().block.last = line;
      if (open.back().kept) blocks.push_back(open.back().block);
      open.pop_back();
    } else if (word == "for" || word == "loop") {
      open.push_back({true, {SourceBlock::Kind::loop, file, line, line, head(source.line(line))}});
    } else if (word == "macro") {
      const bool named = i + 2 < tokens.size() && tokens[i + 2].kind == language::TokenKind::name;
      open.push_back({named,
                      {SourceBlock::Kind::macro, file, line, line,
                       std::string(named ? tokens[i + 2].text : std::string_view())}});
    } else if (word == "if" || word == "scope" || word == "engine") {
      open.push_back({false, {}});
    }
  }
}

}  // namespace

std::string SourceText::line(const SourcePlace& place) const {
  if (place.file >= files.size() || place.line == 0 || place.line > files[place.file].size()) return {};
  return files[place.file][place.line - 1];
}

SourceText read_sources(const Program& program) {
  SourceText result;
  for (std::uint32_t file = 0; file < program.files.size(); ++file) {
    std::vector<std::string>& lines = result.files.emplace_back();
    std::string text;
    try {
      text = language::read_text_file(program.files[file]);
    } catch (const Fault&) {
      continue;  // a container may have come without its sources
    }
    language::Sources sources;
    sources.add(program.files[file], text);
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(trimmed(line));
    Diagnostics ignored;
    language::Reporter reporter(sources, ignored);
    try {
      add_blocks(file, sources, language::tokenize(sources, 0, reporter), result.blocks);
    } catch (const language::GiveUp&) {
      continue;  // no longer the source that was assembled
    }
  }
  std::stable_sort(result.blocks.begin(), result.blocks.end(),
                   [](const SourceBlock& a, const SourceBlock& b) {
                     return std::pair(a.file, a.first) < std::pair(b.file, b.first);
                   });
  return result;
}

}  // namespace ncemu::command
