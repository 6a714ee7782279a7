// `ncemu diff` on profiles whose difference is known beforehand.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/tools/command/runner.h"
#include "tools/command/profile_diff.h"

using namespace ncemu;
using namespace ncemu::command;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

const std::string softmax = NCEMU_SOURCE_DIR "/kernels/softmax.nca";

// The profile as text.
std::string profiled(const std::string& words) {
  const Outcome o = ncemu_run("profile " + words + " --mode timing-only --json=p.json");
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  return text_of(directory() + "/p.json");
}

double total(const std::vector<Changed>& all) {
  double sum = 0;
  for (const Changed& c : all) sum += c.change();
  return sum;
}

// The profile of a copy by an engine, below some lines of comment.
std::string copy_profiled(std::string_view comment, std::string_view engine) {
  write_source("copy.nca", fmt::format("{}.input  x : f32[128, 512]\n"
                                       ".output y : f32[128, 512]\n"
                                       ".sbuf t : f32[128, 512]\n"
                                       ".sbuf u : f32[128, 512]\n"
                                       "dma_copy t, x\n"
                                       "tensor_copy u, t, engine = {}\n"
                                       "dma_copy y, u\n",
                                       comment, engine));
  return profiled("copy.nca");
}

}  // namespace

TEST_CASE("a profile does not differ from itself") {
  const std::string profile = profiled(softmax + " -D R=256 -D C=256");
  const ProfileDifference d = diff_profiles(profile, "a", profile, "b");
  CHECK(d.change() == 0);
  CHECK(d.lines.empty());
  CHECK(d.engines.empty());
  CHECK(d.stalls.empty());
}

TEST_CASE("the changes of the lines add up to the change of the total, the largest first") {
  const std::string before = profiled(softmax + " -D R=1024 -D C=512");
  const std::string after = profiled(softmax + " -D R=1024 -D C=512 --set vector.l0=400");
  const ProfileDifference d = diff_profiles(before, "a", after, "b");
  CHECK(d.change() > 0);
  CHECK(total(d.lines) == doctest::Approx(d.change()).epsilon(1e-6));
  for (std::size_t i = 1; i < d.lines.size(); ++i)
    CHECK(std::abs(d.lines[i - 1].change()) >= std::abs(d.lines[i].change()));
  CHECK(d.after.total_us ==
        doctest::Approx(Json::parse(after)["metrics"]["total_time"].get<double>() * 1e6).epsilon(1e-6));
}

TEST_CASE("a line that moved down is the same line, and the one whose engine changed is named") {
  const std::string before = copy_profiled("", "vector");
  CHECK(
      diff_profiles(before, "a", copy_profiled("# one line\n# and another\n", "vector"), "b").lines.empty());
  const ProfileDifference d = diff_profiles(before, "a", copy_profiled("# one line\n", "gpsimd"), "b");
  REQUIRE(d.change() != 0);
  CHECK(d.sentence.find(d.change() > 0 ? "us slower (" : "us faster (") != std::string::npos);
  CHECK(d.lines.front().what.find("tensor_copy") != std::string::npos);
}

TEST_CASE("the command prints the sentence first, and the same as JSON") {
  const std::string sizes = softmax + " --mode timing-only -D R=256 -D C=";
  REQUIRE(ncemu_run("profile " + sizes + "256 --json=old.json").code == 0);
  REQUIRE(ncemu_run("profile " + sizes + "512 --json=new.json").code == 0);
  const Outcome text = ncemu_run("diff old.json new.json");
  CHECK(text.code == 0);
  CHECK(text.out.find("us slower (") < text.out.find('\n'));
  const Outcome json = ncemu_run("diff old.json new.json --json");
  CHECK(json.code == 0);
  CHECK_FALSE(Json::parse(json.out).empty());
}

TEST_CASE("what is no profile is refused by its name, on whichever side it stands") {
  write_source("whole.json", copy_profiled("", "vector"));
  write_source("cut.json", "{\"schema\": ");
  write_source("list.json", "[1, 2]");
  write_source("other.json", R"({"schema": "ncemu.run/1"})");
  write_source("number.json", R"({"schema": 5})");
  write_source("null.json", R"({"schema": null})");
  write_source("listed.json", R"({"schema": ["ncemu.profile/1"]})");
  write_source("bare.json", R"({"schema": "ncemu.profile/1"})");
  Json wrong = Json::parse(text_of(directory() + "/whole.json"));
  wrong["engines"][0]["busy_us"] = "much";
  write_source("wrong.json", wrong.dump());
  for (const std::string name : {"cut.json", "list.json", "other.json", "number.json", "null.json",
                                 "listed.json", "bare.json", "wrong.json", "missing.json"}) {
    CAPTURE(name);
    for (const std::string& words : {name + " whole.json", "whole.json " + name}) {
      const Outcome o = ncemu_run("diff " + words);
      CHECK(o.code == 2);
      CHECK(o.err.starts_with(name + ": "));
    }
  }
  CHECK(ncemu_run("diff number.json whole.json").says("has the schema 5, expected \"ncemu.profile/1\""));
}

TEST_CASE("a profile of a run that ended early is told as one, with its reason") {
  write_source("whole.json", copy_profiled("", "vector"));
  REQUIRE(ncemu_run("profile copy.nca --max-instructions 2 --json=cut.json").code == 1);
  const Outcome text = ncemu_run("diff whole.json cut.json");
  CHECK(text.code == 0);
  CHECK(text.out.starts_with("PARTIAL (the second run: "));
  const Json json = Json::parse(ncemu_run("diff cut.json whole.json --json").out);
  CHECK(json["before"]["partial"] == true);
  CHECK(json["before"]["message"].get<std::string>().find("2 instructions") != std::string::npos);
  CHECK(json["after"]["partial"] == false);
  CHECK(json["sentence"].get<std::string>().starts_with("PARTIAL (the first run: "));
}
