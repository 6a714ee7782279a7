#include "tools/command/suite_table.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "isa/fault.h"

namespace ncemu::command {
namespace {

constexpr std::string_view begin_mark = "<!-- times: begin -->\n", end_mark = "<!-- times: end -->";

std::string utilisation(const Record& record) {
  const Record& metrics = record.at("metrics");
  const double mfu = metrics.value("mfu_estimated_percent", 0.0),
               mbu = metrics.value("mbu_estimated_percent", 0.0);
  return mfu >= mbu ? fmt::format("{:.1f} % MFU", mfu) : fmt::format("{:.1f} % MBU", mbu);
}

std::string cell(const CaseResult& result) {
  if (result.record.is_null()) return "failed";
  return fmt::format("{:.1f} us, {}", result.record.at("us").get<double>(), utilisation(result.record));
}

}  // namespace

std::string times_table(const std::vector<const SuiteCase*>& cases, const std::vector<CaseResult>& results) {
  std::vector<std::string> machines;
  std::vector<std::pair<std::string, std::map<std::string, std::string>>> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const SuiteCase& c = *cases[i];
    if (c.table.empty()) continue;
    if (std::find(machines.begin(), machines.end(), c.machine) == machines.end())
      machines.push_back(c.machine);
    const std::string directory = std::filesystem::path(c.kernel).parent_path().filename().string();
    const std::string head = fmt::format("`{}{}` | {}", directory == "published" ? "published/" : "",
                                         std::filesystem::path(c.kernel).filename().string(), c.table);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.first == head; });
    if (row == rows.end()) row = rows.insert(rows.end(), {head, {}});
    row->second[c.machine] = cell(results[i]);
  }
  std::sort(machines.begin(), machines.end());
  std::string text = "| kernel | at |", line = "|---|---|";
  for (const std::string& machine : machines) {
    text += " " + machine + " |";
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const auto& [head, cells] : rows) {
    text += "| " + head + " |";
    for (const std::string& machine : machines) {
      const auto found = cells.find(machine);
      text += fmt::format(" {} |", found == cells.end() ? "-" : found->second);
    }
    text += "\n";
  }
  return text;
}

std::string with_table(const std::string& text, const std::string& table, const std::string& path) {
  const std::size_t begin = text.find(begin_mark), end = text.find(end_mark);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    throw Fault(FaultKind::input, path, "has no place for the table: a line '{}' and later one '{}'",
                begin_mark.substr(0, begin_mark.size() - 1), end_mark);
  }
  return text.substr(0, begin + begin_mark.size()) + table + text.substr(end);
}

}  // namespace ncemu::command
