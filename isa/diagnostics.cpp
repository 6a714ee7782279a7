#include "isa/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncemu {
namespace {

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

// "gemm.nca:12:3: ", with the parts that are known.
std::string place_prefix(const Location& where) {
  std::string text = where.file;
  if (where.line != 0) text += fmt::format("{}{}", text.empty() ? "line " : ":", where.line);
  if (where.line != 0 && where.column != 0) text += fmt::format(":{}", where.column);
  return text.empty() ? text : text + ": ";
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Blanks up to the column and a caret under it. Tabs stay tabs, so that the caret stands under its
// character whatever the terminal's tab width; the later bytes of a UTF-8 character take no room.
std::string caret_line(std::string_view source, const Location& where) {
  const std::size_t begin = std::min<std::size_t>(where.column - 1, source.size());
  std::string line;
  for (const char c : source.substr(0, begin)) {
    if (!continues_character(c)) line += c == '\t' ? '\t' : ' ';
  }
  line += '^';
  const std::size_t rest = source.size() - begin;
  const std::size_t length = std::min<std::size_t>(where.length, rest);
  for (std::size_t i = 1; i < length; ++i) {
    if (!continues_character(source[begin + i])) line += '~';
  }
  return line;
}

// A line too long for anyone to read is shown around its column.
void shorten(std::string& source, Location& where) {
  constexpr std::size_t longest = 240, before = 80;
  if (source.size() <= longest) return;
  const std::size_t column = std::max<std::size_t>(where.column, 1);
  std::size_t begin = column - 1 > before ? std::min(column - 1 - before, source.size()) : 0;
  while (begin > 0 && begin < source.size() && continues_character(source[begin])) --begin;
  std::size_t end = std::min(begin + longest, source.size());
  while (end < source.size() && continues_character(source[end])) ++end;
  const std::string head = begin > 0 ? "..." : "", tail = end < source.size() ? "..." : "";
  where.length = static_cast<std::uint32_t>(
      std::min<std::size_t>(where.length, end > column - 1 ? end - (column - 1) : 1));
  if (where.column != 0) where.column = static_cast<std::uint32_t>(column - begin + head.size());
  source = head + source.substr(begin, end - begin) + tail;
}

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({replace, last[j] + 1, now[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) ++errors_;
  all_.push_back(std::move(diagnostic));
}

void Diagnostics::error(Location where, std::string message, std::string hint) {
  Diagnostic d;
  d.where = std::move(where);
  d.message = std::move(message);
  d.hint = std::move(hint);
  add(std::move(d));
}

void Diagnostics::warning(Location where, std::string message, std::string hint) {
  Diagnostic d;
  d.severity = Severity::warning;
  d.where = std::move(where);
  d.message = std::move(message);
  d.hint = std::move(hint);
  add(std::move(d));
}

std::string Diagnostics::text() const {
  std::string text;
  for (const Diagnostic& d : all_) text += format(d);
  return text;
}

std::string format(const Diagnostic& d) {
  std::string text = fmt::format("{}{}: {}", place_prefix(d.where), severity_name(d.severity), d.message);
  if (!d.reference.empty()) text += fmt::format(" [{}]", d.reference);
  text += '\n';
  if (!d.source.empty()) {
    std::string source = d.source;
    Location where = d.where;
    shorten(source, where);
    text += fmt::format("  {}\n", source);
    if (where.column != 0) text += fmt::format("  {}\n", caret_line(source, where));
  }
  if (!d.hint.empty()) text += fmt::format("  hint: {}\n", d.hint);
  for (const Diagnostic& note : d.notes) text += format(note);
  return text;
}

std::string_view did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  // One slip in three characters is a typing mistake; more is another word.
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::string_view best;
  std::size_t best_distance = limit + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = edit_distance(word, candidate);
    if (d < best_distance && d < word.size()) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace ncemu
