// The switches of the checks and their outputs, as a user meets them.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "isa/npy.h"
#include "tools/files/file.h"

using namespace ncemu;
using Json = nlohmann::json;

namespace {

struct Outcome {
  int code = -1;
  std::string out, err;
};

std::string directory() {
  std::filesystem::create_directories(NCEMU_TEST_DIR);
  return NCEMU_TEST_DIR;
}

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Outcome command(const std::string& words) {
  const std::string line =
      fmt::format("cd '{}' && '{}' {} >stdout.txt 2>stderr.txt", directory(), NCEMU_COMMAND, words);
  const int status = std::system(line.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(directory() + "/stdout.txt"),
          text_of(directory() + "/stderr.txt")};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

void write_source(const std::string& name, std::string_view text) {
  write_file(directory() + "/" + name, text);
}

// Line 4 computes on 28 lanes that nothing wrote and stores none of them: a warning of init.
constexpr std::string_view warns =
    ".input x : f32[100, 8]\n.output y : f32[100, 8]\n.sbuf t : f32[128, 8]\n"
    "dma_copy t[0:100, :], x\ntensor_scalar t, t, op0 = mult, scalar0 = 2.0\ndma_copy y, t[0:100, :]\n";
// Line 4 stores what nothing wrote: an error of init.
constexpr std::string_view fails = ".output y : f32[32, 8]\n.sbuf t : f32[32, 8]\n\ndma_copy y, t\n";

}  // namespace

TEST_CASE("--checks chooses what is reported, and an unknown name offers the right one") {
  write_source("fails.nca", fails);
  CHECK(command("check fails.nca").code == 1);
  CHECK(command("check fails.nca --checks init").code == 1);
  for (const char* set : {"none", "races,groups", "all,-init", "default,-init"}) {
    CAPTURE(set);
    const Outcome o = command(fmt::format("check fails.nca --checks {}", set));
    CHECK(o.code == 0);
    CHECK(o.err.empty());
  }
  const Outcome wrong = command("check fails.nca --checks inti");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "there is no check 'inti', did you mean 'init'?"));
}

TEST_CASE("a warning does not fail, with --strict it is an error") {
  write_source("warns.nca", warns);
  const Outcome o = command("check warns.nca");
  CHECK(o.code == 0);
  CHECK(contains(o.err, "warns.nca:5:1: warning: tensor_scalar src"));
  CHECK(contains(o.out, "fine, with warnings"));
  const Outcome strict = command("check warns.nca --strict");
  CHECK(strict.code == 1);
  CHECK(contains(strict.err, "warns.nca:5:1: error: tensor_scalar src"));
  CHECK(command("run warns.nca --in x=ones").code == 0);
  CHECK(command("run warns.nca --in x=ones --strict").code == 1);
}

TEST_CASE("a comment with a reason allows a finding, in the source and in a container made of it") {
  std::string source(fails);
  source.replace(source.find("\n\n"), 2, "\n# ncemu: allow init, \"the test wants it\"\n");
  write_source("allowed.nca", source);
  const Outcome o = command("check allowed.nca");
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  CHECK(command("asm allowed.nca -o allowed.ncb").code == 0);
  const Outcome container = command("check allowed.ncb");
  CHECK(container.code == 0);
  CHECK(container.err.empty());
  const Json json = Json::parse(command("check allowed.nca --json").out);
  REQUIRE(json["findings"].size() == 1);
  CHECK(json["findings"][0]["allowed"] == "the test wants it");
  CHECK(json["passed"] == true);
}

TEST_CASE("what allows another check or stands elsewhere allows nothing, and an unknown check is refused") {
  write_source("other.nca", std::string(fails) + "# ncemu: allow races, \"no race\"\nnop\n");
  const Outcome other = command("check other.nca");
  CHECK(other.code == 1);
  CHECK(contains(other.err, "other.nca:5:1: warning: nothing was found here that 'races' would allow"));
  write_source("unknown.nca", std::string(fails) + "nop  # ncemu: allow raxes, \"typo\"\n");
  const Outcome unknown = command("check unknown.nca");
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "unknown.nca:5:6: there is no check 'raxes' to allow, did you mean 'races'?"));
}

TEST_CASE("an allowance for values is not called unused where there were no values") {
  write_source("values.nca",
               std::string(warns) + "memset t, value = 1.0  # ncemu: allow saturation, \"x\"\n");
  CHECK_FALSE(contains(command("check values.nca").err, "would allow"));
  CHECK(contains(command("run values.nca --in x=ones").err, "would allow"));
}

TEST_CASE("JSON has every finding with place, severity, notes and fix") {
  write_source("carried.nca",
               ".output y : f32[32, 8]\n.sbuf t : f32[32, 8]\n.sbuf u : f32[32, 8]\n"
               "tensor_copy u, t\ndma_copy y, u\n");
  for (const char* verb : {"check", "run"}) {
    CAPTURE(verb);
    const Json json = Json::parse(command(fmt::format("{} carried.nca --json", verb)).out);
    CHECK(json["schema"] == fmt::format("ncemu.{}/1", verb));
    CHECK(json["passed"] == false);
    REQUIRE(json["findings"].size() == 1);
    const Json& f = json["findings"][0];
    CHECK(f["check"] == "init");
    CHECK(f["severity"] == "error");
    CHECK(f["place"] == Json{{"file", "carried.nca"}, {"line", 4}, {"column", 1}});
    REQUIRE(f["notes"].size() == 1);
    CHECK(f["notes"][0]["place"]["line"] == 5);
    CHECK(f["fix"].get<std::string>().starts_with("write tile 't' before"));
    CHECK(json["failures"] == Json::array({f["message"]}));
  }
}

// What SARIF 2.1.0 requires of a log, a run, a driver, a rule and a result (sections 3.13 to 3.49), and what
// code hosts need of a place.
TEST_CASE("SARIF has what the standard requires, with relative paths and the rules of all checks") {
  std::filesystem::create_directories(directory() + "/a dir");
  write_source("a dir/fails.nca", fails);
  std::string allowed(fails);
  allowed.replace(allowed.find("\n\n"), 2, "\n# ncemu: allow init, \"reason\"\n");
  CHECK(command("check 'a dir/fails.nca' --sarif out.sarif").code == 1);
  const Json log = Json::parse(text_of(directory() + "/out.sarif"));
  CHECK(log["version"] == "2.1.0");
  CHECK(log["$schema"].is_string());
  REQUIRE(log["runs"].size() == 1);
  const Json& run = log["runs"][0];
  const Json& driver = run["tool"]["driver"];
  CHECK(driver["name"] == "ncemu");
  std::vector<std::string> ids;
  for (const Json& rule : driver["rules"]) {
    ids.push_back(rule["id"]);
    CHECK(rule["shortDescription"]["text"].get<std::string>().size() > 20);
    CHECK((rule["defaultConfiguration"]["level"] == "error" ||
           rule["defaultConfiguration"]["level"] == "warning"));
  }
  CHECK(std::vector<std::string>(ids.begin(), ids.begin() + 2) == std::vector<std::string>{"races", "init"});
  REQUIRE(run["results"].size() == 1);
  const Json& result = run["results"][0];
  CHECK(result["ruleId"] == "init");
  CHECK(ids.at(result["ruleIndex"].get<std::size_t>()) == "init");
  CHECK(result["level"] == "error");
  CHECK(result["message"]["text"].get<std::string>().find("nothing wrote") != std::string::npos);
  const Json& place = result["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "a%20dir/fails.nca");
  CHECK(place["region"]["startLine"] == 4);
  CHECK(place["region"]["startColumn"] == 1);
  CHECK_FALSE(result.contains("suppressions"));

  write_source("allowed.nca", allowed);
  CHECK(command(fmt::format("check '{}/allowed.nca' --sarif out.sarif", directory())).code == 0);
  const Json quiet = Json::parse(text_of(directory() + "/out.sarif"));
  const Json& suppressed = quiet["runs"][0]["results"][0];
  CHECK(suppressed["suppressions"][0] == Json{{"kind", "inSource"}, {"justification", "reason"}});
  CHECK(suppressed["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "allowed.nca");
}

TEST_CASE("a report may not replace the kernel") {
  write_source("fails.nca", fails);
  CHECK(command("check fails.nca --sarif fails.nca").code == 2);
  CHECK(command("check fails.nca --json=fails.nca").code == 2);
  CHECK(text_of(directory() + "/fails.nca") == fails);
}

TEST_CASE("check stops without blame where data decide what follows, and says what it did not see") {
  write_source("loads.nca",
               ".sync manual\n.const c : i32[1] = [3]\n.engine vector\n  register_load r0, c\n.end\n");
  const Outcome o = command("check loads.nca");
  CHECK(o.code == 0);
  CHECK(contains(o.out, "fine as far as it goes without data"));
  CHECK(contains(o.out, "not checked   what follows loads.nca:4:3: register_load"));
  CHECK(contains(o.out, "ranges, nonfinite, saturation: values are needed"));
  CHECK(command("run loads.nca --mode timing-only").code == 1);
}

TEST_CASE("a row index is followed with data only, which check says") {
  write_source("rows.nca",
               ".input r : i32[4, 1]\n.input x : f32[8, 8]\n.output y : f32[8, 8]\n.sbuf i : i32[4, 1]\n"
               ".sbuf t : f32[4, 8]\ndma_copy i, r\ndma_copy t, x[0:4, :]\ndma_copy y, t, index = i\n");
  const Outcome o = command("check rows.nca");
  CHECK(o.code == 0);
  CHECK(contains(o.out, "not checked   init, outputs: which rows the index chooses at rows.nca:8:1"));
  const Outcome run = command("run rows.nca --in r=iota --in x=ones");
  CHECK(run.code == 1);
  CHECK(
      contains(run.err, "output 'y': 32 of 64 elements were never written, the first at y[4, 0] [outputs]"));
}

TEST_CASE("limits of zero are refused and the time limit covers the assembly") {
  write_source("fails.nca", fails);
  for (const char* verb : {"check", "run"}) {
    CAPTURE(verb);
    CHECK(contains(command(fmt::format("{} fails.nca --max-time 0", verb)).err, "leave the option out"));
    CHECK(command(fmt::format("{} fails.nca --max-time 0", verb)).code == 2);
    CHECK(command(fmt::format("{} fails.nca --max-instructions 0", verb)).code == 2);
  }
  write_source("long.nca", ".set n = 0\n.for i in 0 .. 60000000\n  .set n = n + 1\n.end\nnop\n");
  const Outcome o = command("check long.nca --max-time 0.2");
  CHECK(o.code == 1);
  CHECK(contains(o.err, "the time limit of 0.2 s of host time ended the assembly"));
}

TEST_CASE("--poison is what unwritten memory reads as") {
  write_source("fails.nca", fails);
  for (const auto& [option, expected] :
       {std::pair("", 0xFFU), std::pair("--poison 0x2a", 0x2AU), std::pair("--poison 7", 7U)}) {
    CAPTURE(option);
    CHECK(command(fmt::format("run fails.nca --checks none --out y=y.npy {}", option)).code == 0);
    for (const std::byte b : read_npy(directory() + "/y.npy").data)
      CHECK((std::to_integer<unsigned>(b) == expected || expected == 0xFF));
  }
  CHECK(command("run fails.nca --poison 256").code == 2);
  CHECK(command("run fails.nca --poison 0x").code == 2);
}

TEST_CASE("a deadlock's reason is among the failures of the JSON report") {
  write_source("stuck.nca",
               ".sync manual\n.semaphore s\n.engine vector\n  event_semaphore wait s >= 1\n.end\n");
  const Json json = Json::parse(command("run stuck.nca --json").out);
  CHECK(json["status"] == "deadlock");
  REQUIRE(json["failures"].size() == 1);
  CHECK(json["failures"][0] == json["message"]);
}

TEST_CASE("overlapping tiles are reported for a container as for its source") {
  write_source(
      "overlap.nca",
      ".sbuf a : f32[32, 8] @ partition = 0 offset = 0\n.sbuf b : f32[32, 8] @ partition = 0 offset = 0\n"
      "memset a, value = 1.0\nmemset b, value = 2.0\n");
  CHECK(command("asm overlap.nca -o overlap.ncb").code == 0);
  for (const char* kernel : {"overlap.nca", "overlap.ncb"}) {
    CAPTURE(kernel);
    const Outcome o = command(fmt::format("check {}", kernel));
    CHECK(o.code == 1);
    CHECK(contains(o.err, "error: tile 'b' overlaps the live tile 'a'"));
    CHECK(command(fmt::format("check {} --checks all,-overlap", kernel)).code == 0);
  }
}
