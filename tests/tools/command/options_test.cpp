#include "tools/command/options.h"

#include <doctest/doctest.h>

using namespace ncemu;
using namespace ncemu::command;

namespace {

Options declared() {
  Options options("bake", "bake CAKE [options]", "Bakes a cake.", 1);
  options.flag("strict", "no crumbs")
      .value("oven", "NAME", "which oven")
      .values("define,D", "NAME=VALUE", "an ingredient")
      .value("degrees", "X", "how hot")
      .value("layers", "N", "how many")
      .optional_value("json", "FILE", "-", "machine-readable cake");
  return options;
}

Options parsed(const Arguments& arguments) {
  Options options = declared();
  REQUIRE(options.parse(arguments));
  return options;
}

std::string message_of(const Arguments& arguments) {
  try {
    Options options = declared();
    options.parse(arguments);
    options.number("degrees");
    options.count("layers");
    options.word("the cake");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.what();
  }
  return "parsed";
}

}  // namespace

TEST_CASE("values, repeated values, flags and words are told apart") {
  const Options o =
      parsed({"-D", "sugar=2", "cake", "--strict", "--define=eggs=3", "-Dmilk=1", "--oven", "big"});
  CHECK(o.words() == std::vector<std::string>{"cake"});
  CHECK(o.on("strict"));
  CHECK(o.list("define") == std::vector<std::string>{"sugar=2", "eggs=3", "milk=1"});
  CHECK(o.text("oven") == "big");
  CHECK(o.text("json", "none") == "none");
}

TEST_CASE("an option with an optional value does not swallow the word after it") {
  const Options o = parsed({"--json", "cake"});
  CHECK(o.text("json") == "-");
  CHECK(o.word("the cake") == "cake");
  CHECK(parsed({"cake", "--json=out.json"}).text("json") == "out.json");
}

TEST_CASE("an abbreviated option is unknown, and the nearest one is offered") {
  CHECK(message_of({"cake", "--stric"}) ==
        "ncemu bake: unknown option '--stric', did you mean '--strict'?; see 'ncemu bake --help'");
  CHECK(message_of({"cake", "--overn=3"}).find("did you mean '--oven'?") != std::string::npos);
  CHECK(message_of({"cake", "--flour"}) == "ncemu bake: unknown option '--flour'; see 'ncemu bake --help'");
}

TEST_CASE("what is missing, doubled or too much is named") {
  CHECK(message_of({}) == "ncemu bake: the cake is missing; see 'ncemu bake --help'");
  CHECK(message_of({"a", "b"}) == "ncemu bake: unexpected argument 'b'; see 'ncemu bake --help'");
  CHECK(message_of({"a", "--oven"}).find("--oven") != std::string::npos);
  CHECK(message_of({"a", "--oven", "x", "--oven", "y"}).find("--oven") != std::string::npos);
}

TEST_CASE("numbers and counts are read whole or refused") {
  CHECK(parsed({"--degrees", "1e-3"}).number("degrees") == 1e-3);
  CHECK(parsed({"--layers", "18446744073709551615"}).count("layers") == 18446744073709551615U);
  CHECK(!parsed({}).number("degrees"));
  for (const char* bad : {"-1", "1x", "", "nan", "inf", " 1"}) {
    CHECK(message_of({"a", std::string("--degrees=") + bad}).find("ncemu bake: ") == 0);
  }
  CHECK(message_of({"a", "--layers=2.5"}) ==
        "ncemu bake: --layers takes a count, found '2.5'; see 'ncemu bake --help'");
}

TEST_CASE("help lists every option with its value") {
  const std::string help = declared().help();
  for (const char* part : {"Usage: ncemu bake CAKE [options]", "--strict", "--oven NAME",
                           "-D [ --define ] NAME=VALUE", "which oven", "--help"}) {
    CAPTURE(part);
    CHECK(help.find(part) != std::string::npos);
  }
}

TEST_CASE("an assignment is split at its first equals sign") {
  CHECK(split_assignment("-D", "a=b=c", "NAME=VALUE") == std::pair<std::string, std::string>("a", "b=c"));
  CHECK(split_assignment("-D", "a=", "NAME=VALUE").second.empty());
  CHECK_THROWS_WITH(split_assignment("-D", "a", "NAME=VALUE"), "-D: expected NAME=VALUE, found 'a'");
  CHECK_THROWS_WITH(split_assignment("-D", "=1", "NAME=VALUE"), "-D: expected NAME=VALUE, found '=1'");
}
