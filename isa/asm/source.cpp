#include "isa/asm/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "isa/fault.h"

namespace ncemu::language {
namespace {

// Offsets are 32 bits; a source of this size is a mistake in any case.
constexpr std::size_t largest_source = std::size_t{1} << 28;

[[noreturn]] void refuse_size(const std::string& path) {
  throw Fault(FaultKind::input, path, "is larger than 256 MiB");
}

}  // namespace

Where join(Where first, Where last) {
  return {first.file, first.offset, last.offset + last.length - first.offset};
}

SourceFile::SourceFile(std::string name, std::string text, std::optional<Where> included_from)
    : name_(std::move(name)), text_(std::move(text)), included_from_(included_from) {
  line_starts_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

std::uint32_t SourceFile::line_of(std::uint32_t offset) const {
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<std::uint32_t>(after - line_starts_.begin());
}

std::uint32_t SourceFile::column_of(std::uint32_t offset) const {
  return offset - line_starts_[line_of(offset) - 1] + 1;
}

std::string_view SourceFile::line(std::uint32_t number) const {
  if (number == 0 || number > line_starts_.size()) return {};
  const std::size_t begin = line_starts_[number - 1];
  std::size_t end = number < line_starts_.size() ? line_starts_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::uint32_t Sources::add(std::string name, std::string text, std::optional<Where> included_from) {
  if (text.size() > largest_source) refuse_size(name);
  // Some editors begin a file of UTF-8 with a byte order mark.
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.erase(0, mark.size());
  files_.emplace_back(std::move(name), std::move(text), included_from);
  return static_cast<std::uint32_t>(files_.size() - 1);
}

std::string_view Sources::text(Where where) const {
  return files_[where.file].text().substr(where.offset, where.length);
}

Location Sources::location(Where where) const {
  const SourceFile& f = files_[where.file];
  const std::uint32_t line = f.line_of(where.offset);
  const std::uint32_t column = f.column_of(where.offset);
  // The caret stays on the line the place begins on.
  const auto rest = static_cast<std::uint32_t>(f.line(line).size()) + 1;
  const std::uint32_t length = column < rest ? std::min(where.length, rest - column) : 1;
  return {f.name(), line, column, std::max<std::uint32_t>(length, 1)};
}

std::string_view Sources::line(const Location& location) const {
  for (const SourceFile& f : files_) {
    if (f.name() == location.file) return f.line(location.line);
  }
  return {};
}

std::string canonical_path(const std::string& path) {
  std::error_code error;
  const auto result = std::filesystem::weakly_canonical(path, error);
  return error ? path : result.string();
}

std::string read_text_file(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw Fault(FaultKind::input, path, "is a directory, not a source file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Fault(FaultKind::input, path, "cannot be read: {}", std::strerror(errno));
  std::string text;
  std::array<char, 1 << 16> part{};
  while (in && text.size() <= largest_source) {  // a device may have no end
    in.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) throw Fault(FaultKind::input, path, "reading stopped: {}", std::strerror(errno));
  if (text.size() > largest_source) refuse_size(path);
  return text;
}

}  // namespace ncemu::language
