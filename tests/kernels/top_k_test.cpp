// The vector engine's search, from source text to HBM: the k largest of each row, eight at a time.

#include <doctest/doctest.h>

#include <algorithm>

#include "isa/asm/assembler.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr std::string_view source = R"(
.param K = 24
.input  x : f32[128, 300]
.output y : f32[128, K]
.output places : u32[128, K]
.sbuf row : f32[128, 300]
dma_copy row, x
.for k in 0 .. K step 8
  .sbuf top : f32[128, 8], buffers = 2
  .sbuf at : u32[128, 8], buffers = 2
  max8 top, row
  match_value_load top
  match_replace8 row, row, value = -inf, index = at
  dma_copy y[:, k:+8], top
  dma_copy places[:, k:+8], at
.end
)";

}  // namespace

TEST_CASE("the k largest elements of each row arrive sorted, and their places name them") {
  for (const std::string machine : {"trn1", "trn2"}) {
    AssembleOptions options;
    options.target = *find_target(machine);
    const Assembly assembly = assemble_text(std::string(source), "top_k.nca", options);
    REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
    const std::vector<float> x = random_values(128 * 300, 7, 3.0F);
    const KernelResult result = run_program(assembly.program, {{"x", to_bytes(DType::f32, x)}}, {});
    REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
    const std::vector<float> y = to_floats(DType::f32, result.outputs.at("y")),
                             places = to_floats(DType::u32, result.outputs.at("places"));
    bool right = true;
    for (std::size_t r = 0; r < 128; ++r) {
      std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(300 * r),
                             x.begin() + static_cast<std::ptrdiff_t>(300 * (r + 1)));
      for (std::size_t k = 0; k < 24; ++k)
        right = right && row[static_cast<std::size_t>(places[24 * r + k])] == y[24 * r + k];
      std::sort(row.rbegin(), row.rend());
      right =
          right && std::equal(row.begin(), row.begin() + 24, y.begin() + static_cast<std::ptrdiff_t>(24 * r));
    }
    CHECK_MESSAGE(right, machine);
  }
}
