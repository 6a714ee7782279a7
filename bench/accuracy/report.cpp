#include "bench/accuracy/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

std::string percent(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }
std::string signed_percent(double fraction) { return fmt::format("{:+.1f}%", 100 * fraction); }

std::string number(double value) {
  return value >= 1000 || value <= -1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string worst_of(const Group& group, const Report& report) {
  if (!group.worst) return "";
  const Row& row = report.rows[*group.worst];
  return fmt::format("{} {}", row.id, signed_percent(*row.error()));
}

}  // namespace

std::string to_text(const Report& report) {
  std::string text = fmt::format("{:<40}{:>6}{:>10}{:>9}{:>9}{:>17}  {}\n", "group", "rows", "expressed",
                                 "median", "p90", "leave one out", "worst");
  for (const Group& g : report.groups) {
    text += fmt::format("{:<40}{:>6}{:>10}", g.name, g.rows, g.expressed);
    if (g.expressed > 0) {
      const std::string left_out =
          g.leave_one_out ? percent(g.leave_one_out->median) + " " + percent(g.leave_one_out->p90) : "-";
      text += fmt::format("{:>9}{:>9}{:>17}  {}", percent(g.error.median), percent(g.error.p90), left_out,
                          worst_of(g, report));
    }
    text += '\n';
  }
  for (const Group& g : report.groups) {
    if (g.expressed == 0) continue;
    text += fmt::format("\n{:<44}{:>12}{:>12} {:<8}{:>9}{:>9}  {}\n", g.name, "measured", "predicted", "",
                        "error", g.leave_one_out ? "left out" : "", "parameters");
    for (const Row& row : report.rows) {
      if (row.group != g.name || !row.predicted || !row.error()) continue;
      const std::string left_out = row.left_out ? signed_percent(*row.error_of(row.left_out)) : "";
      text += fmt::format("{:<44}{:>12}{:>12} {:<8}{:>9}{:>9}  {}\n", row.id, number(row.measured),
                          number(*row.predicted), row.unit, signed_percent(*row.error()), left_out,
                          joined(row.marks));
    }
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const Row& row : report.rows) {
    if (row.predicted) continue;
    auto found = reasons.begin();
    while (found != reasons.end() && found->first != row.reason) ++found;
    if (found == reasons.end()) found = reasons.insert(found, {row.reason, {}});
    found->second.push_back(row.id);
  }
  text += "\nnot expressed\n";
  constexpr std::size_t most_ids = 8;  // the JSON has them all
  for (const auto& [reason, ids] : reasons) {
    const auto shown = static_cast<std::ptrdiff_t>(std::min(ids.size(), most_ids));
    text +=
        fmt::format("{:>5}  {}: {}{}\n", ids.size(), reason,
                    fmt::join(ids.begin(), ids.begin() + shown, ", "), ids.size() > most_ids ? ", ..." : "");
  }
  return text;
}

std::string to_markdown(const Report& report) {
  std::string text = "| group | rows | expressed | median | 90th percentile | leave one out | worst |\n";
  text += "|---|---|---|---|---|---|---|\n";
  std::size_t elsewhere = 0;
  for (const Group& g : report.groups) {
    if (g.expressed == 0) {
      elsewhere += g.rows;
      continue;
    }
    const std::string left_out = g.leave_one_out ? fmt::format("{}, {}", percent(g.leave_one_out->median),
                                                               percent(g.leave_one_out->p90))
                                                 : "";
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", g.name, g.rows, g.expressed,
                        percent(g.error.median), percent(g.error.p90), left_out, worst_of(g, report));
  }
  text += fmt::format(
      "\nErrors are absolute, the worst is signed. Leave one out: median and 90th percentile with the "
      "parameters "
      "that\nwere fitted to the group fitted again without the row. {} further rows are kernels, collectives "
      "and "
      "models of\nwhich no schedule is among ours.\n",
      elsewhere);
  return text;
}

std::string with_table(const std::string& text, const Report& report, const std::string& file) {
  constexpr std::string_view begin = "<!-- accuracy: begin, written by tools/accuracy --readme -->\n";
  constexpr std::string_view end = "<!-- accuracy: end -->";
  const std::size_t from = text.find(begin);
  const std::size_t to = from == std::string::npos ? from : text.find(end, from);
  if (to == std::string::npos)
    throw Fault(FaultKind::input, file, "has no place for the table: two lines \"{}\" and \"{}\"",
                begin.substr(0, begin.size() - 1), end);
  return text.substr(0, from + begin.size()) + to_markdown(report) + text.substr(to);
}

std::string to_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json groups = Json::array();
  for (const Group& g : report.groups) {
    Json group = {{"name", g.name}, {"rows", g.rows}, {"expressed", g.expressed}};
    group["median_abs_error"] = g.expressed > 0 ? Json(g.error.median) : Json();
    group["p90_abs_error"] = g.expressed > 0 ? Json(g.error.p90) : Json();
    if (g.leave_one_out) {
      group["leave_one_out"] = {{"median_abs_error", g.leave_one_out->median},
                                {"p90_abs_error", g.leave_one_out->p90}};
    }
    group["worst"] = nullptr;
    if (g.worst) {
      const Row& row = report.rows[*g.worst];
      group["worst"] = {{"id", row.id}, {"measured", row.measured}, {"predicted", *row.predicted}};
    }
    groups.push_back(std::move(group));
  }
  Json rows = Json::array();
  for (const Row& r : report.rows) {
    Json row = {{"id", r.id}, {"group", r.group}, {"measured", r.measured}};
    row["predicted"] = r.predicted ? Json(*r.predicted) : Json();
    row["error"] = r.error() ? Json(*r.error()) : Json();
    if (r.left_out) row["left_out"] = *r.left_out;
    row["unit"] = r.unit;
    row["reason"] = r.reason;
    row["marks"] = r.marks;
    rows.push_back(std::move(row));
  }
  const Json all = {{"groups", std::move(groups)}, {"rows", std::move(rows)}};
  return all.dump(1) + "\n";
}

}  // namespace ncemu::accuracy
