#pragma once

// The texts of one assembly: the kernel's file, the files it includes, and the values of -D options.
// A Where is a stretch of one of them; lines and columns are computed only for messages and sites.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/diagnostics.h"

namespace ncemu::language {

struct Where {
  std::uint32_t file = 0;  // index in Sources
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};

// From the start of `first` to the end of `last`, which must be of the same file.
Where join(Where first, Where last);

class SourceFile {
 public:
  SourceFile(std::string name, std::string text, std::optional<Where> included_from);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::optional<Where> included_from() const { return included_from_; }

  std::uint32_t line_of(std::uint32_t offset) const;    // from 1
  std::uint32_t column_of(std::uint32_t offset) const;  // from 1
  std::string_view line(std::uint32_t number) const;    // without its newline

 private:
  std::string name_;
  std::string text_;
  std::optional<Where> included_from_;
  std::vector<std::uint32_t> line_starts_;
};

class Sources {
 public:
  std::uint32_t add(std::string name, std::string text, std::optional<Where> included_from = {});
  const SourceFile& file(std::uint32_t index) const { return files_[index]; }
  std::size_t size() const { return files_.size(); }

  std::string_view text(Where where) const;
  Location location(Where where) const;
  // The line that a diagnostic's place shows; empty if the file is none of ours.
  std::string_view line(const Location& location) const;

 private:
  std::deque<SourceFile> files_;  // a deque: tokens hold views of the texts
};

// One name for a file however it is reached; the path itself where the file system cannot tell.
std::string canonical_path(const std::string& path);

// The whole file, or a Fault(input) that names it.
std::string read_text_file(const std::string& path);

}  // namespace ncemu::language
