#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "isa/fault.h"
#include "tools/command/baseline.h"
#include "tools/command/profile_diff.h"

namespace ncemu::command {
namespace {

constexpr std::size_t rows_shown = 3;

std::string changes(std::string_view head, const std::vector<Changed>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(rows_shown, all.size()); ++i)
    text += fmt::format("{}: {:+.3f} us, {}\n", head, all[i].change(), all[i].what);
  return text;
}

// Lines that stand in one of the two only, by place: those that were rewritten.
std::string rewritten_lines(const Record& before, const Record& after) {
  const auto texts = [](const Record& record) {
    std::map<std::pair<std::string, int>, std::string> all;
    for (const Record& line : record.at("profile").at("source"))
      all[{line.at("file"), line.at("first_line")}] = line.at("text");
    return all;
  };
  const auto was = texts(before), is = texts(after);
  const auto stands_in = [](const auto& all, const std::string& text) {
    return std::any_of(all.begin(), all.end(), [&](const auto& line) { return line.second == text; });
  };
  std::string text;
  for (const auto& [place, now] : is) {
    const auto old = was.find(place);
    if (old == was.end() || stands_in(was, now) || stands_in(is, old->second)) continue;
    text += fmt::format("{}:{} was '{}', is '{}'\n", place.first, place.second, old->second, now);
  }
  return text;
}

std::string changed_tiles(const Record& before, const Record& after) {
  const Record &was = before.at("tiles"), &is = after.at("tiles");
  std::string text;
  for (const auto& [name, tile] : is.items()) {
    if (!was.contains(name))
      text += fmt::format("tile {} is new: {}\n", name, tile.get<std::string>());
    else if (was.at(name) != tile)
      text += fmt::format("tile {} was {}, is {}\n", name, was.at(name).get<std::string>(),
                          tile.get<std::string>());
  }
  for (const auto& [name, tile] : was.items()) {
    if (!is.contains(name)) text += fmt::format("tile {} is gone: {}\n", name, tile.get<std::string>());
  }
  return text;
}

std::string moved_metrics(const Record& before, const Record& after) {
  const Record &was = before.at("metrics"), &is = after.at("metrics");
  std::string text;
  for (const auto& [name, value] : is.items()) {
    if (!was.contains(name) || was.at(name) == value) continue;
    text += fmt::format("{} was {}, is {}\n", name, was.at(name).dump(), value.dump());
  }
  return text;
}

}  // namespace

std::string explain(const Record& before, const Record& after) {
  try {
    const ProfileDifference difference =
        diff_profiles(before.at("profile").dump(), "the baseline", after.at("profile").dump(), "this run");
    return difference.sentence + "\n" + rewritten_lines(before, after) + changed_tiles(before, after) +
           changes("critical path", difference.lines) + changes("engine", difference.engines) +
           changes("stall", difference.stalls) + moved_metrics(before, after);
  } catch (const Record::exception& error) {
    throw Fault(FaultKind::input, "the baseline", "cannot be read ({}); 'ncemu test --update' writes it anew",
                error.what());
  }
}

}  // namespace ncemu::command
