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
  const Json found = json.is_object() && json.contains("schema") ? json["schema"] : Json();
  if (found != schema) {
    throw Fault(FaultKind::input, file,
                "has the schema {}, expected \"{}\": write it with 'ncemu profile --json'",
                found.dump(-1, ' ', false, Json::error_handler_t::replace), schema);
  }
  return json;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

using LineKey = std::pair<std::string, std::int64_t>;  // file, line; empty for none

LineKey key_of(const Json& place) {
  if (place.is_null()) return {};
  return {place.at("file").get<std::string>(), place.at("line").get<std::int64_t>()};
}

// What is compared, of one profile.
struct Facts {
  struct Critical {
    LineKey line;
    double us = 0;
  };
  struct Stall {
    LineKey line;
    std::string engine, reason, other;
    double us = 0;
  };
  ProfileDifference::Run run;
  std::map<LineKey, std::string> texts;  // of lines, from the source view
  std::vector<Critical> critical;
  std::vector<std::pair<std::string, double>> engines;  // "vector busy", "vector stalled by port"
  std::vector<Stall> stalls;
};

Facts facts_of(const Json& profile) {
  Facts facts;
  const Json& machine = profile.at("machine");
  facts.run.kernel = profile.at("kernel").get<std::string>();
  facts.run.machine = fmt::format("{} ({})", machine.at("name").get<std::string>(),
                                  machine.at("config_hash").get<std::string>());
  facts.run.total_us = profile.at("total_us").get<double>();
  // The records of a suite's baseline are of whole runs and do not say so.
  if (profile.contains("partial") && profile.at("partial").get<bool>()) {
    facts.run.partial = profile.at("message").get<std::string>();
    if (facts.run.partial.empty()) facts.run.partial = "the run ended early";
  }
  for (const Json& region : profile.at("source")) {
    if (region.at("kind") != "line" || region.at("file").is_null()) continue;
    facts.texts[{region.at("file").get<std::string>(), region.at("first_line").get<std::int64_t>()}] =
        region.at("text").get<std::string>();
  }
  for (const Json& g : profile.at("critical_path").at("by"))
    facts.critical.push_back({key_of(g.at("place")), g.at("us").get<double>()});
  for (const Json& e : profile.at("engines")) {
    const auto engine = e.at("engine").get<std::string>();
    facts.engines.emplace_back(engine + " busy", e.at("busy_us").get<double>());
    facts.engines.emplace_back(engine + " idle", e.at("idle_us").get<double>());
    for (const auto& [key, us] : e.at("stalled_by").items()) {
      const std::string reason = key.ends_with("_us") ? key.substr(0, key.size() - 3) : key;
      facts.engines.emplace_back(fmt::format("{} stalled by {}", engine, reason), us.get<double>());
    }
  }
  for (const Json& s : profile.at("stalls")) {
    const Json& cause = s.at("waits_for");
    facts.stalls.push_back(
        {key_of(s.at("place")), s.at("engine").get<std::string>(), s.at("reason").get<std::string>(),
         cause.is_null() ? std::string() : cause.at("engine").get<std::string>(), s.at("us").get<double>()});
  }
  return facts;
}

Facts read(std::string_view text, const std::string& file) {
  const Json json = parse(text, file);
  try {
    return facts_of(json);
  } catch (const Json::exception& error) {
    throw Fault(FaultKind::input, file, "does not follow the schema '{}': {}", schema, error.what());
  }
}

// Gives every line of both profiles a common number.
class Matching {
 public:
  Matching(const Facts& before, const Facts& after) {
    const auto &old_texts = before.texts, &new_texts = after.texts;
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

  std::size_t before(const LineKey& line) { return number(old_numbers_, line); }
  std::size_t after(const LineKey& line) { return number(new_numbers_, line); }
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
  std::size_t number(std::map<LineKey, std::size_t>& numbers, const LineKey& key) {
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

std::vector<Changed> line_changes(const Facts& before, const Facts& after, Matching& matching) {
  std::map<std::size_t, Changed> lines;
  for (const Facts::Critical& g : before.critical) lines[matching.before(g.line)].before_us += g.us;
  for (const Facts::Critical& g : after.critical) lines[matching.after(g.line)].after_us += g.us;
  std::vector<Changed> all;
  for (auto& [number, line] : lines) {
    line.what = matching.describe(number);
    all.push_back(line);
  }
  return sorted(std::move(all));
}

std::vector<Changed> engine_changes(const Facts& before, const Facts& after) {
  std::vector<Changed> all;
  for (const bool is_after : {false, true}) {
    for (const auto& [what, us] : (is_after ? after : before).engines) {
      auto found =
          std::find_if(all.begin(), all.end(), [&, &w = what](const auto& c) { return c.what == w; });
      if (found == all.end()) found = all.insert(all.end(), Changed{what, 0, 0});
      (is_after ? found->after_us : found->before_us) += us;
    }
  }
  return sorted(std::move(all));
}

std::vector<Changed> stall_changes(const Facts& before, const Facts& after, Matching& matching) {
  std::map<std::tuple<std::size_t, std::string, std::string, std::string>, Changed> all;
  for (const bool is_after : {false, true}) {
    for (const Facts::Stall& s : (is_after ? after : before).stalls) {
      const std::size_t line = is_after ? matching.after(s.line) : matching.before(s.line);
      Changed& change = all[{line, s.engine, s.reason, s.other}];
      (is_after ? change.after_us : change.before_us) += s.us;
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

// "PARTIAL (the first run: the limit of 100 instructions): ", nothing for two whole runs.
std::string partial_text(const ProfileDifference& d) {
  std::string text;
  for (const auto& [which, run] : {std::pair("first", &d.before), {"second", &d.after}}) {
    if (run->partial.empty()) continue;
    text += fmt::format("{}the {} run: {}", text.empty() ? "" : "; ", which, run->partial);
  }
  return text.empty() ? text : fmt::format("PARTIAL ({}): ", text);
}

std::string sentence(const ProfileDifference& d) {
  const double before = d.before.total_us, after = d.after.total_us;
  std::string text = partial_text(d);
  if (std::abs(d.change()) < smallest_us) {
    const bool nothing = d.lines.empty() && d.engines.empty();
    return fmt::format("{}The same total, {:.3f} us{}.", text, after,
                       nothing ? "; nothing changed" : ", although parts of it changed");
  }
  text += fmt::format("{:.3f} us {} ({:.3f} to {:.3f} us", std::abs(d.change()),
                      d.change() > 0 ? "slower" : "faster", before, after);
  if (before > 0) text += fmt::format(", {:+.1f} %", 100 * d.change() / before);
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
  const Facts a = read(before_json, before), b = read(after_json, after);
  ProfileDifference d;
  d.before = a.run;
  d.after = b.run;
  Matching matching(a, b);
  d.lines = line_changes(a, b, matching);
  d.engines = engine_changes(a, b);
  d.stalls = stall_changes(a, b, matching);
  d.sentence = sentence(d);
  return d;
}

std::string diff_text(const ProfileDifference& d) {
  std::string text = d.sentence + "\n\n";
  if (d.before.kernel != d.after.kernel)
    text += fmt::format("kernels: {}, then {}\n", d.before.kernel, d.after.kernel);
  if (d.before.machine != d.after.machine)
    text += fmt::format("machines: {}, then {}\n", d.before.machine, d.after.machine);
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
  const auto run = [](const ProfileDifference::Run& r) {
    return Json{{"kernel", r.kernel},
                {"machine", r.machine},
                {"total_us", r.total_us},
                {"partial", !r.partial.empty()},
                {"message", r.partial}};
  };
  const Json json = {{"schema", "ncemu.diff/1"},   {"sentence", d.sentence},  {"before", run(d.before)},
                     {"after", run(d.after)},      {"change_us", d.change()}, {"lines", list(d.lines)},
                     {"engines", list(d.engines)}, {"stalls", list(d.stalls)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ncemu::command
