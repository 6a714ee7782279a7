#include <algorithm>
#include <map>

#include "isa/fault.h"
#include "tools/command/sweep.h"
#include "tools/command/table.h"
#include "tools/command/version.h"

namespace ncemu::command {
namespace {

std::string failure_of(const SweepJson& point) {
  for (const char* key : {"error", "failed"}) {
    if (point.contains(key)) return point.at(key);
  }
  return {};
}

std::string cell(const SweepJson& point, const std::string& metric) {
  const auto value = sweep_value(point, metric);
  return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// For each machine of the grid, the point with the least time.
std::string best_points(const SweepResults& r) {
  const std::vector<Axis>& axes = r.grid->request().axes;
  const auto machine =
      std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.kind == Axis::Kind::machine; });
  const auto at = static_cast<std::size_t>(machine - axes.begin());
  std::map<std::string, std::size_t> best;
  for (std::size_t p = 0; p < r.points.size(); ++p) {
    if (!r.points[p].contains("us")) continue;
    const std::string key = machine == axes.end() ? "" : r.grid->values(p)[at];
    const auto [found, fresh] = best.emplace(key, p);
    if (!fresh && r.points[p].at("us") < r.points[found->second].at("us")) found->second = p;
  }
  std::string text;
  for (const auto& [key, p] : best) {
    text += fmt::format("best{}: {}, {:.3f} us\n", key.empty() ? "" : " on " + key, r.grid->name(p),
                        r.points[p].at("us").get<double>());
  }
  return text;
}

}  // namespace

std::optional<double> sweep_value(const SweepJson& point, const std::string& metric) {
  if (!point.contains("us")) return std::nullopt;
  if (metric == "us") return point.at("us").get<double>();
  const SweepJson& metrics = point.at("metrics");
  return metrics.contains(metric) ? std::optional(metrics.at(metric).get<double>()) : std::nullopt;
}

std::string sweep_text(const SweepResults& r) {
  std::vector<std::string> heads;
  for (const Axis& axis : r.grid->request().axes) heads.push_back(axis.name);
  heads.emplace_back(">us");
  for (const std::string& metric : r.metrics) heads.push_back(">" + metric);
  heads.emplace_back("");
  Table table(heads);
  for (std::size_t p = 0; p < r.points.size(); ++p) {
    std::vector<std::string> cells = r.grid->values(p);
    cells.push_back(cell(r.points[p], "us"));
    for (const std::string& metric : r.metrics) cells.push_back(cell(r.points[p], metric));
    cells.push_back(failure_of(r.points[p]));
    table.row(std::move(cells));
  }
  return table.text() + "\n" + best_points(r);
}

std::string sweep_csv(const SweepResults& r) {
  std::string text;
  for (const Axis& axis : r.grid->request().axes) text += quoted(axis.name) + ",";
  text += "us,ticks";
  for (const std::string& metric : r.metrics) text += "," + metric;
  text += ",failure\n";
  for (std::size_t p = 0; p < r.points.size(); ++p) {
    for (const std::string& value : r.grid->values(p)) text += quoted(value) + ",";
    const bool ran = r.points[p].contains("us");
    text += ran ? fmt::format("{},{}", r.points[p].at("us").dump(), r.points[p].at("ticks").dump()) : ",";
    for (const std::string& metric : r.metrics) {
      const auto value = sweep_value(r.points[p], metric);
      text += value ? fmt::format(",{}", *value) : ",";
    }
    text += "," + quoted(failure_of(r.points[p])) + "\n";
  }
  return text;
}

std::string sweep_json(const SweepResults& r) {
  SweepJson points = SweepJson::array();
  for (std::size_t p = 0; p < r.points.size(); ++p) {
    SweepJson at = SweepJson::object();
    const std::vector<std::string> values = r.grid->values(p);
    for (std::size_t a = 0; a < values.size(); ++a) at[r.grid->request().axes[a].name] = values[a];
    SweepJson one = {{"at", at}};
    for (const auto& [key, value] : r.points[p].items()) {
      if (key != "point" && key != "sources") one[key] = value;
    }
    points.push_back(std::move(one));
  }
  const SweepJson json = {{"schema", "ncemu.sweep/1"},
                          {"version", version_number()},
                          {"commit", commit()},
                          {"kernel", r.grid->request().kernel},
                          {"points", points}};
  return json.dump(1, ' ', false, SweepJson::error_handler_t::replace) + "\n";
}

}  // namespace ncemu::command
