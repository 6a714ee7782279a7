// The messages, word for word: tests/golden/asm/errors.txt holds sources and what is said about them.
// NCEMU_UPDATE_GOLDEN=1 rewrites the second half of each case; its diff is read.

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string path = std::string(NCEMU_SOURCE_DIR) + "/tests/golden/asm/errors.txt";

struct Case {
  std::string title, source, expected;
};

// "=== title", the source, "---", the messages.
std::vector<Case> read_cases() {
  std::ifstream in(path);
  REQUIRE(in.good());
  std::vector<Case> cases;
  std::string* part = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("=== ", 0) == 0) {
      cases.push_back({line.substr(4), "", ""});
      part = &cases.back().source;
    } else if (line == "---") {
      part = &cases.back().expected;
    } else if (part != nullptr) {
      *part += line + "\n";
    }
  }
  return cases;
}

std::string messages(const std::string& source) {
  AssembleOptions options;
  options.most_steps = 10'000;
  options.most_instructions = 1'000;
  return assemble_text(source, "k.nca", options).diagnostics.text();
}

}  // namespace

TEST_CASE("a byte order mark before the source is no part of it") {
  const Assembly assembly = assemble_text("\xEF\xBB\xBF.let a = b\n", "k.nca");
  REQUIRE(assembly.diagnostics.errors() == 1);
  CHECK(assembly.diagnostics.all()[0].where.column == 10);
}

TEST_CASE("every mistake of the golden file is reported in its words") {
  std::vector<Case> cases = read_cases();
  CHECK(cases.size() > 60);
  if (std::getenv("NCEMU_UPDATE_GOLDEN") != nullptr) {
    std::string text;
    for (const Case& c : cases) text += "=== " + c.title + "\n" + c.source + "---\n" + messages(c.source);
    std::ofstream(path) << text;
    return;
  }
  for (const Case& c : cases) {
    INFO(c.title);
    CHECK(messages(c.source) == c.expected);
    CHECK_FALSE(c.expected.empty());
  }
}
