#include "tools/command/profile_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "isa/fault.h"
#include "tools/command/table.h"

namespace ncemu::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "ncemu.profile/1";
constexpr double smallest_us = 0.0005;  // less than a printed digit is no change

Json parse(std::string_view text, const std::string& file) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded())
    throw Fault(FaultKind::input, file, "is no JSON; write it with 'ncemu profile --json'");
  const std::string found = json.is_object() ? json.value("schema", std::string()) : std::string();
  if (found != schema) {
    throw Fault(FaultKind::input, file,
                "has the schema '{}', expected '{}': write it with 'ncemu profile --json'", found, schema);
  }
  return json;
}

// A line as both profiles may know it.
struct Line {
  std::string file, text;
  std::int64_t number = 0;
};

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

using LineKey = std::pair<std::string, std::int64_t>;  // file, line

// The text of each line, from the source view.
std::map<LineKey, std::string> texts(const Json& profile) {
  std::map<LineKey, std::string> all;
  for (const Json& region : profile.at("source")) {
    if (region.at("kind") != "line" || region.at("file").is_null()) continue;
    all[{region.at("file").get<std::string>(), region.at("first_line").get<std::int64_t>()}] =
        region.at("text").get<std::string>();
  }
  return all;
}

LineKey key_of(const Json& place) {
  if (place.is_null()) return {};
  return {place.at("file").get<std::string>(), place.at("line").get<std::int64_t>()};
}

// Gives every line of both profiles a common number.
class Matching {
 public:
  Matching(const Json& before, const Json& after) {
    const auto old_texts = texts(before), new_texts = texts(after);
    // By the name of the file and the text: the k-th such line of one is the k-th of the other.
    std::map<std::pair<std::string, std::string>, std::vector<LineKey>> by_text;
    for (const auto& [key, text] : old_texts) {
      if (!text.empty()) by_text[{file_name(key.first), text}].push_back(key);
    }
    std::map<std::pair<std::string, std::string>, std::size_t> used;
    std::map<LineKey, LineKey> partner;  // of new lines
    for (const auto& [key, text] : new_texts) {
      if (text.empty()) continue;
      const std::pair same(file_name(key.first), text);
      const auto found = by_text.find(same);
      std::size_t& nth = used[same];
      if (found != by_text.end() && nth < found->second.size()) partner[key] = found->second[nth++];
    }
    // A line that was rewritten in place keeps its number, if that is left.
    std::map<LineKey, bool> taken;
    for (const auto& [key, old] : partner) taken[old] = true;
    for (const auto& [key, text] : new_texts) {
      if (partner.count(key) > 0) continue;
      const LineKey same = key;
      if (old_texts.count(same) > 0 && !taken[same]) {
        partner[key] = same;
        taken[same] = true;
      }
    }
    for (const auto& [key, text] : old_texts) add(old_numbers_, key, name(key, text));
    for (const auto& [key, text] : new_texts) {
      const auto found = partner.find(key);
      if (found == partner.end()) {
        add(new_numbers_, key, name(key, text));
      } else {
        new_numbers_[key] = old_numbers_.at(found->second);
        names_[new_numbers_[key]] = name(key, text);  // as it is now
      }
    }
  }

  std::size_t before(const Json& place) { return number(old_numbers_, place); }
  std::size_t after(const Json& place) { return number(new_numbers_, place); }
  const std::string& describe(std::size_t number) const { return names_[number]; }

 private:
  static std::string name(const LineKey& key, const std::string& text) {
    return text.empty() ? fmt::format("{}:{}", key.first, key.second)
                        : fmt::format("{}:{}: {}", key.first, key.second, text);
  }
  void add(std::map<LineKey, std::size_t>& numbers, const LineKey& key, std::string text) {
    numbers[key] = names_.size();
    names_.push_back(std::move(text));
  }
  std::size_t number(std::map<LineKey, std::size_t>& numbers, const Json& place) {
    const LineKey key = key_of(place);
    if (key.first.empty()) return 0;
    if (numbers.count(key) == 0) add(numbers, key, name(key, {}));
    return numbers.at(key);
  }

  std::vector<std::string> names_ = {"<no source line>"};
  std::map<LineKey, std::size_t> old_numbers_, new_numbers_;
};

// Largest change first; what did not change is left out.
std::vector<Changed> sorted(std::vector<Changed> all) {
  std::erase_if(all, [](const Changed& c) { return std::abs(c.change()) < smallest_us; });
  std::stable_sort(all.begin(), all.end(), [](const Changed& a, const Changed& b) {
    return std::abs(a.change()) > std::abs(b.change());
  });
  return all;
}

std::vector<Changed> line_changes(const Json& before, const Json& after, Matching& matching) {
  std::map<std::size_t, Changed> lines;
  for (const Json& g : before.at("critical_path").at("by"))
    lines[matching.before(g.at("place"))].before_us += g.at("us").get<double>();
  for (const Json& g : after.at("critical_path").at("by"))
    lines[matching.after(g.at("place"))].after_us += g.at("us").get<double>();
  std::vector<Changed> all;
  for (auto& [number, line] : lines) {
    line.what = matching.describe(number);
    all.push_back(line);
  }
  return sorted(std::move(all));
}

std::vector<Changed> engine_changes(const Json& before, const Json& after) {
  std::vector<std::pair<std::string, Changed>> all;
  const auto add = [&](const std::string& what, double us, bool is_after) {
    auto found = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.first == what; });
    if (found == all.end()) found = all.insert(all.end(), {what, Changed{what, 0, 0}});
    (is_after ? found->second.after_us : found->second.before_us) += us;
  };
  for (const bool is_after : {false, true}) {
    for (const Json& e : (is_after ? after : before).at("engines")) {
      const auto engine = e.at("engine").get<std::string>();
      add(engine + " busy", e.at("busy_us").get<double>(), is_after);
      add(engine + " idle", e.at("idle_us").get<double>(), is_after);
      for (const auto& [reason, us] : e.at("stalled_by").items()) {
        add(fmt::format("{} stalled by {}", engine, reason.substr(0, reason.size() - 3)), us.get<double>(),
            is_after);
      }
    }
  }
  std::vector<Changed> changes;
  for (auto& [what, change] : all) changes.push_back(change);
  return sorted(std::move(changes));
}

std::vector<Changed> stall_changes(const Json& before, const Json& after, Matching& matching) {
  std::map<std::tuple<std::size_t, std::string, std::string, std::string>, Changed> all;
  for (const bool is_after : {false, true}) {
    for (const Json& s : (is_after ? after : before).at("stalls")) {
      const std::size_t line = is_after ? matching.after(s.at("place")) : matching.before(s.at("place"));
      const Json& cause = s.at("waits_for");
      const auto engine = s.at("engine").get<std::string>(), reason = s.at("reason").get<std::string>();
      const std::string other = cause.is_null() ? std::string() : cause.at("engine").get<std::string>();
      Changed& change = all[{line, engine, reason, other}];
      (is_after ? change.after_us : change.before_us) += s.at("us").get<double>();
    }
  }
  std::vector<Changed> changes;
  for (auto& [key, change] : all) {
    const auto& [line, engine, reason, other] = key;
    change.what = fmt::format("{} waits on {} ({}{})", engine, matching.describe(line), reason,
                              other.empty() ? "" : ", for " + other);
    changes.push_back(change);
  }
  return sorted(std::move(changes));
}

std::string signed_us(double us) { return fmt::format("{}{:.3f} us", us < 0 ? "-" : "+", std::abs(us)); }

std::string sentence(const ProfileDifference& d) {
  if (std::abs(d.change()) < smallest_us) {
    const bool nothing = d.lines.empty() && d.engines.empty();
    return fmt::format("The same total, {:.3f} us{}.", d.after_us,
                       nothing ? "; nothing changed" : ", although parts of it changed");
  }
  std::string text = fmt::format("{:.3f} us {} ({:.3f} to {:.3f} us", std::abs(d.change()),
                                 d.change() > 0 ? "slower" : "faster", d.before_us, d.after_us);
  if (d.before_us > 0) text += fmt::format(", {:+.1f} %", 100 * d.change() / d.before_us);
  text += ")";
  // The largest that goes the way the total went.
  const auto same_way = [&](const Changed& c) { return (c.change() > 0) == (d.change() > 0); };
  const auto line = std::find_if(d.lines.begin(), d.lines.end(), same_way);
  if (line != d.lines.end()) {
    text += fmt::format(": the largest part is {} of the critical path on {}", signed_us(line->change()),
                        line->what);
  }
  const auto part = std::find_if(d.engines.begin(), d.engines.end(),
                                 [&](const Changed& c) { return same_way(c) && !c.what.ends_with(" idle"); });
  if (part != d.engines.end()) text += fmt::format("; {} {}", part->what, signed_us(part->change()));
  return text + ".";
}

std::string machine_of(const Json& profile) {
  return fmt::format("{} ({})", profile.at("machine").at("name").get<std::string>(),
                     profile.at("machine").at("config_hash").get<std::string>());
}

std::string table(const std::vector<Changed>& changes, std::string_view head) {
  constexpr std::size_t rows = 12;
  if (changes.empty()) return "no change\n";
  Table table({">change us", ">before us", ">after us", std::string(head)});
  for (std::size_t i = 0; i < std::min(rows, changes.size()); ++i) {
    const Changed& c = changes[i];
    table.row({fmt::format("{:+.3f}", c.change()), fmt::format("{:.3f}", c.before_us),
               fmt::format("{:.3f}", c.after_us), c.what});
  }
  return table.text() + (changes.size() > rows ? fmt::format("and {} more\n", changes.size() - rows) : "");
}

}  // namespace

ProfileDifference diff_profiles(std::string_view before_json, const std::string& before,
                                std::string_view after_json, const std::string& after) {
  const Json a = parse(before_json, before), b = parse(after_json, after);
  std::string at_fault = before;
  try {
    ProfileDifference d;
    d.before_kernel = a.at("kernel").get<std::string>();
    d.before_machine = machine_of(a);
    d.before_us = a.at("total_us").get<double>();
    at_fault = after;
    d.after_kernel = b.at("kernel").get<std::string>();
    d.after_machine = machine_of(b);
    d.after_us = b.at("total_us").get<double>();
    Matching matching(a, b);
    d.lines = line_changes(a, b, matching);
    d.engines = engine_changes(a, b);
    d.stalls = stall_changes(a, b, matching);
    d.sentence = sentence(d);
    return d;
  } catch (const Json::exception& error) {
    throw Fault(FaultKind::input, at_fault, "does not follow the schema '{}': {}", schema, error.what());
  }
}

std::string diff_text(const ProfileDifference& d) {
  std::string text = d.sentence + "\n\n";
  if (d.before_kernel != d.after_kernel)
    text += fmt::format("kernels: {}, then {}\n", d.before_kernel, d.after_kernel);
  if (d.before_machine != d.after_machine)
    text += fmt::format("machines: {}, then {}\n", d.before_machine, d.after_machine);
  text += "Critical path by line (together the change of the total)\n" + table(d.lines, "line");
  text += "\nEngines\n" + table(d.engines, "what");
  text += "\nStalls\n" + table(d.stalls, "who waits, on which line, for what");
  return text;
}

std::string diff_json(const ProfileDifference& d) {
  const auto list = [](const std::vector<Changed>& changes) {
    Json all = Json::array();
    for (const Changed& c : changes) {
      all.push_back({{"what", c.what},
                     {"before_us", c.before_us},
                     {"after_us", c.after_us},
                     {"change_us", c.change()}});
    }
    return all;
  };
  const Json json = {
      {"schema", "ncemu.diff/1"},
      {"sentence", d.sentence},
      {"before", {{"kernel", d.before_kernel}, {"machine", d.before_machine}, {"total_us", d.before_us}}},
      {"after", {{"kernel", d.after_kernel}, {"machine", d.after_machine}, {"total_us", d.after_us}}},
      {"change_us", d.change()},
      {"lines", list(d.lines)},
      {"engines", list(d.engines)},
      {"stalls", list(d.stalls)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ncemu::command
