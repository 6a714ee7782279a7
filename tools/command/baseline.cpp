#include "tools/command/baseline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <tuple>

#include "isa/fault.h"
#include "tools/files/compare.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

constexpr std::string_view schema = "ncemu.baseline/1";
constexpr std::size_t stalls_kept = 12;

constexpr std::array main_metrics = {Metric::mfu_estimated_percent,
                                     Metric::mbu_estimated_percent,
                                     Metric::matmul_instruction_count,
                                     Metric::tensor_engine_instruction_count,
                                     Metric::vector_engine_instruction_count,
                                     Metric::scalar_engine_instruction_count,
                                     Metric::gpsimd_engine_instruction_count,
                                     Metric::dma_transfer_count,
                                     Metric::dma_transfer_total_bytes,
                                     Metric::average_dma_size,
                                     Metric::hbm_read_bytes,
                                     Metric::hbm_write_bytes};

// Four decimals of a microsecond or a percent are more than anybody reads, and keep the file short.
Record short_number(double x) {
  const double rounded = std::round(x * 1e4) / 1e4;
  if (rounded == std::floor(rounded) && std::abs(rounded) < 0x1p53) return static_cast<std::int64_t>(rounded);
  return rounded;
}

// The summary's parts, each a part of what profile_json() writes, with files by their names alone: a suite is
// run from anywhere.
class Summariser {
 public:
  Summariser(const Profile& profile, const SourceText& source) : p_(profile), source_(source) {}

  Record all(const std::string& kernel) {
    Record json = {
        {"schema", "ncemu.profile/1"},
        {"kernel", kernel},
        {"machine", {{"name", p_.machine->target.machine}, {"config_hash", config_hash(*p_.machine)}}},
        {"total_us", us(p_.timeline.total())}};
    json["critical_path"]["by"] = critical();
    json["engines"] = engines();
    json["stalls"] = stalls();
    json["source"] = lines();
    return json;
  }

 private:
  Record us(Ticks ticks) const { return short_number(p_.us(ticks)); }

  Record place(PlaceNumber number) {
    if (number == 0) return nullptr;
    named_.insert(number);
    const SourcePlace& at = p_.regions.places()[number];
    return {{"file", file(at)}, {"line", at.line}};
  }
  std::string file(const SourcePlace& at) const {
    return std::filesystem::path(p_.program->files[at.file]).filename().string();
  }

  Record critical() {
    std::map<PlaceNumber, Ticks> by_place;
    for (const CriticalGroup& g : p_.critical) by_place[g.place] += g.ticks;
    Record json = Record::array();
    for (const auto& [number, ticks] : by_place)
      json.push_back({{"place", place(number)}, {"us", us(ticks)}});
    return json;
  }

  Record engines() const {
    Record json = Record::array();
    for (const Engine e : all_engines) {
      const EngineTime& time = p_.engines[static_cast<std::size_t>(e)];
      Record by = Record::object();
      for (std::size_t r = 1; r < stall_reason_kinds; ++r) {
        if (time.stalled[r] > 0)
          by[std::string(name(static_cast<StallReason>(r))) + "_us"] = us(time.stalled[r]);
      }
      json.push_back(
          {{"engine", name(e)}, {"busy_us", us(time.busy)}, {"idle_us", us(time.idle)}, {"stalled_by", by}});
    }
    return json;
  }

  Record stalls() {
    using Key = std::tuple<Engine, PlaceNumber, StallReason, bool, Engine>;
    std::vector<std::pair<Key, Ticks>> groups;
    for (const StallGroup& g : p_.stalls) {
      const Key key(g.engine, g.place, g.reason, g.cause_known, g.cause_engine);
      auto found =
          std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == key; });
      if (found == groups.end()) found = groups.insert(groups.end(), {key, 0});
      found->second += g.ticks;
    }
    std::stable_sort(groups.begin(), groups.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    Record json = Record::array();
    for (std::size_t i = 0; i < std::min(stalls_kept, groups.size()); ++i) {
      const auto& [engine, number, reason, known, cause] = groups[i].first;
      json.push_back({{"engine", name(engine)},
                      {"place", place(number)},
                      {"reason", name(reason)},
                      {"us", us(groups[i].second)},
                      {"waits_for", known ? Record{{"engine", name(cause)}} : Record(nullptr)}});
    }
    return json;
  }

  // The text of the places named so far.
  Record lines() const {
    Record json = Record::array();
    for (const PlaceNumber number : named_) {
      const SourcePlace& at = p_.regions.places()[number];
      json.push_back(
          {{"kind", "line"}, {"file", file(at)}, {"first_line", at.line}, {"text", source_.line(at)}});
    }
    return json;
  }

  const Profile& p_;
  const SourceText& source_;
  std::set<PlaceNumber> named_;
};

// Each declaration once, however often a loop repeats it.
Record tiles(const Program& program) {
  Record json = Record::object();
  for (const Tile& tile : program.tiles) {
    std::string text = fmt::format("{} {}", name(tile.dtype), shape_text(tile.shape));
    if (!tile.array.empty()) text = fmt::format("{} of {}", shape_text(tile.array), text);
    json[tile.name] = fmt::format("{}, {} buffer{}", text, tile.buffers, tile.buffers == 1 ? "" : "s");
  }
  return json;
}

// An array with a line per element, an object with a line per member, and nothing deeper.
std::string lines_of(const Record& json, const std::string& indent) {
  if (json.empty() || !json.is_structured()) return json.dump();
  std::string text = json.is_array() ? "[" : "{";
  bool first = true;
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("{}\n{} ", first ? "" : ",", indent);
    if (json.is_object()) text += Record(key).dump() + ": ";
    text += value.dump();
    first = false;
  }
  return text + "\n" + indent + (json.is_array() ? "]" : "}");
}

}  // namespace

Record make_record(const Kernel& kernel, const Profile& profile, const SourceText& source,
                   const std::string& name) {
  Record metrics = Record::object();
  for (const Metric m : main_metrics) {
    if (const auto v = value(profile.metrics, m))
      metrics[std::string(all_metrics()[static_cast<std::size_t>(m)].name)] = short_number(*v);
  }
  return {{"config_hash", config_hash(kernel.machine)},
          {"ticks", profile.timeline.total()},
          {"us", short_number(profile.us(profile.timeline.total()))},
          {"metrics", metrics},
          {"tiles", tiles(kernel.program)},
          {"profile", Summariser(profile, source).all(name)}};
}

Baseline Baseline::read(const std::string& path) {
  Baseline baseline;
  if (!std::filesystem::exists(path)) return baseline;
  const std::vector<std::byte> bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Record json = Record::parse(text, nullptr, false);
  const bool right = json.is_object() && json.contains("schema") && json["schema"] == schema &&
                     json.contains("cases") && json["cases"].is_object();
  if (!right)
    throw Fault(FaultKind::input, path, "is no baseline of the schema '{}'; 'ncemu test --update' writes it",
                schema);
  for (const auto& [id, record] : json["cases"].items()) {
    for (const std::string_view key : {"config_hash", "ticks", "us", "metrics", "tiles", "profile"}) {
      if (!record.is_object() || !record.contains(key))
        throw Fault(FaultKind::input, path, "the case '{}' has no '{}'; 'ncemu test --update' writes it anew",
                    id, key);
    }
    baseline.records_[id] = record;
  }
  return baseline;
}

const Record* Baseline::find(const std::string& id) const {
  const auto found = records_.find(id);
  return found == records_.end() ? nullptr : &found->second;
}

void Baseline::erase_others(const std::vector<std::string>& ids) {
  std::erase_if(records_,
                [&](const auto& r) { return std::find(ids.begin(), ids.end(), r.first) == ids.end(); });
}

std::string Baseline::text() const {
  std::string text = fmt::format("{{\n\"schema\": \"{}\",\n\"cases\": {{", schema);
  bool first = true;
  for (const auto& [id, record] : records_) {
    text += fmt::format("{}\n{}: {{", first ? "" : ",", Record(id).dump());
    first = false;
    bool first_key = true;
    for (const auto& [key, value] : record.items()) {
      text += fmt::format("{}\n \"{}\": ", first_key ? "" : ",", key);
      first_key = false;
      if (key != "profile") {
        text += key == "tiles" || key == "metrics" ? lines_of(value, " ") : value.dump();
        continue;
      }
      text += "{";
      bool first_part = true;
      for (const auto& [part, content] : value.items()) {
        text += fmt::format("{}\n  \"{}\": ", first_part ? "" : ",", part);
        first_part = false;
        if (part == "critical_path")
          text += "{\"by\": " + lines_of(content.at("by"), "  ") + "}";
        else if (part == "machine")
          text += content.dump();
        else
          text += lines_of(content, "  ");
      }
      text += "\n }";
    }
    text += "\n}";
  }
  return text + "\n}\n}\n";
}

}  // namespace ncemu::command
