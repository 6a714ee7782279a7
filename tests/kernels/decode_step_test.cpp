// The small kernels of a decoding step against plain loops: the product with few rows and the rotary
// embedding, both bit for bit.

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/support/kernel.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string machines[] = {"inf2", "trn1", "trn2"};

void check_gemv(std::size_t rows, std::size_t k, std::size_t n, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(rows);
  CAPTURE(k);
  CAPTURE(n);
  const Bytes x = to_bytes(type, random_values(k * rows, 1)),
              w = to_bytes(type, random_values(k * n, 2, 3.0F));
  const KernelResult result = run_program(assemble_kernel("gemv_decode.nca",
                                                          {{"B", std::to_string(rows)},
                                                           {"K", std::to_string(k)},
                                                           {"N", std::to_string(n)},
                                                           {"T", std::string(name(type))},
                                                           {"OUT", std::string(name(type))}},
                                                          machine),
                                          {{"x_t", x}, {"w", w}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const auto expected = gemm(to_floats(type, x), to_floats(type, w), k, rows, n);
  CHECK((result.outputs.at("y") == to_bytes(type, expected)));
}

void check_rotary(std::size_t tokens, std::size_t heads, std::size_t width, DType type, bool interleaved,
                  const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(tokens);
  CAPTURE(heads);
  CAPTURE(width);
  CAPTURE(interleaved);
  const std::size_t half = width / 2;
  const Bytes x = to_bytes(type, random_values(tokens * heads * width, 1, 4.0F));
  std::vector<float> cosines(tokens * half), sines(tokens * half);
  for (std::size_t s = 0; s < tokens; ++s) {
    for (std::size_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(s) * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      cosines[s * half + i] = static_cast<float>(std::cos(angle));
      sines[s * half + i] = static_cast<float>(std::sin(angle));
    }
  }
  const KernelResult result = run_program(
      assemble_kernel("rotary_embedding.nca",
                      {{"S", std::to_string(tokens)},
                       {"H", std::to_string(heads)},
                       {"D", std::to_string(width)},
                       {"T", std::string(name(type))},
                       {"INTERLEAVED", interleaved ? "true" : "false"}},
                      machine),
      {{"x", x}, {"cos", to_bytes(DType::f32, cosines)}, {"sin", to_bytes(DType::f32, sines)}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const std::vector<float> in = to_floats(type, x);
  std::vector<float> expected(in.size());
  for (std::size_t s = 0; s < tokens; ++s) {
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t row = (s * heads + h) * width;
      for (std::size_t i = 0; i < half; ++i) {
        const std::size_t first = row + (interleaved ? 2 * i : i), second = first + (interleaved ? 1 : half);
        const float a = in[first], b = in[second], c = cosines[s * half + i], n = sines[s * half + i];
        const float ac = a * c, bn = b * n, bc = b * c, an = a * n;
        expected[first] = ac - bn;
        expected[second] = bc + an;
      }
    }
  }
  CHECK((result.outputs.at("y") == to_bytes(type, expected)));
}

}  // namespace

TEST_CASE("the product with few rows is the plain loop to the bit") {
  for (const std::string& machine : machines) check_gemv(1, 512, 2048, DType::bf16, machine);
  check_gemv(1, 1, 1, DType::bf16, "trn1");
  check_gemv(7, 129, 2049, DType::bf16, "trn2");
  check_gemv(128, 127, 511, DType::f16, "trn1");
  check_gemv(3, 300, 700, DType::f32, "trn2");
}

TEST_CASE("the product with few rows streams the weights at four fifths of the DMA engines' rate") {
  // Runs of 4 KiB, all 16 engines: 18.1 bytes per ns and engine on v2, 22.7 on v3 (datasheet 7.5).
  const Params params = {{"B", "4"}, {"K", "4096"}, {"N", "8192"}};
  const double bytes = 2.0 * 4096 * 8192;
  CHECK(bytes / (time_kernel("gemv_decode.nca", params, "trn1").total_us * 1e3) >= 0.8 * 16 * 18.1);
  CHECK(bytes / (time_kernel("gemv_decode.nca", params, "trn2").total_us * 1e3) >= 0.8 * 16 * 22.7);
}

TEST_CASE("the rotary embedding turns each pair by its token's angle, bit for bit") {
  for (const std::string& machine : machines) {
    check_rotary(130, 3, 64, DType::bf16, false, machine);
    check_rotary(130, 3, 64, DType::bf16, true, machine);
  }
  check_rotary(1, 1, 2, DType::f32, false, "trn1");
  check_rotary(129, 8, 128, DType::f16, false, "trn2");
  check_rotary(257, 2, 6, DType::f32, true, "trn1");
}
