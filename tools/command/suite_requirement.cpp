#include <array>
#include <charconv>

#include "isa/diagnostics.h"
#include "isa/fault.h"
#include "tools/command/suite.h"

namespace ncemu::command {
namespace {

using Relation = Requirement::Relation;

struct Spelling {
  std::string_view text;
  Relation relation;
};
// Longer ones first: ">=" begins with ">".
constexpr std::array<Spelling, 6> spellings = {{{">=", Relation::at_least},
                                                {"<=", Relation::at_most},
                                                {"==", Relation::equal},
                                                {"!=", Relation::unequal},
                                                {">", Relation::above},
                                                {"<", Relation::below}}};

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

Metric metric_of(const std::string& name, const std::string& where) {
  std::vector<std::string_view> names;
  for (std::size_t m = 0; m < metric_count; ++m) {
    const MetricInfo& info = all_metrics()[m];
    names.push_back(info.name);
    if (info.name != name) continue;
    if (!info.applies())
      throw Fault(FaultKind::input, where, "the metric {} has no value here: {}", name,
                  info.formula.substr(2));
    return static_cast<Metric>(m);
  }
  const std::string_view near = did_you_mean(name, names);
  throw Fault(FaultKind::input, where, "there is no metric '{}'{}; 'ncemu profile --json' names them", name,
              near.empty() ? "" : fmt::format(", did you mean '{}'?", near));
}

}  // namespace

bool Requirement::holds(double value) const {
  switch (relation) {
    case Relation::at_least: return value >= bound;
    case Relation::at_most: return value <= bound;
    case Relation::above: return value > bound;
    case Relation::below: return value < bound;
    case Relation::equal: return value == bound;
    case Relation::unequal: return value != bound;
  }
  return false;
}

Requirement parse_requirement(const std::string& text, const std::string& where) {
  for (const Spelling& spelling : spellings) {
    const std::size_t at = text.find(spelling.text);
    if (at == std::string::npos) continue;
    const std::string number = trimmed(std::string_view(text).substr(at + spelling.text.size()));
    Requirement requirement;
    requirement.metric = metric_of(trimmed(std::string_view(text).substr(0, at)), where);
    requirement.relation = spelling.relation;
    requirement.text = trimmed(text);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), requirement.bound);
    if (error != std::errc{} || end != number.data() + number.size())
      throw Fault(FaultKind::input, where, "'{}' compares with '{}', which is no number", text, number);
    return requirement;
  }
  throw Fault(FaultKind::input, where, "'{}' compares nothing: write METRIC >= NUMBER (or <=, ==, !=, >, <)",
              text);
}

}  // namespace ncemu::command
