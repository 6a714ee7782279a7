// Comments that allow findings: which statement they belong to, and how they are refused.

#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// "line: checks: reason" of each.
std::vector<std::string> allowances(const std::string& text) {
  std::vector<std::string> all;
  for (const Allowance& a : assembled(text).allowances) {
    std::string checks;
    for (const std::string& check : a.checks) checks += (checks.empty() ? "" : " ") + check;
    all.push_back(std::to_string(a.line) + ": " + checks + ": " + a.reason);
  }
  return all;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("behind a statement it belongs to that statement, on its own line to the next one") {
  CHECK(allowances(".sbuf t : f32[1, 8]\n"
                   "memset t, value = 0.0  # ncemu: allow races, \"behind\"\n"
                   "# ncemu: allow init, \"before\"\n"
                   "\n"
                   "# another comment\n"
                   "memset t, value = 1.0\n") == Texts{"2: races: behind", "6: init: before"});
}

TEST_CASE("in a statement of several lines it belongs to the line where the statement begins") {
  CHECK(allowances(".sbuf t : f32[1, 8]\n"
                   "memset t, \\\n"
                   "  value = 0.0  # ncemu: allow init, \"a\"\n"
                   "memset t[0,\n"
                   "  0:8], value = 0.0  # ncemu: allow init, \"b\"\n") == Texts{"2: init: a", "4: init: b"});
}

TEST_CASE("several checks share a reason, and a sign of a comment inside a string is none") {
  CHECK(allowances(".param S = \"# ncemu: allow x\"\n"
                   ".sbuf t : f32[1, 8]\n"
                   "memset t, value = 0.0  # ncemu: allow races , init,  \"both, with # inside\"\n") ==
        Texts{"3: races init: both, with # inside"});
}

TEST_CASE("without a reason, a check or the word allow it is an error at its place") {
  const auto refused = [](const std::string& comment) {
    return errors(".sbuf t : f32[1, 8]\nmemset t, value = 0.0 # ncemu: " + comment + "\n");
  };
  CHECK(contains(refused("allow races"), "test.nca:2:23: error: the reason is missing"));
  CHECK(contains(refused("allow races, \"\""), "the reason is missing"));
  CHECK(contains(refused("allow races, \"not closed"), "the reason does not end"));
  CHECK(contains(refused("allow \"only a reason\""), "the name of a check is missing"));
  CHECK(contains(refused("allow , \"x\""), "the name of a check is missing"));
  CHECK(contains(refused("forbid races, \"x\""), "begins with 'ncemu:'"));
}

TEST_CASE("the same comment in a macro counts once, however often the macro runs") {
  CHECK(allowances(".macro m(t)\n  memset t, value = 0.0  # ncemu: allow init, \"x\"\n.end\n"
                   ".sbuf t : f32[1, 8]\nm(t)\nm(t)\n") == Texts{"2: init: x"});
}
