#include "bench/accuracy/evaluate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "bench/accuracy/fitted.h"
#include "isa/fault.h"

namespace ncemu::accuracy {
namespace {

MachineConfig machine_with(const std::string& name, const std::vector<std::string>& settings) {
  MachineConfig machine = builtin_machine(name);
  for (const std::string& setting : settings) set_parameter(machine, setting);
  return machine;
}

// The parameter changed enough to show, in the spelling of its type; empty for words.
std::string moved(const std::string& value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size()) return {};
  const bool whole = value.find_first_of(".e") == std::string::npos;
  return whole ? fmt::format("{}", std::llround(number * 1.5) + 8) : fmt::format("{}", number * 1.5 + 0.125);
}

// Marks of the parameters whose change moves the prediction. Clocks are given by the machine's generation.
std::vector<std::string> marks_of(const Case& c, const MachineConfig& machine) {
  const Predict& predict = c.probe ? c.probe : c.predict;
  const double base = predict(machine);
  std::set<std::string> marks;
  for (const ParameterInfo& p : parameters(machine)) {
    const std::string section = p.key.substr(0, p.key.find('.'));
    if (std::find(c.sections.begin(), c.sections.end(), section) == c.sections.end()) continue;
    const std::string value = moved(p.value);
    if (value.empty() || marks.contains(p.mark) || p.key.ends_with(".clock_mhz")) continue;
    MachineConfig other = machine;
    try {
      set_parameter(other, p.key + "=" + value);
      if (predict(other) != base) marks.insert(p.mark);
    } catch (const Fault&) {
      continue;  // the machine would not be one: its numbers must fit together
    }
  }
  return {marks.begin(), marks.end()};
}

// Of the rows of one group that are expressed; all of one machine where something was fitted.
std::optional<Spread> leave_out(const std::string& name, const std::vector<std::size_t>& members,
                                Report& report, const Cases& cases,
                                const std::map<std::string, MachineConfig>& machines) {
  const std::span<const Fitted> fitted = fitted_to(name);
  if (fitted.empty() || members.size() < 3) return std::nullopt;
  std::vector<const Case*> group;
  std::vector<double> predicted;
  for (const std::size_t i : members) {
    group.push_back(&cases[i]);
    predicted.push_back(*report.rows[i].predicted);
  }
  const std::vector<double> result =
      leave_one_out(group, predicted, fitted, machines.at(group.front()->machine));
  std::vector<double> errors;
  for (std::size_t i = 0; i < result.size(); ++i) {
    Row& row = report.rows[members[i]];
    row.left_out = result[i];
    errors.push_back(std::abs(*row.error_of(row.left_out)));
  }
  return Spread{quantile(errors, 0.5), quantile(errors, 0.9)};
}

Group summarise(const std::string& name, Report& report, const Cases& cases,
                const std::map<std::string, MachineConfig>& machines) {
  Group group;
  group.name = name;
  std::vector<double> errors;
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    if (row.group != name) continue;
    ++group.rows;
    if (!row.predicted || !row.error()) continue;
    ++group.expressed;
    const double error = std::abs(*row.error());
    if (!group.worst || error > std::abs(*report.rows[*group.worst].error())) group.worst = i;
    errors.push_back(error);
    members.push_back(i);
  }
  if (errors.empty()) return group;
  group.error = {quantile(errors, 0.5), quantile(errors, 0.9)};
  group.leave_one_out = leave_out(name, members, report, cases, machines);
  return group;
}

}  // namespace

std::optional<double> Row::error_of(std::optional<double> prediction) const {
  if (!prediction || measured == 0) return std::nullopt;
  return (*prediction - measured) / std::abs(measured);
}

double quantile(std::vector<double> values, double fraction) {
  ensure(!values.empty(), "a quantile is taken of some values");
  std::sort(values.begin(), values.end());
  const double at = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Report evaluate(const Cases& cases, const std::vector<std::string>& settings) {
  Report report;
  std::map<std::string, MachineConfig> machines;
  for (const Case& c : cases) {
    Row row;
    row.id = c.id;
    row.group = c.group;
    row.unit = c.unit;
    row.measured = c.measured;
    row.reason = c.reason;
    if (c.predict) {
      const auto [machine, added] = machines.try_emplace(c.machine);
      if (added) machine->second = machine_with(c.machine, settings);
      try {
        row.predicted = c.predict(machine->second);
        row.marks = marks_of(c, machine->second);
      } catch (const Fault& fault) {
        row.predicted.reset();
        row.reason = fault.what();
      }
    }
    report.rows.push_back(std::move(row));
  }
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const std::string name = report.rows[i].group;
    const auto same = [&](const Group& g) { return g.name == name; };
    if (std::none_of(report.groups.begin(), report.groups.end(), same))
      report.groups.push_back(summarise(name, report, cases, machines));
  }
  return report;
}

}  // namespace ncemu::accuracy
