// `ncemu sweep`: every point is the run it stands for; what is finished survives; several processes give the
// same.

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/tools/command/runner.h"

using namespace ncemu;
using namespace ncemu::test;
using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;

// Copies C columns in tiles of W; W beyond C is refused.
void write_copy(std::string_view engine = "vector") {
  write_source("copy.nca", fmt::format(".param C = 4096\n"
                                       ".param W = 64\n"
                                       ".assert W <= C, \"W is larger than C\"\n"
                                       ".input  x : f32[128, C]\n"
                                       ".output y : f32[128, C]\n"
                                       ".for c in 0 .. C step W\n"
                                       "  .let n = min(W, C - c)\n"
                                       "  .sbuf t : f32[128, W], buffers = 3\n"
                                       "  .sbuf u : f32[128, W], buffers = 3\n"
                                       "  dma_copy t[:, 0:n], x[:, c:+n]\n"
                                       "  tensor_copy u[:, 0:n], t[:, 0:n], engine = {}\n"
                                       "  dma_copy y[:, c:+n], u[:, 0:n]\n"
                                       ".end\n",
                                       engine));
}

void start_anew() {
  write_copy();
  remove_file("copy.sweep.jsonl");
  remove_file("none.jsonl");
}

std::string file(const std::string& name) { return text_of(directory() + "/" + name); }

std::size_t lines_of(const std::string& name) {
  if (!exists(name)) return 0;
  const std::string text = file(name);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// As `ncemu run` has it.
double run_us(const std::string& words) {
  const Outcome o = ncemu_run("run copy.nca --mode timing-only --json " + words);
  REQUIRE(o.code == 0);
  const Json json = Json::parse(o.out);
  return json["device_time_us"].get<double>();
}

// Runs the words in the background with a shell; `name`.code appears at the end.
void start_in_background(const std::string& name, const std::string& words) {
  remove_file(name + ".code");
  const std::string command = fmt::format("cd '{}' && ( {} >{}.out 2>{}.err ; echo $? >{}.code ) &",
                                          directory(), words, name, name, name);
  REQUIRE(std::system(command.c_str()) == 0);
}

bool wait_until(const std::function<bool()>& holds) {
  for (int i = 0; i < 3000; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

std::string process_text(const fs::path& path) {
  std::string text;
  if (std::FILE* f = std::fopen(path.c_str(), "rb")) {
    char part[4096];
    for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, f)) > 0;) text.append(part, n);
    std::fclose(f);
  }
  return text;
}

// The sweeps of this build whose environment contains this. NUL bytes separate the words of both.
std::vector<pid_t> sweeps_with(const std::string& variable) {
  const std::string begin = std::string(NCEMU_COMMAND) + '\0' + "sweep";
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (!process_text(entry.path() / "cmdline").starts_with(begin)) continue;
    if (process_text(entry.path() / "environ").find(variable) == std::string::npos) continue;
    found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

// Large enough that a sweep can be caught in the middle.
const std::string long_grid = "-D C=100000 -D W=50,60,70,80,90,100,110,120,130,140,150,160";
constexpr std::size_t long_points = 12;

}  // namespace

TEST_CASE(
    "a sweep has the time of every point, in the order of the grid, and names the best of each machine") {
  start_anew();
  const Outcome o = ncemu_run(
      "sweep copy.nca --machine trn1,trn2 -D W=64,512 --metric dma_transfer_count --csv s.csv --json=s.json");
  CAPTURE(o.err);
  CHECK(o.code == 0);
  const std::string csv = file("s.csv");
  CHECK(csv.starts_with("machine,W,us,ticks,dma_transfer_count,failure\ntrn1,64,"));
  const Json points = Json::parse(file("s.json"))["points"];
  REQUIRE(points.size() == 4);
  for (const Json& point : points) {
    const std::string machine = point["at"]["machine"], w = point["at"]["W"];
    CHECK(point["us"].get<double>() ==
          doctest::Approx(run_us(fmt::format("--machine {} -D W={}", machine, w))));
    CHECK(point["metrics"]["dma_transfer_count"] == (w == "64" ? 128 : 16));  // 4096 / W tiles, in and out
  }
  CHECK(o.prints("best on trn1: machine=trn1 W=512"));
  CHECK(o.prints("best on trn2: machine=trn2 W=512"));
}

TEST_CASE(
    "values of a machine's parameter are an axis; a point that cannot be is told, left out and in the exit "
    "code") {
  start_anew();
  const Outcome o = ncemu_run("sweep copy.nca --set dma.l_trig_ns=100,5000 -D W=512,8192 --csv s.csv");
  CAPTURE(o.out);
  CHECK(o.code == 1);
  CHECK(o.says("2 of 4 points failed"));
  CHECK(o.prints("W is larger than C"));
  CHECK(o.prints("best: dma.l_trig_ns=100 W=512"));
  CHECK(lines_of("s.csv") == 5);
  CHECK(ncemu_run("sweep copy.nca -D W=8192 --points none.jsonl").code == 1);  // nothing ran
}

TEST_CASE("finished points are not run again, a line that was cut is, and a larger grid keeps them") {
  start_anew();
  REQUIRE(ncemu_run("sweep copy.nca -D W=64,128 --csv a.csv").code == 0);
  const std::string before = file("copy.sweep.jsonl");
  const Outcome again = ncemu_run("sweep copy.nca -D W=64,128 --csv b.csv");
  CHECK(again.says("2 of 2 points are there already"));
  CHECK(file("b.csv") == file("a.csv"));
  CHECK(file("copy.sweep.jsonl") == before);
  write_source("copy.sweep.jsonl", before.substr(0, before.size() - 20));
  const Outcome cut = ncemu_run("sweep copy.nca -D W=64,128,256 --csv c.csv");
  CHECK(cut.code == 0);
  CHECK(cut.says("1 of 3 points are there already"));
  CHECK(file("c.csv").starts_with(file("a.csv")));
  CHECK(lines_of("copy.sweep.jsonl") == 4);
}

TEST_CASE("points of another kernel, machine or input are refused") {
  start_anew();
  write_source("m.toml", "base = \"trn1\"\n[dma]\nl_trig_ns = 900\n");
  REQUIRE(ncemu_run("sweep copy.nca --machine m.toml -D W=64").code == 0);
  write_source("m.toml", "base = \"trn1\"\n[dma]\nl_trig_ns = 901\n");
  Outcome o = ncemu_run("sweep copy.nca --machine m.toml -D W=64");
  CHECK(o.code == 2);
  CHECK(o.says("its points are of another configuration of m.toml"));
  write_source("m.toml", "base = \"trn1\"\n[dma]\nl_trig_ns = 900\n");
  write_copy("gpsimd");
  o = ncemu_run("sweep copy.nca --machine m.toml -D W=64");
  CHECK(o.code == 2);
  CHECK(o.says("its points are of another copy.nca"));
  write_copy();
  o = ncemu_run("sweep copy.nca --machine m.toml -D W=64 --in x=ones");
  CHECK(o.code == 2);
  CHECK(o.says("inputs"));
  CHECK(ncemu_run("sweep copy.nca --machine m.toml -D W=64").code == 0);
}

TEST_CASE("mistakes in the command are refused before anything runs") {
  start_anew();
  for (const char* words :
       {"-D W=", "-D W=1,,2", "-D W=1,1", "-D W=1 -D W=2", "--machine trn1,trn9", "--plot uss",
        "--metric dma_transfer_cont", "--jobs 0", "--csv copy.nca", "--csv no/s.csv"}) {
    CAPTURE(words);
    CHECK(ncemu_run(std::string("sweep copy.nca ") + words).code == 2);
  }
  CHECK(ncemu_run("sweep none.nca").code == 2);
  CHECK_FALSE(exists("copy.sweep.jsonl"));
}

TEST_CASE("the plot has a point for each run and a line for each machine") {
  start_anew();
  REQUIRE(ncemu_run("sweep copy.nca --machine trn1,trn2 -D W=64,128,512 --svg s.svg").code == 0);
  const std::string svg = file("s.svg");
  const auto count = [&](std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = svg.find(word); at != std::string::npos; at = svg.find(word, at + 1)) ++n;
    return n;
  };
  CHECK(count("<polyline ") == 2);
  CHECK(count("<circle ") == 6);
  CHECK(count("machine=trn2") >= 1);
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("a sweep that is killed goes on where it was, with the results of one that was not") {
  start_anew();
  REQUIRE(ncemu_run("sweep copy.nca " + long_grid + " --csv whole.csv").code == 0);
  remove_file("copy.sweep.jsonl");
  start_in_background("killed", fmt::format("'{}' sweep copy.nca {} --jobs 1", NCEMU_COMMAND, long_grid));
  REQUIRE(wait_until([] { return lines_of("copy.sweep.jsonl") >= 3; }));
  for (const pid_t process : sweeps_with("")) kill(process, SIGKILL);
  REQUIRE(wait_until([] { return exists("killed.code"); }));
  const std::size_t kept = lines_of("copy.sweep.jsonl") - 1;
  CHECK(kept < long_points);
  const Outcome rest = ncemu_run("sweep copy.nca " + long_grid + " --csv rest.csv");
  CHECK(rest.code == 0);
  CHECK(rest.says(fmt::format("{} of {} points are there already", kept, long_points)));
  CHECK(file("rest.csv") == file("whole.csv"));
  CHECK(lines_of("copy.sweep.jsonl") == long_points + 1);
}

#ifdef NCEMU_MPIRUN
namespace {

// Open MPI asks root twice.
const std::string mpirun = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 '" NCEMU_MPIRUN
                           "' --oversubscribe -n 3 '" NCEMU_COMMAND "' ";

}  // namespace

TEST_CASE(
    "under mpirun the sweep has the same results, and one that loses a rank ends, keeps its points and goes "
    "on") {
  start_anew();
  REQUIRE(ncemu_run("sweep copy.nca " + long_grid + " --csv whole.csv").code == 0);
  remove_file("copy.sweep.jsonl");
  start_in_background("mpi", mpirun + "sweep copy.nca " + long_grid + " --csv mpi.csv");
  REQUIRE(wait_until([] { return exists("mpi.code"); }));
  CAPTURE(file("mpi.err"));
  CHECK(file("mpi.code") == "0\n");
  CHECK(file("mpi.csv") == file("whole.csv"));

  remove_file("copy.sweep.jsonl");
  remove_file("mpi.csv");
  start_in_background("mpi", mpirun + "sweep copy.nca " + long_grid + " --csv mpi.csv");
  REQUIRE(wait_until([] { return lines_of("copy.sweep.jsonl") >= 3; }));
  // Rank 1 and, if it has one, its child.
  const std::vector<pid_t> rank = sweeps_with(std::string("OMPI_COMM_WORLD_RANK=1") + '\0');
  REQUIRE_FALSE(rank.empty());
  for (const pid_t process : rank) kill(process, SIGKILL);
  REQUIRE(wait_until([] { return exists("mpi.code"); }));
  CHECK(file("mpi.code") != "0\n");
  CHECK_FALSE(exists("mpi.csv"));
  const std::size_t kept = lines_of("copy.sweep.jsonl") - 1;
  CHECK(kept >= 2);
  CHECK(kept < long_points);
  start_in_background("mpi", mpirun + "sweep copy.nca " + long_grid + " --csv mpi.csv");
  REQUIRE(wait_until([] { return exists("mpi.code"); }));
  CHECK(file("mpi.code") == "0\n");
  CHECK(file("mpi.err").find(fmt::format("{} of {} points are there already", kept, long_points)) !=
        std::string::npos);
  CHECK(file("mpi.csv") == file("whole.csv"));
}

TEST_CASE("under mpirun a mistake ends all processes with the code of the mistake") {
  start_anew();
  start_in_background("wrong", mpirun + "sweep none.nca");
  REQUIRE(wait_until([] { return exists("wrong.code"); }));
  CHECK(file("wrong.code") == "2\n");
  CHECK(file("wrong.err").find("none.nca: there is no such file") != std::string::npos);
}
#endif
