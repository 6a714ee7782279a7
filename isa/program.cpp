#include "isa/program.h"

#include <fmt/format.h>

namespace ncemu {
namespace {

std::string describe_one(const Program& program, const Site& site) {
  const std::string_view file =
      site.file < program.files.size() ? std::string_view(program.files[site.file]) : "<unknown>";
  if (site.line == 0) return std::string(file);
  if (site.column == 0) return fmt::format("{}:{}", file, site.line);
  return fmt::format("{}:{}:{}", file, site.line, site.column);
}

}  // namespace

std::string describe_site(const Program& program, std::uint32_t site) {
  if (site >= program.sites.size()) return "<unknown>";
  std::string text = describe_one(program, program.sites[site]);
  // A parent is interned before its children, so the walk ends even if the data are damaged.
  std::uint32_t parent = program.sites[site].parent;
  for (std::uint32_t child = site; parent < child; parent = program.sites[parent].parent) {
    text += fmt::format(" (from {})", describe_one(program, program.sites[parent]));
    child = parent;
  }
  return text;
}

}  // namespace ncemu
