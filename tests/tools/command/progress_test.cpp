// The progress line of a long run: on a terminal, with what it has done and what is left, and nowhere else.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <regex>
#include <vector>

#include "tests/tools/command/runner.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr std::uint64_t rounds = 200'000;

// Two instructions a round: most of a second with data.
void write_long() {
  write_source("long.nca", fmt::format(".machine trn1\n"
                                       ".sbuf a : f32[128, 8]\n.sbuf b : f32[128, 8]\n.sbuf c : f32[128, 8]\n"
                                       "memset b, value = 1.0\n"
                                       ".for i in 0 .. {}\n"
                                       "  tensor_copy a, b, engine = vector\n"
                                       "  activation c, a, func = copy\n"
                                       ".end\n",
                                       rounds));
}

// Standard error of a run whose standard error is a terminal.
std::string on_a_terminal(const std::string& words) {
  write_source("terminal.py",
               "import os, subprocess, sys\n"
               "ours, theirs = os.openpty()\n"
               "run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=theirs)\n"
               "os.close(theirs)\n"
               "said = b''\n"
               "while True:\n"
               "    try:\n"
               "        piece = os.read(ours, 4096)\n"
               "    except OSError:\n"  // how Linux says that the other side is closed
               "        break\n"
               "    if not piece:\n"
               "        break\n"
               "    said += piece\n"
               "open('said.txt', 'wb').write(said)\n"
               "sys.exit(run.wait())\n");
  const std::string command =
      fmt::format("cd '{}' && python3 terminal.py '{}' {}", directory(), NCEMU_COMMAND, words);
  REQUIRE(std::system(command.c_str()) == 0);
  return text_of(directory() + "/said.txt");
}

}  // namespace

TEST_CASE("a long run tells a terminal its instructions, its device time and what is left") {
  write_long();
  const std::string said = on_a_terminal("run long.nca --mode timed");
  const std::regex line(
      R"(running: [0-9.]+ s of host time, (\d+) instructions, (\d+) us of device time, about \d+ s left)");
  std::vector<std::uint64_t> instructions, us;
  for (auto at = std::sregex_iterator(said.begin(), said.end(), line); at != std::sregex_iterator(); ++at) {
    instructions.push_back(std::stoull((*at)[1]));
    us.push_back(std::stoull((*at)[2]));
  }
  CAPTURE(said);
  REQUIRE_FALSE(instructions.empty());
  CHECK(std::is_sorted(instructions.begin(), instructions.end()));
  CHECK(std::is_sorted(us.begin(), us.end()));
  CHECK(instructions.front() > 0);
  CHECK(instructions.back() <= 2 * rounds + 2);
}

TEST_CASE("a file gets no progress line") {
  write_long();
  const Outcome o = ncemu_run("run long.nca --mode timed");
  CHECK(o.code == 0);
  CHECK_FALSE(o.says("running:"));
}
