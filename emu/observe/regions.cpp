#include "emu/observe/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace ncemu {

std::string_view name(Region::Kind kind) {
  switch (kind) {
    case Region::Kind::line: return "line";
    case Region::Kind::loop: return "loop";
    case Region::Kind::macro: return "macro";
  }
  return "";
}

Regions::Regions(const Program& program, std::span<const SourceBlock> blocks) : program_(&program) {
  // Lines in the order of the files, so that numbers do not depend on the order of expansion.
  std::map<std::pair<std::uint32_t, std::uint32_t>, PlaceNumber> numbers;
  for (const Site& site : program.sites) {
    if (site.file != no_index) numbers.emplace(std::pair(site.file, site.line), 0);
  }
  places_.push_back({});
  for (auto& [place, number] : numbers) {
    number = static_cast<PlaceNumber>(places_.size());
    places_.push_back({place.first, place.second});
  }
  for (const SourcePlace& place : places_) regions_.push_back({Region::Kind::line, place, place.line, {}});
  std::vector<std::vector<RegionNumber>> around(places_.size());
  for (const auto kind : {SourceBlock::Kind::loop, SourceBlock::Kind::macro}) {
    for (const SourceBlock& block : blocks) {
      if (block.kind != kind) continue;
      const auto number = static_cast<RegionNumber>(regions_.size());
      regions_.push_back({kind == SourceBlock::Kind::loop ? Region::Kind::loop : Region::Kind::macro,
                          {block.file, block.first},
                          block.last,
                          block.name});
      for (std::size_t p = 1; p < places_.size(); ++p) {
        if (places_[p].file == block.file && places_[p].line >= block.first && places_[p].line <= block.last)
          around[p].push_back(number);
      }
    }
  }
  for (const Site& site : program.sites) {
    place_of_site_.push_back(site.file == no_index ? 0 : numbers.at({site.file, site.line}));
  }
  for (std::size_t s = 0; s < program.sites.size(); ++s) {
    const std::size_t first = list_.size();
    first_.push_back(static_cast<std::uint32_t>(first));
    for (std::size_t at = s; at != no_index; at = program.sites[at].parent) {
      const PlaceNumber place = place_of_site_[at];
      list_.push_back(place);
      list_.insert(list_.end(), around[place].begin(), around[place].end());
    }
    std::sort(list_.begin() + static_cast<std::ptrdiff_t>(first), list_.end());
    list_.erase(std::unique(list_.begin() + static_cast<std::ptrdiff_t>(first), list_.end()), list_.end());
  }
  first_.push_back(static_cast<std::uint32_t>(list_.size()));
}

std::span<const RegionNumber> Regions::of_site(std::uint32_t site) const {
  return std::span(list_).subspan(first_[site], first_[site + 1] - first_[site]);
}

std::string Regions::describe(PlaceNumber place) const {
  if (place == 0) return "<no source line>";
  return fmt::format("{}:{}", program_->files[places_[place].file], places_[place].line);
}

std::string Regions::describe(const Region& region) const {
  if (region.first.file == no_index) return "<no source line>";
  const std::string at = fmt::format("{}:{}", program_->files[region.first.file], region.first.line);
  return region.kind == Region::Kind::line
             ? at
             : fmt::format("{} ({} {})", at, ncemu::name(region.kind), region.name);
}

}  // namespace ncemu
