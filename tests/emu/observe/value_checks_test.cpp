// What values do: the first result that is not finite, saturation, inputs outside a function's range.

#include <cmath>
#include <limits>

#include "tests/emu/observe/checked.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string head =
    ".input x : f32[4, 8]\n"
    ".output y : f32[4, 8]\n"
    ".sbuf t : f32[4, 8]\n"
    "dma_copy t, x\n";
constexpr float infinity = std::numeric_limits<float>::infinity();

// Without initialisation and outputs.
Texts values(const std::string& source, const std::vector<float>& input, Mode mode = Mode::functional) {
  CheckSet set;
  for (const CheckKind kind : {CheckKind::ranges, CheckKind::nonfinite, CheckKind::saturation})
    set.set(kind, true);
  return run_checked(source, mode, input, set).texts();
}

std::vector<float> with(std::size_t at, float value) {
  std::vector<float> all(32, 2.0F);
  all[at] = value;
  return all;
}

}  // namespace

TEST_CASE("the instruction that makes an infinity is named, in place too, those that pass it on are not") {
  const std::string in_place = head +
                               "tensor_scalar t, t, op0 = mult, scalar0 = 1e30\n"
                               "tensor_scalar t, t, op0 = add, scalar0 = 1.0\ndma_copy y, t\n";
  CHECK(values(in_place, with(13, 1e10F)) ==
        Texts{"nonfinite warning 5: tensor_scalar: makes inf at t[1, 5] from finite operands"});
  CHECK(values(in_place, with(13, 1.0F)).empty());
  const std::string apart = head + ".sbuf u : f32[4, 8]\nactivation u, t, func = exp\ndma_copy y, u\n";
  CHECK(values(apart, with(31, 100.0F)) ==
        Texts{"nonfinite warning 6: activation: makes inf at u[3, 7] from finite operands"});
}

TEST_CASE("an infinity that comes in, from memory or as an immediate, is nobody's making") {
  const std::string source = head + "tensor_scalar t, t, op0 = add, scalar0 = 1.0\ndma_copy y, t\n";
  CHECK(values(source, with(3, infinity)).empty());
  CHECK(values(source, with(3, std::nanf(""))).empty());
  const std::string divided = head + ".sbuf u : f32[4, 8]\nreciprocal u, t\ndma_copy y, u\n";
  CHECK(values(divided, with(8, 0.0F)) ==
        Texts{"nonfinite warning 6: reciprocal: makes inf at u[1, 0] from finite operands"});
}

TEST_CASE("what starts as NaN in memory is not blamed on the instruction that reads it in place") {
  CHECK(values(head + ".sbuf u : f32[4, 8]\ntensor_scalar u, u, op0 = add, scalar0 = 1.0\ndma_copy y, u\n",
               with(0, 1.0F))
            .empty());
}

TEST_CASE("after the first infinity each further one is judged by its own operands, in place too") {
  const std::string source = head +
                             ".sbuf u : f32[4, 8]\nreciprocal u, t\n"
                             "tensor_scalar u, u, op0 = mult, scalar0 = 1.0\n"
                             "tensor_scalar t, t, op0 = mult, scalar0 = 3e38\n";
  CHECK(values(source, with(8, 0.0F)) ==
        Texts{"nonfinite warning 6: reciprocal: makes inf at u[1, 0] from finite operands",
              "nonfinite warning 8: tensor_scalar: makes inf at t[0, 0] from finite operands"});
}

// 128 terms of 1e36 * 1 are 1.28e38, below the largest fp32 value 3.4e38; of 4e36 they are above.
TEST_CASE("a sum of the tensor engine that overflows is found, once for its group") {
  const auto source = [](const char* value) {
    return fmt::format(
        ".sbuf w : f32[128, 16]\n.sbuf m : f32[128, 16]\n.psum p : f32[16, 16]\nmemset w, value = {}\n"
        "memset m, value = 1.0\nload_stationary w\nmatmul p, m, accumulate = false\n"
        "matmul p, m, accumulate = true\n",
        value);
  };
  CHECK(values(source("1e36"), {0}).empty());
  CHECK(values(source("4e36"), {0}) ==
        Texts{"nonfinite warning 7: matmul: makes inf at p[0, 0] from finite operands"});
}

// i8 holds -128 to 127: 127.5 rounds to 128 and is lost, 127.4 and -128.5 (to even, -128) are not.
TEST_CASE("values that an integer type cannot hold are counted to the last") {
  const std::string source = head + ".sbuf i : i8[4, 8]\ntensor_copy i, t\n";
  std::vector<float> input(32, 1.0F);
  input[9] = 127.5F;
  input[10] = 127.4F;
  input[11] = -128.5F;
  input[12] = -129.0F;
  input[13] = infinity;
  input[14] = std::nanf("");
  CHECK(values(source, input) ==
        Texts{"saturation warning 6: tensor_copy: 3 values lie outside i8, the first is 127.5 for i[1, 1]"});
}

// f8e4m3 of this machine has infinities and ends at 240; its step there is 16, so 248 rounds to even:
// infinity.
TEST_CASE("values that an fp8 type cannot hold are counted, by transfers too") {
  const std::string copy = head + ".sbuf f : f8e4m3[4, 8]\ntensor_copy f, t\n";
  const std::string cast = ".input x : f32[4, 8]\n.sbuf f : f8e4m3[4, 8]\ndma_copy f, x\n";
  for (const auto& [source, mnemonic, line] :
       {std::tuple(copy, "tensor_copy", 6), std::tuple(cast, "dma_copy", 3)}) {
    CHECK(values(source, with(20, 247.0F)).empty());
    CHECK(values(source, with(20, -248.0F)) ==
          Texts{fmt::format("saturation warning {}: {}: 1 value lies outside f8e4m3, the first is -248 for "
                            "f[2, 4]",
                            line, mnemonic)});
    CHECK(values(source, with(20, infinity)).empty());
  }
}

TEST_CASE("the logarithm of a negative number is outside its range") {
  const Texts found = values(head + ".sbuf u : f32[4, 8]\nactivation u, t, func = log\n", with(17, -1.0F));
  REQUIRE(found.size() == 2);
  CHECK(found[0] ==
        "ranges warning 6: activation: inputs outside the valid range of log, the first is -1 for u[2, 1]");
  CHECK(found[1] == "nonfinite warning 6: activation: makes nan at u[2, 1] from finite operands");
}

TEST_CASE("without data nothing is said about values") {
  CHECK(
      values(head + "tensor_scalar t, t, op0 = mult, scalar0 = 1e38\n", {1e10F}, Mode::timing_only).empty());
}
