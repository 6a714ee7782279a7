// A profile as one HTML file: the JSON for what it says of the whole run, columns for what it does not.

#include "isa/asm/source.h"
#include "isa/fault.h"
#include "tools/command/profile.h"
#include "tools/trace/page.h"

namespace ncemu::command {

std::string profile_html(const ProfileReport& report, const std::string& json) {
  std::vector<std::string> sources;
  for (const std::string& file : report.profile.program->files) {
    std::string& text = sources.emplace_back();
    try {
      text = language::read_text_file(file);
    } catch (const Fault&) {
      continue;  // a container may have come without its sources
    }
  }
  return html_page(json, trace_data(report.profile, sources));
}

std::string profile_html(const ProfileReport& report) { return profile_html(report, profile_json(report)); }

}  // namespace ncemu::command
