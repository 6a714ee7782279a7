// `ncemu diff OLD.json NEW.json`: what changed between two profiles.

#include <cstdio>

#include "isa/fault.h"
#include "tools/command/profile_diff.h"
#include "tools/command/verbs.h"
#include "tools/files/file.h"

namespace ncemu::command {
namespace {

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

int diff(const Arguments& arguments) {
  Options options("diff", "diff OLD.json NEW.json [options]",
                  "Says what changed between two profiles written by 'ncemu profile --json', largest first.",
                  2);
  options.group("Output").flag("json", "the answer as JSON (schema ncemu.diff/1)");
  if (!options.parse(arguments)) return 0;
  if (options.words().size() != 2)
    throw Fault(FaultKind::input, "ncemu diff", "takes two files: 'ncemu diff OLD.json NEW.json'");
  const std::string &before = options.words()[0], &after = options.words()[1];
  const ProfileDifference difference = diff_profiles(text_of(before), before, text_of(after), after);
  std::fputs((options.on("json") ? diff_json(difference) : diff_text(difference)).c_str(), stdout);
  return 0;
}

}  // namespace ncemu::command
