// Files that a verb writes: refused before the run where they cannot be, written whole or not at all.

#include "tools/command/output_files.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "isa/fault.h"
#include "tests/tools/command/runner.h"

using namespace ncemu;
using namespace ncemu::command;
using namespace ncemu::test;
namespace fs = std::filesystem;

namespace {

void write_kernel() {
  write_source("k.nca", ".output y : f32[1, 4]\n.sbuf t : f32[1, 4]\nmemset t, value = 1\ndma_copy y, t\n");
}

// In the test's directory, files that writing left behind.
std::size_t temporary_files() {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(directory()))
    count += entry.path().extension() == ".tmp" ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("two reports of one file are refused before the run, however the paths are spelled") {
  write_kernel();
  fs::create_directories(directory() + "/sub");
  fs::remove(directory() + "/link");
  fs::create_symlink("x", directory() + "/link");
  const std::string whole = directory() + "/x";
  remove_file("x");
  const std::vector<std::string> twice = {"--json=x --html x",
                                          "--json=x --html ./x",
                                          "--json=./x --perfetto sub/../x",
                                          "--json=x --perfetto " + whole,
                                          "--html " + whole + " --sarif ./x",
                                          "--html link --perfetto x"};
  for (const std::string& words : twice) {
    CAPTURE(words);
    const Outcome o = ncemu_run("profile k.nca --out y=y.npy " + words);
    CHECK(o.code == 2);
    CHECK(o.says(" write it"));
    CHECK(o.out.empty());
    CHECK_FALSE(exists("x"));
    CHECK_FALSE(exists("y.npy"));
  }
  CHECK(ncemu_run("run k.nca --out y=y.npy:float32 --json=./y.npy")
            .says("would replace the file of 'y=y.npy:float32'"));
  CHECK(ncemu_run("check k.nca --json=x --sarif ./x").code == 2);
  CHECK(ncemu_run("sweep k.nca --csv x --svg ./x").code == 2);
  CHECK(ncemu_run("profile k.nca --json=/dev/null --html /dev/null").code == 0);
}

TEST_CASE("standard output is for JSON alone") {
  write_kernel();
  remove_file("-");
  for (const char* option : {"--html", "--perfetto", "--sarif"}) {
    const Outcome o = ncemu_run(std::string("profile k.nca ") + option + " -");
    CHECK(o.code == 2);
    CHECK(o.says(std::string(option) + ": '-' is standard output"));
    CHECK_FALSE(exists("-"));
  }
  CHECK(ncemu_run("profile k.nca --json=-").out.starts_with("{"));
}

TEST_CASE("a file that cannot be written is found before the run, with the system's reason") {
  write_kernel();
  fs::create_directories(directory() + "/folder");
  remove_file("y.npy");
  // Nobody may make files in /proc, root neither.
  for (const auto& [path, reason] : {std::pair("nowhere/r", "there is no directory 'nowhere'"),
                                     {"folder", "Is a directory"},
                                     {"folder/", "Is a directory"},
                                     {"/dev/full", "No space left on device"},
                                     {"/proc/r", "cannot write: "},
                                     {"k.nca/r", "there is no directory 'k.nca'"}}) {
    for (const char* option : {"--json=", "--html=", "--perfetto="}) {
      CAPTURE(option);
      CAPTURE(path);
      const Outcome o = ncemu_run(fmt::format("profile k.nca --out y=y.npy {}{}", option, path));
      CHECK(o.code == 2);
      CHECK(o.err.starts_with(std::string(path) + ": "));
      CHECK(o.says(reason));
      CHECK(o.out.empty());
      CHECK_FALSE(exists("y.npy"));
    }
  }
  if (geteuid() != 0) {  // whom permissions do not stop
    write_source("kept.json", "old");
    fs::permissions(directory() + "/kept.json", fs::perms::owner_read);
    CHECK(ncemu_run("profile k.nca --json=kept.json").says("Permission denied"));
    fs::permissions(directory() + "/kept.json", fs::perms::owner_all);
  }
  CHECK(temporary_files() == 0);
}

TEST_CASE("a report that fails late leaves nothing half, and the others are written all the same") {
  const std::string gone = directory() + "/gone", kept = directory() + "/kept.txt",
                    taken = directory() + "/taken";
  fs::remove_all(taken);
  fs::create_directories(gone);
  remove_file("kept.txt");
  OutputFiles files;
  files.add("--json", gone + "/a.json");
  files.add("--html", taken);
  files.add("--sarif", kept);
  fs::remove_all(gone);
  fs::create_directories(taken + "/by a directory");
  files.write(gone + "/a.json", "a");
  files.write(taken, "b");
  files.write(kept, "c");
  CHECK(text_of(kept) == "c");
  try {
    files.finish();
    FAIL("nothing was said");
  } catch (const Fault& fault) {
    const std::string text = fault.what();
    CHECK(text.find(gone + "/a.json: cannot write: No such file or directory") == 0);
    CHECK(text.find("\n" + taken + ": cannot write: Is a directory") != std::string::npos);
  }
  CHECK(temporary_files() == 0);
}

TEST_CASE("a link is followed, and stays one") {
  write_kernel();
  write_source("there.json", "old");
  fs::remove(directory() + "/here.json");
  fs::create_symlink("there.json", directory() + "/here.json");
  REQUIRE(ncemu_run("run k.nca --json=here.json").code == 0);
  CHECK(fs::is_symlink(directory() + "/here.json"));
  CHECK(text_of(directory() + "/there.json").starts_with("{"));
}

TEST_CASE("/dev/stdout is written to and not replaced") {
  write_kernel();
  const bool link = fs::is_symlink("/dev/stdout");
  const Outcome o = ncemu_run("profile k.nca --html /dev/stdout");
  CHECK(o.code == 0);
  CHECK(o.prints("<!DOCTYPE html>"));
  CHECK(fs::is_symlink("/dev/stdout") == link);
}

TEST_CASE("a reader that closes standard output keeps no file from being written") {
  write_kernel();
  for (const char* verb : {"profile", "run", "check"}) {
    CAPTURE(verb);
    for (const char* name : {"closed.json", "closed.sarif"}) remove_file(name);
    ncemu_run(fmt::format("{} k.nca --json=closed.json --sarif closed.sarif | true", verb));
    CHECK(text_of(directory() + "/closed.json").ends_with("}\n"));
    CHECK(text_of(directory() + "/closed.sarif").ends_with("}\n"));
  }
}
