// Every kernel of tests/faulty has one fault and an exact report beside it; with -D FIXED=true it has none.
// NCEMU_UPDATE_GOLDEN=1 rewrites the reports; their diff is read.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "emu/observe/checks.h"
#include "tools/files/file.h"

using namespace ncemu;

namespace {

const std::string faulty = std::string(NCEMU_SOURCE_DIR) + "/tests/faulty";

std::string text_of(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> kernels() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(faulty)) {
    if (entry.path().extension() == ".nca") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// "run --in x=iota" of a first line "# run --in x=iota"; "check" for all others.
struct How {
  std::string verb = "check", options;
};
How how_to_run(const std::string& name) {
  const std::string text = text_of(faulty + "/" + name + ".nca");
  const std::string line = text.substr(0, text.find('\n'));
  for (const char* verb : {"run", "check"}) {
    const std::string start = fmt::format("# {}", verb);
    if (line == start) return {verb, ""};
    if (line.starts_with(start + " --")) return {verb, line.substr(start.size())};
  }
  return {};
}

struct Outcome {
  int code = -1;
  std::string errors;
};

// What is printed to standard error, in the directory of the kernels so that their names are short.
Outcome outcome_of(const std::string& name, bool fixed) {
  std::filesystem::create_directories(NCEMU_TEST_DIR);
  const std::string file = std::string(NCEMU_TEST_DIR) + "/stderr.txt";
  const How how = how_to_run(name);
  const std::string command =
      fmt::format("cd '{}' && '{}' {} {}.nca{}{} >/dev/null 2>'{}'", faulty, NCEMU_COMMAND, how.verb, name,
                  how.options, fixed ? " -D FIXED=true" : "", file);
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(file)};
}

std::string report(const std::string& name) {
  const How how = how_to_run(name);
  const Outcome o = outcome_of(name, false);
  return fmt::format("$ ncemu {} {}.nca{}\n{}exit code {}\n", how.verb, name, how.options, o.errors, o.code);
}

}  // namespace

TEST_CASE("every faulty kernel is reported in exactly the words beside it") {
  const bool update = std::getenv("NCEMU_UPDATE_GOLDEN") != nullptr;
  for (const std::string& name : kernels()) {
    CAPTURE(name);
    const std::string path = faulty + "/" + name + ".txt";
    const std::string got = report(name);
    if (update) {
      write_file(path, got);
      continue;
    }
    REQUIRE(std::filesystem::exists(path));
    CHECK(got == text_of(path));
  }
}

TEST_CASE("every corrected kernel reports nothing") {
  for (const std::string& name : kernels()) {
    if (name == "allow_unused") continue;  // below
    CAPTURE(name);
    const Outcome fixed = outcome_of(name, true);
    CHECK(fixed.errors == "");
    CHECK(fixed.code == 0);
  }
}

TEST_CASE("the kernel whose fault is a comment, which no parameter removes, reports nothing without it") {
  std::string source = text_of(faulty + "/allow_unused.nca");
  const std::size_t comment = source.find("# ncemu: allow");
  REQUIRE(comment != std::string::npos);
  source.erase(comment, source.find('\n', comment) - comment);
  std::filesystem::create_directories(NCEMU_TEST_DIR);
  const std::string path = std::string(NCEMU_TEST_DIR) + "/allow_unused.nca", errors = path + ".txt";
  write_file(path, source);
  const std::string command = fmt::format("'{}' check '{}' >/dev/null 2>'{}'", NCEMU_COMMAND, path, errors);
  CHECK(std::system(command.c_str()) == 0);
  CHECK(text_of(errors) == "");
}

TEST_CASE("there are at least 60 faulty kernels, and each says something") {
  const std::vector<std::string> names = kernels();
  CHECK(names.size() >= 60);
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::string text = text_of(faulty + "/" + name + ".txt");
    CHECK(std::count(text.begin(), text.end(), '\n') > 2);
  }
}

TEST_CASE("every check has a faulty kernel") {
  std::set<std::string> reported;
  for (const std::string& name : kernels()) {
    const std::string text = text_of(faulty + "/" + name + ".txt");
    for (std::size_t i = 0; i < check_count; ++i) {
      const std::string_view check = info(static_cast<CheckKind>(i)).name;
      if (text.find(fmt::format(" [{}]\n", check)) != std::string::npos) reported.emplace(check);
    }
  }
  for (std::size_t i = 0; i < check_count; ++i) {
    CAPTURE(info(static_cast<CheckKind>(i)).name);
    CHECK(reported.contains(std::string(info(static_cast<CheckKind>(i)).name)));
  }
}
