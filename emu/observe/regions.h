#pragma once

// The parts of a source that time is charged to: its lines, its loops, its macros. An instruction belongs to
// the line it stands on, to the lines of the macro calls and includes that led there, and to every block
// around any of these. So a loop holds what the macros called in it do.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/program.h"

namespace ncemu {

// A block of a source file, from its first line to its `.end`.
struct SourceBlock {
  enum class Kind : std::uint8_t { loop, macro };
  Kind kind = Kind::loop;
  std::uint32_t file = 0;  // in Program::files
  std::uint32_t first = 0, last = 0;
  std::string name;  // of a macro; of a loop its head as written
};

using PlaceNumber = std::uint32_t;
using RegionNumber = std::uint32_t;

// A line of a file. Place 0 is "unknown": instructions that no text gave.
struct SourcePlace {
  std::uint32_t file = no_index;
  std::uint32_t line = 0;
  friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};

struct Region {
  enum class Kind : std::uint8_t { line, loop, macro };
  Kind kind = Kind::line;
  SourcePlace first;
  std::uint32_t last_line = 0;
  std::string name;  // of loops and macros
};
std::string_view name(Region::Kind kind);

class Regions {
 public:
  Regions(const Program& program, std::span<const SourceBlock> blocks);

  const std::vector<SourcePlace>& places() const { return places_; }
  const std::vector<Region>& all() const { return regions_; }  // lines in order, then loops, then macros
  // The line an instruction of this site stands on.
  PlaceNumber place_of(std::uint32_t site) const { return place_of_site_[site]; }
  std::span<const RegionNumber> of_site(std::uint32_t site) const;
  // "softmax.nca:24", "<no source line>".
  std::string describe(PlaceNumber place) const;
  std::string describe(const Region& region) const;

 private:
  const Program* program_;
  std::vector<SourcePlace> places_;
  std::vector<PlaceNumber> place_of_site_;
  std::vector<Region> regions_;
  std::vector<std::uint32_t> first_;  // of each site's regions in list_
  std::vector<RegionNumber> list_;
};

}  // namespace ncemu
