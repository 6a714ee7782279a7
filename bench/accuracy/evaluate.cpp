#include "bench/accuracy/evaluate.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

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

Group summarise(const std::string& name, const Report& report) {
  Group group;
  group.name = name;
  std::vector<double> errors, measured, predicted;
  Fit fit = Fit::none;
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    const Row& row = report.rows[i];
    if (row.group != name) continue;
    ++group.rows;
    if (!row.predicted || !row.error()) continue;
    ++group.expressed;
    const double error = std::abs(*row.error());
    if (!group.worst || error > std::abs(*report.rows[*group.worst].error())) group.worst = i;
    errors.push_back(error);
    measured.push_back(row.measured);
    predicted.push_back(*row.predicted);
    fit = row.fit;
  }
  if (errors.empty()) return group;
  group.error = {quantile(errors, 0.5), quantile(errors, 0.9)};
  if (fit == Fit::none || errors.size() < 3) return group;
  const std::vector<double> left_out = leave_one_out(measured, predicted, fit);
  for (std::size_t i = 0; i < errors.size(); ++i)
    errors[i] = std::abs((left_out[i] - measured[i]) / measured[i]);
  group.leave_one_out = Spread{quantile(errors, 0.5), quantile(errors, 0.9)};
  return group;
}

}  // namespace

std::optional<double> Row::error() const {
  if (!predicted || measured == 0) return std::nullopt;
  return (*predicted - measured) / std::abs(measured);
}

double quantile(std::vector<double> values, double fraction) {
  ensure(!values.empty(), "a quantile is taken of some values");
  std::sort(values.begin(), values.end());
  const double at = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

std::vector<double> leave_one_out(const std::vector<double>& measured, const std::vector<double>& predicted,
                                  Fit fit) {
  std::vector<double> result;
  for (std::size_t out = 0; out < measured.size(); ++out) {
    std::vector<double> others;
    for (std::size_t i = 0; i < measured.size(); ++i) {
      if (i == out) continue;
      others.push_back(fit == Fit::factor ? measured[i] / predicted[i] : measured[i] - predicted[i]);
    }
    const double fitted = quantile(others, 0.5);
    result.push_back(fit == Fit::factor ? predicted[out] * fitted : predicted[out] + fitted);
  }
  return result;
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
    row.fit = c.fit;
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
  for (const Row& row : report.rows) {
    const auto same = [&](const Group& g) { return g.name == row.group; };
    if (std::none_of(report.groups.begin(), report.groups.end(), same))
      report.groups.push_back(summarise(row.group, report));
  }
  return report;
}

}  // namespace ncemu::accuracy
