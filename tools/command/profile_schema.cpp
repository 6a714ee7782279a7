#include "tools/command/profile_schema.h"

#include <nlohmann/json.hpp>

#include "emu/observe/metrics.h"
#include "isa/fault.h"
#include "tools/command/profile.h"

namespace ncemu::command {
namespace {

void replace(std::string& text, std::string_view mark, const std::string& with) {
  const std::size_t at = text.find(mark);
  ensure(at != std::string::npos, "the schema says where the metrics go");
  text.replace(at, mark.size(), with);
}

}  // namespace

std::string profile_schema() {
  std::string names, properties;
  for (const MetricInfo& metric : all_metrics()) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", metric.name);
    const std::string description =
        metric.applies() ? fmt::format("{}{}", metric.formula,
                                       metric.unit.empty() ? "" : fmt::format(" [{}]", metric.unit))
                         : fmt::format("always null: {}", metric.formula.substr(2));
    const nlohmann::ordered_json property = {
        {"type",
         metric.applies() ? nlohmann::ordered_json({"number", "null"}) : nlohmann::ordered_json("null")},
        {"description", description}};
    properties +=
        fmt::format("{}        \"{}\": {}", properties.empty() ? "" : ",\n", metric.name, property.dump());
  }
  std::string text(profile_schema_template());
  replace(text, "%METRIC_NAMES%", names);  // of parts
  replace(text, "%METRIC_NAMES%", names);  // of the kernel
  replace(text, "%METRIC_PROPERTIES%", properties);
  return text;
}

}  // namespace ncemu::command
