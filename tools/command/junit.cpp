#include "tools/command/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace ncemu::command {
namespace {

// XML 1.0 has no other control characters, not even as references.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += "&#10;"; break;
      case '\t': out += "&#9;"; break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
  }
  return out;
}

}  // namespace

std::string junit(const Suite& suite, const std::vector<const SuiteCase*>& cases,
                  const std::vector<CaseResult>& results) {
  const std::string name = std::filesystem::path(suite.path).stem().string();
  const auto failed =
      std::count_if(results.begin(), results.end(), [](const auto& r) { return !r.passed(); });
  double seconds = 0;
  for (const CaseResult& r : results) seconds += r.host_seconds;
  const std::string totals = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\"",
                                         results.size(), failed, seconds);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n<testsuite name=\"{1}\" {0}>\n", totals,
      escaped(name));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const CaseResult& r = results[i];
    text += fmt::format("<testcase classname=\"{}.{}\" name=\"{}\" file=\"{}\" time=\"{:.3f}\">\n",
                        escaped(name), escaped(cases[i]->machine), escaped(cases[i]->name),
                        escaped(cases[i]->kernel), r.host_seconds);
    if (!r.record.is_null()) {
      text += fmt::format("<properties><property name=\"modelled_us\" value=\"{}\"/></properties>\n",
                          r.record.at("us").dump());
    }
    // One element for all reasons: some readers take no second.
    std::string messages, details;
    for (const CaseFailure& f : r.failures) {
      messages += (messages.empty() ? "" : "; ") + f.message;
      details += fmt::format("{}: {}\n{}", f.kind, f.message, f.detail);
    }
    if (!r.passed()) {
      text += fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>\n", r.failures.front().kind,
                          escaped(messages), escaped(details));
    }
    text += "</testcase>\n";
  }
  return text + "</testsuite>\n</testsuites>\n";
}

}  // namespace ncemu::command
