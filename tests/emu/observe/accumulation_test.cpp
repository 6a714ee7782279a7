// Accumulation groups in modes without data, and that they agree with what the tensor engine does with data.

#include "tests/emu/observe/checked.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string head =
    ".sbuf w : bf16[128, 64]\n"
    ".sbuf m : bf16[128, 64]\n"
    ".psum p : f32[64, 64]\n"
    "memset w, value = 1.0\n"
    "memset m, value = 1.0\n"
    "load_stationary w\n";

Texts groups(const std::string& source, Mode mode = Mode::check) {
  CheckSet set;
  set.set(CheckKind::groups, true);
  return run_checked(source, mode, {1.0F}, set).texts();
}

}  // namespace

TEST_CASE("accumulating where no group was opened is reported in every mode") {
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
    CHECK(groups(head + "matmul p, m, accumulate = true\n", mode) ==
          Texts{"groups warning 7: matmul dst: accumulates into tile 'p' where no matmul opened a group; it "
                "overwrites instead"});
  }
}

TEST_CASE("one opened word is enough to join its group") {
  CHECK(groups(head + "matmul p[:, 0:1], m[:, 0:1], accumulate = false\nmatmul p, m, accumulate = true\n")
            .empty());
}

TEST_CASE("zeros that another engine put into PSUM are overwritten, and that is said") {
  CHECK(
      groups(head + "memset p, value = 0.0\nmatmul p, m, accumulate = true\n") ==
      Texts{
          "groups warning 8: matmul dst: accumulates into words of tile 'p' that vector wrote; it overwrites "
          "them instead of adding"});
}

TEST_CASE("a word written between two matmuls of a group is reported with its writer") {
  const std::string source = head +
                             ".sbuf o : f32[32, 1]\nmemset o, value = 1.0\nmatmul p, m, accumulate = false\n"
                             "activation p[0:32, 3:4], o, func = copy\nmatmul p, m, accumulate = true\n";
  CHECK(groups(source) == Texts{"groups warning 11: matmul dst: accumulates into words of tile 'p' that "
                                "scalar wrote; it overwrites "
                                "them instead of adding"});
}

TEST_CASE("going on with a group after another was opened in its bank is reported, in another bank not") {
  const std::string open = head + "matmul p[:, 0:32], m[:, 0:32], accumulate = false\n";
  CHECK(groups(open + "matmul p[:, 32:64], m[:, 32:64], accumulate = false\n"
                      "matmul p[:, 0:32], m[:, 0:32], accumulate = true\n")
            .at(0)
            .find("newer accumulation group") != std::string::npos);
  CHECK(groups(open + ".psum q : f32[64, 64]\nmatmul q, m, accumulate = false\n"
                      "matmul p[:, 0:32], m[:, 0:32], accumulate = true\n")
            .empty());
}

TEST_CASE("reading a sum leaves its group open") {
  CHECK(groups(head + ".sbuf o : f32[64, 64]\nmatmul p, m, accumulate = false\ntensor_copy o, p\n"
                      "matmul p, m, accumulate = true\n")
            .empty());
}
