#include "isa/check_earlier.h"

#include <doctest/doctest.h>

#include "isa/asm/assembler.h"
#include "isa/container.h"

using namespace ncemu;

namespace {

constexpr const char* declarations =
    ".sbuf w : bf16[64, 32]\n.sbuf a : bf16[64, 8]\n.sbuf f : f32[64, 8]\n.sbuf b : bf16[32, 8]\n"
    ".psum p : f32[32, 8]\n.psum q : f32[64, 8]\n.sbuf v : f32[64, 8]\n.sbuf i : u32[64, 8]\n";

// The messages, one per line, without places and hints; empty if the source is fine.
std::string messages(const std::string& text) {
  const Assembly a = assemble_text(declarations + text, "test.nca");
  std::string all;
  for (const Diagnostic& d : a.diagnostics.all()) all += d.message + "\n";
  return all;
}

}  // namespace

TEST_CASE("a matmul that cannot fit the weights before it is told with what it finds there") {
  CHECK(messages("load_stationary w\nmatmul p, a\n").empty());
  CHECK(messages("matmul p, a\n") == "matmul: no load_stationary stands before it\n");
  CHECK(messages("load_stationary w\nmatmul p, f\n") ==
        "matmul: moving is f32 and the stationary operand bf16; f32 and tf32 pair only with each other\n");
  CHECK(messages("load_stationary w\nmatmul p, b\n") ==
        "matmul: moving has 32 partitions, the stationary operand has 64 (k)\n");
  CHECK(messages("load_stationary w\nmatmul q, a\n") ==
        "matmul: dst has 64 partitions, the stationary operand has 32 columns (m)\n");
  CHECK(messages("load_stationary w\n"
                 "matmul p, a, tile_size = [64, 64]\n") ==
        "matmul: no load_stationary into the tile of 64 x 64 at [0, 0] stands before it\n");
}

TEST_CASE("what is missing fails a run and leaves the program to be assembled") {
  const Assembly a = assemble_text(std::string(declarations) + "matmul p, a\n", "test.nca");
  CHECK(a.ok());
  REQUIRE(a.diagnostics.all().size() == 1);
  CHECK(a.diagnostics.all()[0].fails_run);
}

TEST_CASE("a load into an overlapping tile of the array replaces the weights there") {
  CHECK(messages("load_stationary w\nload_stationary w, tile_size = [64, 64]\nmatmul p, a\n") ==
        "matmul: no load_stationary stands before it\n");
  CHECK(messages("load_stationary w, tile_size = [64, 64]\n"
                 "load_stationary w, tile_position = [0, 64], tile_size = [64, 64]\n"
                 "matmul p, a, tile_size = [64, 64]\n")
            .empty());
}

TEST_CASE("what is loaded in a loop is known behind it only if the loop has a round for certain") {
  const std::string body = "  load_stationary w[0:32, :]\n  matmul p, b\n.end\nmatmul p, a\n";
  CHECK(messages("load_stationary w\n.loop r = 0 .. 2\n" + body) ==
        "matmul: moving has 64 partitions, the stationary operand has 32 (k)\n");
  CHECK(messages("load_stationary w\n.loop r = 0 .. 0\n" + body).empty());
}

TEST_CASE("behind a branch nothing is claimed") {
  CHECK(
      messages(".engine tensor\n  compare_branch r1, 0, op = eq, target = past\n  load_stationary w\npast:\n"
               "  matmul p, f\n.end\n")
          .empty());
}

TEST_CASE("a search, a shuffle and an activation need what is loaded before them") {
  CHECK(messages("stream_shuffle f[0:32, :], v[0:32, :]\n") ==
        "stream_shuffle: no load_mask stands before it\n");
  CHECK(messages("find_index8 i, v\n") ==
        "find_index8: no match_value_load for partition 0 stands before it\n");
  CHECK(messages("match_value_load v[0:32, :]\nmatch_replace8 f, v\n") ==
        "match_replace8: no match_value_load for partition 32 stands before it\n");
  CHECK(messages("match_value_load v\nfind_index8 i, v\nmatch_replace8 f, v\n").empty());
  CHECK(messages(".tables manual\nact_table_load table = gelu\nactivation f, v, func = exp\n") ==
        "activation: exp needs table set exp_log, gelu is loaded\n");
  CHECK(messages("activation f, v, func = exp\nactivation f, v, func = gelu\n").empty());
}

TEST_CASE("a transfer from PSUM is a warning") {
  const Assembly a =
      assemble_text(".output o : f32[32, 8]\n.psum p : f32[32, 8]\nmemset p\ndma_copy o, p\n", "t.nca");
  REQUIRE(a.diagnostics.all().size() == 1);
  CHECK(a.ok());
  CHECK(a.diagnostics.all()[0].severity == Severity::warning);
  CHECK(a.diagnostics.all()[0].message == "dma_copy reads psum");
}
