// The macros of kernels/std.nca, on both generations.

#include <doctest/doctest.h>

#include <cmath>

#include "isa/asm/assembler.h"
#include "isa/number.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

KernelResult run(const std::string& machine, const std::string& body,
                 const std::map<std::string, Bytes>& inputs) {
  const std::string text =
      ".machine " + machine + "\n.include \"" NCEMU_SOURCE_DIR "/kernels/std.nca\"\n" + body;
  Assembly assembly = assemble_text(text, "std_test.nca");
  REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
  KernelResult result = run_program(assembly.program, inputs, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  return result;
}

}  // namespace

TEST_CASE("transpose_tile transposes tiles of every float type on both generations") {
  for (const char* machine : {"trn1", "trn2"}) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16, DType::f8e4m3, DType::f8e5m2}) {
      for (const auto& [p, f] : {std::pair{128, 128}, {127, 64}, {1, 128}, {96, 1}}) {
        const std::string name_of = std::string(name(type));
        const auto sizes = [&](int a, int b) {
          return "[" + std::to_string(a) + ", " + std::to_string(b) + "]";
        };
        CAPTURE(machine);
        CAPTURE(name_of);
        CAPTURE(p);
        const std::string body = ".input x : " + name_of + sizes(p, f) + "\n.output y : " + name_of +
                                 sizes(f, p) + "\n.sbuf a : " + name_of + sizes(p, f) +
                                 "\n.sbuf b : " + name_of + sizes(f, p) + "\n.sbuf unit : " + name_of +
                                 sizes(p, p) + "\ndma_copy a, x\nidentity(unit, " + std::to_string(p) +
                                 ")\ntranspose_tile(b, a, unit, " + std::to_string(p) + ", " +
                                 std::to_string(f) + ", " + name_of + ")\ndma_copy y, b\n";
        std::vector<float> values = random_values(static_cast<std::size_t>(p * f), 7);
        Bytes x = to_bytes(type, values);
        if (machine == std::string_view("trn1")) {  // sums have no negative zero
          values = to_floats(type, x);
          for (float& v : values) v += 0.0F;
          x = to_bytes(type, values);
        }
        const Bytes y = run(machine, body, {{"x", x}}).outputs.at("y");
        const auto width = static_cast<std::size_t>(size_of(type));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < static_cast<std::size_t>(p * f); ++i) {
          const std::size_t row = i / static_cast<std::size_t>(f), column = i % static_cast<std::size_t>(f);
          const std::size_t there = column * static_cast<std::size_t>(p) + row;
          wrong += !std::equal(x.begin() + static_cast<std::ptrdiff_t>(i * width),
                               x.begin() + static_cast<std::ptrdiff_t>((i + 1) * width),
                               y.begin() + static_cast<std::ptrdiff_t>(there * width));
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("activation_reduce gives the function and the sum of each lane") {
  for (const char* machine : {"trn1", "trn2"}) {
    const std::string body = R"(
.input x : f32[5, 33]
.input offset : f32[5, 1]
.output y : f32[5, 33]
.output plain : f32[5, 1]
.output shifted : f32[5, 1]
.sbuf t : f32[5, 33]
.sbuf u : f32[5, 33]
.sbuf o : f32[5, 1]
.sbuf s : f32[5, 2]
dma_copy t, x
dma_copy o, offset
activation_reduce(u, t, s[:, 0:1], square, 2.0)
dma_copy y, u
activation_bias_reduce(u, t, s[:, 1:2], relu, 1.0, o)
dma_copy plain, s[:, 0:1]
dma_copy shifted, s[:, 1:2]
)";
    const std::vector<float> x = random_values(5 * 33, 3), offset = random_values(5, 4);
    const KernelResult result =
        run(machine, body, {{"x", to_bytes(DType::f32, x)}, {"offset", to_bytes(DType::f32, offset)}});
    std::vector<float> y, plain(5), shifted(5);
    for (std::size_t p = 0; p < 5; ++p) {
      for (std::size_t i = 0; i < 33; ++i) {
        const float doubled = x[p * 33 + i] * 2, squared = doubled * doubled,
                    moved = x[p * 33 + i] + offset[p];
        y.push_back(squared);
        plain[p] += squared;
        shifted[p] += moved > 0 ? moved : 0;
      }
    }
    CHECK(to_floats(DType::f32, result.outputs.at("y")) == y);
    CHECK(to_floats(DType::f32, result.outputs.at("plain")) == plain);
    CHECK(to_floats(DType::f32, result.outputs.at("shifted")) == shifted);
  }
}

TEST_CASE("mean_and_variance agrees with a two-pass computation") {
  const std::vector<float> x = random_values(3 * 100, 9);
  const KernelResult result = run("trn1", R"(
.input x : f32[3, 100]
.output y : f32[3, 2]
.sbuf t : f32[3, 100]
.sbuf m : f32[3, 2]
dma_copy t, x
mean_and_variance(m, t, 3)
dma_copy y, m
)",
                                  {{"x", to_bytes(DType::f32, x)}});
  const std::vector<float> y = to_floats(DType::f32, result.outputs.at("y"));
  for (std::size_t p = 0; p < 3; ++p) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < 100; ++i) mean += double{x[p * 100 + i]} / 100;
    for (std::size_t i = 0; i < 100; ++i) variance += std::pow(double{x[p * 100 + i]} - mean, 2) / 100;
    CHECK(y[2 * p] == doctest::Approx(mean).epsilon(1e-4));
    CHECK(y[2 * p + 1] == doctest::Approx(variance).epsilon(1e-4));
  }
}
