// Reads of bytes that nothing wrote: what is reported, how bad it is, and what is no mistake.

#include "tests/emu/observe/checked.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string head =
    ".input x : f32[128, 64]\n"
    ".output y : f32[128, 64]\n"
    ".sbuf t : f32[128, 64]\n"
    ".sbuf u : f32[128, 64]\n";

CheckSet only(CheckKind kind) {
  CheckSet set;
  set.set(kind, true);
  return set;
}

Texts init(const std::string& source, Mode mode = Mode::check, const std::vector<float>& values = {1.0F}) {
  return run_checked(source, mode, values, only(CheckKind::init)).texts();
}

}  // namespace

TEST_CASE("a tile that nobody wrote is an error where its values reach an output") {
  const std::string source = head + "tensor_copy u, t\ndma_copy y, u\n";
  for (const Mode mode : {Mode::functional, Mode::timed, Mode::timing_only, Mode::check}) {
    CHECK(init(source, mode) == Texts{"init error 5: tensor_copy src: tile 't' is read from t[0, 0] on and "
                                      "nothing wrote it; their values reach output 'y'"});
  }
}

TEST_CASE("the same read is a warning where its values stay inside") {
  CHECK(init(head + "tensor_copy u, t\ndma_copy u, x\ndma_copy y, u\n") ==
        Texts{"init warning 5: tensor_copy src: tile 't' is read from t[0, 0] on and nothing wrote it"});
}

// Lanes 100 to 127 are computed and not stored: 28 lanes of 64 elements.
TEST_CASE("lanes that are computed in vain are a warning, stored ones an error") {
  const std::string load =
      head + "dma_copy t[0:100, :], x[0:100, :]\ntensor_scalar t, t, op0 = add, scalar0 = 1.0\n";
  const std::string message =
      ": tensor_scalar src: nothing wrote 1792 of the 8192 elements that are read from tile 't', the first "
      "is "
      "t[100, 0]";
  CHECK(init(load + "dma_copy y[0:100, :], t[0:100, :]\n") == Texts{"init warning 6" + message});
  CHECK(init(load + "dma_copy y[0:101, :], t[0:101, :]\n") ==
        Texts{"init error 6" + message + "; their values reach output 'y'"});
}

TEST_CASE("columns of an element-wise result carry the mistake of their own column only") {
  const std::string load = head + "dma_copy t[:, 0:60], x[:, 0:60]\ntensor_tensor u, t, t, op = mult\n";
  CHECK(init(load + "dma_copy y[:, 0:60], u[:, 0:60]\n").at(0).starts_with("init warning"));
  CHECK(init(load + "dma_copy y[:, 0:61], u[:, 0:61]\n").at(0).starts_with("init error"));
}

TEST_CASE("a reduction carries the mistakes of its own lane, a matmul those of its columns") {
  const std::string reduce = head +
                             ".sbuf r : f32[128, 1]\ndma_copy t[0:64, :], x[0:64, :]\n"
                             "tensor_reduce r, t, op = add, axes = X\n";
  CHECK(init(reduce + "dma_copy y[0:64, 0:1], r[0:64, :]\n").at(0).starts_with("init warning"));
  CHECK(init(reduce + "dma_copy y[0:65, 0:1], r[0:65, :]\n").at(0).starts_with("init error"));

  const std::string matmul = head +
                             ".psum p : f32[64, 64]\ndma_copy t, x\ndma_copy u[:, 0:32], x[:, 0:32]\n"
                             "load_stationary t[:, 0:64]\nmatmul p, u, accumulate = false\n"
                             ".sbuf o : f32[64, 64]\ntensor_copy o, p\n";
  CHECK(init(matmul + "dma_copy y[0:64, 0:32], o[:, 0:32]\n").at(0).starts_with("init warning"));
  CHECK(init(matmul + "dma_copy y[0:64, 0:33], o[:, 0:33]\n").at(0).starts_with("init error"));
}

TEST_CASE("a mistake passes through the stationary operand and through accumulators") {
  CHECK(init(head +
             ".psum p : f32[64, 64]\n.sbuf o : f32[64, 64]\ndma_copy u, x\nload_stationary t[:, 0:64]\n"
             "matmul p, u, accumulate = false\ntensor_copy o, p\ndma_copy y[0:64, :], o\n")
            .at(0)
            .starts_with("init error 8: load_stationary src: tile 't'"));
  CHECK(init(head + ".sbuf r : f32[128, 1]\nactivation u, t, func = copy, reduce_cmd = reset_reduce\n"
                    "read_accumulator r\ndma_copy y[:, 0:1], r\n")
            .at(0)
            .starts_with("init error 6: activation src: tile 't'"));
}

TEST_CASE("what was overwritten in between is forgotten") {
  CHECK(init(head + "tensor_copy u, t\nmemset u, value = 0.0\ndma_copy y, u\n")
            .at(0)
            .starts_with("init warning"));
}

TEST_CASE("scratch in HBM and an output that is read back are followed too") {
  CHECK(
      init(head + ".hbm h : f32[128, 64]\ndma_copy h[0:64, :], x[0:64, :]\ndma_copy t, h\ndma_copy y, t\n") ==
      Texts{"init error 7: dma_copy src: nothing wrote 4096 of the 8192 elements that are read from tensor "
            "'h', the first is h[64, 0]; their values reach output 'y'"});
  CHECK(init(head + "dma_copy t, y\ndma_copy y, t\n")
            .at(0)
            .starts_with("init error 5: dma_copy src: tensor 'y' is read from y[0, 0] on"));
}

// Row p of the affine pattern keeps the columns i with 59 - i >= 0: the 60 that were loaded.
TEST_CASE("elements that affine_select fills are not read") {
  const std::string load = head + "dma_copy t[:, 0:60], x[:, 0:60]\n";
  const std::string store = "dma_copy y, u\n";
  CHECK(
      init(load + "affine_select u, t, pattern = [[-1, 64]], offset = 59, cmp = ge, on_false = 0.0\n" + store)
          .empty());
  CHECK(
      init(load + "affine_select u, t, pattern = [[-1, 64]], offset = 60, cmp = ge, on_false = 0.0\n" + store)
          .at(0)
          .starts_with("init error 6: affine_select src: nothing wrote 128 of the 8192 elements"));
}

TEST_CASE("a predicated copy counts as writing all of its destination") {
  const std::string source = head +
                             ".sbuf m : u8[128, 64]\nmemset m, value = 1\ndma_copy t, x\n"
                             "tensor_copy_predicated u, m, src = t\ndma_copy y, u\n";
  CHECK(init(source).empty());
}

// Rows 0 and 5 exist, row 9 does not: with mode skip partition 2 keeps what it had, which is nothing.
TEST_CASE("a gather that skips a row leaves it unwritten, which only data can tell") {
  const std::string source =
      ".input rows : i32[3, 1]\n"
      ".input x : f32[6, 64]\n"
      ".output y : f32[3, 64]\n"
      ".sbuf i : i32[3, 1]\n"
      ".sbuf t : f32[3, 64]\n"
      "dma_copy i, rows\n"
      "dma_copy t, x, index = i, bounds = skip\n"
      "dma_copy y, t\n";
  CHECK(
      init(source, Mode::functional, {0, 5, 9}) ==
      Texts{
          "init error 8: dma_copy src: nothing wrote 64 of the 192 elements that are read from tile 't', the "
          "first is t[2, 0]; their values reach output 'y'"});
  CHECK(init(source, Mode::functional, {0, 5, 3}).empty());
  CHECK(init(source, Mode::check).empty());
}

TEST_CASE("an index column that nobody wrote decides which rows move: an error by itself") {
  CHECK(
      init(".input x : f32[6, 64]\n.sbuf i : i32[3, 1]\n.sbuf t : f32[3, 64]\n"
           "dma_copy t, x, index = i, bounds = skip\n") ==
      Texts{
          "init error 4: dma_copy index: tile 'i' is read from i[0, 0] on and nothing wrote it; their values "
          "decide what the kernel does"});
}

TEST_CASE("an instruction that runs often is reported once, with its count") {
  const CheckedRun run = run_checked(head + ".for k in 0 .. 5\n  tensor_copy u, t\n.end\ndma_copy y, x\n",
                                     Mode::check, {1.0F}, only(CheckKind::init));
  REQUIRE(run.findings.size() == 1);
  CHECK(run.findings[0].count == 5);
}

TEST_CASE("names of elements count arrays of tiles, buffers and dimensions") {
  CHECK(
      init(head + ".sbuf a[3] : bf16[64, 4, 8]\nmemset a[0], value = 0.0\nmemset a[1], value = 0.0\n"
                  "memset a[2][:, 0:3, :], value = 0.0\nmemset a[2][:, 3, 0:5], value = 0.0\n"
                  "tensor_copy t[0:64, 0:32], a[2].reshape(64, 32)\n") ==
      Texts{
          "init warning 10: tensor_copy src: nothing wrote 192 of the 2048 elements that are read from tile "
          "'a', the first is a[2][0, 3, 5]"});
}

// The window's address 0 is byte 0 of SBUF partition 0, where the tile is put.
TEST_CASE("a word that is written by its address is written, the next one is not") {
  const std::string source =
      ".sync manual\n.sbuf t : f32[4, 8] @ partition = 0 offset = 0\n.sbuf u : f32[4, 8]\n"
      ".engine vector\n  write address0 = 0, data0 = 5\n";
  CHECK(init(source + "  tensor_copy u[0, 0:1], t[0, 0:1]\n.end\n").empty());
  CHECK(
      init(source + "  tensor_copy u[0, 0:2], t[0, 0:2]\n.end\n") ==
      Texts{"init warning 6: tensor_copy src: nothing wrote 1 of the 2 elements that are read from tile 't', "
            "the first is t[0, 1]"});
}
