// Accumulation groups in modes without data, and that they agree with what the tensor engine does with data.

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "emu/observe/accumulation.h"
#include "tests/emu/observe/checked.h"
#include "tests/emu/observe/observed.h"

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

TEST_CASE("random matmuls and writes give the findings of a plain array with a number for each word") {
  constexpr int lanes = 128, bank_words = 512, words = 4 * bank_words;
  constexpr int written_by_vector = -1;
  std::mt19937 random(4);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::uint64_t reported = 0;
  for (int round = 0; round < 40; ++round) {
    Program program;
    Accumulation accumulation(program);
    std::vector<int> plain(static_cast<std::size_t>(lanes * words));  // 0: untouched
    std::array<std::array<int, 4>, words / bank_words> newest{};      // by bank and 32 lanes
    int groups = 0;
    std::uint64_t no_group = 0, foreign = 0, older = 0;
    for (int step = 0; step < 60; ++step) {
      AccessPattern p;
      p.space = Space::psum;
      p.partition = static_cast<std::uint8_t>(32 * below(3));
      p.partitions = static_cast<std::uint8_t>(32 * (1 + below(2)));
      // Mostly the same few places, as a kernel has them; some strided.
      const int bank = below(3), column = 128 * below(3), step_words = below(4) == 0 ? 2 : 1;
      const int count = (128 + 64 * below(3)) / step_words;
      p.offset = static_cast<std::uint32_t>((bank * bank_words + column) * 4);
      p.dims[0] = {static_cast<std::int16_t>(step_words), static_cast<std::uint16_t>(count)};
      const auto each = [&](auto&& visit) {
        for (int lane = p.partition; lane < p.partition + p.partitions; ++lane) {
          for (int i = 0; i < count; ++i)
            visit(
                plain[static_cast<std::size_t>(lane * words + bank * bank_words + column + i * step_words)]);
        }
      };
      if (below(6) == 0) {
        each([&](int& word) { word = written_by_vector; });
        start(program, accumulation, Engine::vector, Opcode::memset, Memset{.dst = p});
        continue;
      }
      const bool accumulate = below(3) != 0;
      int group = 0;
      bool any_foreign = false;
      if (accumulate) {
        each([&](int& word) {
          group = std::max(group, word);
          any_foreign = any_foreign || word == written_by_vector;
        });
        foreign += any_foreign ? 1 : 0;
        no_group += !any_foreign && group == 0 ? 1 : 0;
      }
      bool passed = false;
      for (int q = p.partition / 32; q < (p.partition + p.partitions) / 32; ++q)
        passed = passed || newest[static_cast<std::size_t>(bank)][static_cast<std::size_t>(q)] > group;
      if (group == 0) {
        group = ++groups;
        for (int q = p.partition / 32; q < (p.partition + p.partitions) / 32; ++q)
          newest[static_cast<std::size_t>(bank)][static_cast<std::size_t>(q)] = group;
      } else {
        older += passed ? 1 : 0;
      }
      each([&](int& word) { word = group; });
      Matmul matmul;
      matmul.dst = p;
      matmul.accumulate = accumulate;
      start(program, accumulation, Engine::tensor, Opcode::matmul, matmul);
    }
    std::uint64_t found_no_group = 0, found_foreign = 0, found_older = 0;
    for (const Finding& f : accumulation.findings()) {
      const auto says = [&](const char* words_of_it) {
        return f.message.find(words_of_it) != std::string::npos ? f.count : 0;
      };
      found_no_group += says("no matmul opened");
      found_foreign += says("into words of");
      found_older += says("newer accumulation group");
    }
    INFO("round ", round);
    REQUIRE(found_no_group == no_group);
    REQUIRE(found_foreign == foreign);
    REQUIRE(found_older == older);
    reported += no_group + foreign + older;
  }
  CHECK(reported > 200);
}
