#include "tools/command/sarif.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/command/version.h"

namespace ncemu::command {
namespace {

using Json = nlohmann::ordered_json;

// RFC 3986: what is neither unreserved nor a separator of a path is escaped.
std::string escaped(std::string_view path) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string text;
  for (const char c : path) {
    if (plain.find(c) != std::string_view::npos) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::string uri(const std::string& file, const std::string& directory) {
  const std::filesystem::path path(file);
  const std::filesystem::path whole = (path.is_absolute() ? path : directory / path).lexically_normal();
  const std::string relative = whole.lexically_relative(directory).generic_string();
  if (!relative.empty() && relative != "." && !relative.starts_with("..")) return escaped(relative);
  return "file://" + escaped(whole.generic_string());
}

Json location(const Diagnostic& d, const std::string& directory) {
  Json physical = {{"artifactLocation", {{"uri", uri(d.where.file, directory)}}}};
  if (d.where.line != 0) {
    Json region = {{"startLine", d.where.line}};
    if (d.where.column != 0) region["startColumn"] = d.where.column;
    if (!d.source.empty()) region["snippet"] = {{"text", d.source}};
    physical["region"] = std::move(region);
  }
  return {{"physicalLocation", std::move(physical)}};
}

std::string_view level(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

Json rules() {
  Json all = Json::array();
  for (std::size_t i = 0; i < check_count; ++i) {
    const CheckInfo& check = info(static_cast<CheckKind>(i));
    all.push_back({{"id", check.name},
                   {"shortDescription", {{"text", check.sentence}}},
                   {"defaultConfiguration", {{"level", level(check.severity)}}}});
  }
  return all;
}

Json result(const Reported& reported, const std::string& directory) {
  std::string text = reported.text.message;
  if (!reported.fix.empty()) text += fmt::format(". Hint: {}", reported.fix);
  Json json = {{"ruleId", info(reported.kind).name},
               {"ruleIndex", static_cast<std::size_t>(reported.kind)},
               {"level", level(reported.text.severity)},
               {"message", {{"text", std::move(text)}}},
               {"locations", Json::array({location(reported.text, directory)})}};
  if (!reported.text.notes.empty()) {
    Json related = Json::array();
    for (const Diagnostic& note : reported.text.notes) {
      Json place = location(note, directory);
      place["message"] = {{"text", note.message}};
      related.push_back(std::move(place));
    }
    json["relatedLocations"] = std::move(related);
  }
  if (reported.allowed) {
    json["suppressions"] = Json::array({{{"kind", "inSource"}, {"justification", reported.reason}}});
  }
  return json;
}

}  // namespace

std::string sarif(const CheckReport& report, const std::string& directory) {
  Json results = Json::array();
  for (const Reported& reported : report.findings) results.push_back(result(reported, directory));
  const Json run = {
      {"tool", {{"driver", {{"name", "ncemu"}, {"version", version_number()}, {"rules", rules()}}}}},
      {"columnKind", "unicodeCodePoints"},
      {"results", std::move(results)}};
  const Json log = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}};
  return log.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ncemu::command
