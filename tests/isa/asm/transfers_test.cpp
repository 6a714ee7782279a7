// Transfers as the language writes them.

#include <doctest/doctest.h>

#include "isa/rules.h"
#include "isa/text.h"
#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr const char* declarations = R"(
.input table : f32[50, 4, 8]
.inout store : f32[50, 32]
.input a : bf16[16, 1, 1, 128]
.sbuf rows : u32[20, 1]
.sbuf t : f32[20, 32]
.sbuf u : f32[20, 32]
)";

template <typename Form>
Form only(const Program& p, Opcode opcode) {
  const auto found = all_of(p, opcode);
  REQUIRE(found.size() == 1);
  return std::get<Form>(found[0].operands);
}

}  // namespace

TEST_CASE("an index makes the slowest dimension of the HBM side a table of rows for gpsimd to choose from") {
  const Program p = assembled(std::string(declarations) +
                              "dma_copy t.reshape(20, 4, 8), table, index = rows, bounds = skip");
  const auto copy = only<DmaCopy>(p, Opcode::dma_copy);
  const auto& side = std::get<HbmPattern>(copy.src);
  CHECK(side.dims[3] == HbmDim{32, 50});
  CHECK(side.dims[0] == HbmDim{1, 32});
  CHECK(copy.mode == DgeMode::software);
  CHECK(copy.bounds == Bounds::skip);
  CHECK(std::get<PointerOperand>(copy.index).dtype == DType::u32);
  CHECK(p.stream(Engine::gpsimd).size() >= 1);
}

TEST_CASE("rows of a strided table keep their pitch") {
  const Program p = assembled(std::string(declarations) +
                              "dma_copy store[0:50:2, 8:+16], t[:, 0:16], index = rows, accumulate = true");
  const auto copy = only<DmaCopy>(p, Opcode::dma_copy);
  const auto& side = std::get<HbmPattern>(copy.dst);
  CHECK(side.dims[3] == HbmDim{64, 25});
  CHECK(side.dims[0] == HbmDim{1, 16});
  CHECK(side.offset == 8);
  CHECK(copy.accumulate);
}

TEST_CASE("what an index cannot do is said with the shapes") {
  const auto error = [](const char* line) { return errors(std::string(declarations) + line); };
  CHECK(contains(
      error("dma_copy t[:, 0:16], table, index = rows"),
      "the rows of a transfer with an index must have equal shapes: destination [16] of f32[20, 16], "
      "source [4, 8] of f32[50, 4, 8]"));
  CHECK(contains(error("dma_copy t, u, index = rows"), "both sides are on chip"));
  CHECK(contains(error("dma_copy t[0:10, :], store, index = rows"),
                 "operand 'index' of dma_copy is u32[20, 1], the tile f32[10, 32] has 10 partitions"));
  CHECK(contains(error("dma_copy t, store, index = 3"), "must be a [P, 1] tile, found"));
  CHECK(contains(error("dma_copy t, store, index = rows, mode = static"), "index is given"));
  CHECK(contains(error("dma_copy t, store, index = rows, bounds = clamp"), "clamp"));
}

TEST_CASE("a transpose takes the dimensions as they are written") {
  const std::string source = ".machine trn2\n.input a : bf16[16, 1, 1, 128]\n";
  CHECK(contains(errors(source + ".sbuf t : bf16[128, 1, 16]\ndma_transpose t, a"),
                 "destination bf16[128, 1, 16] has 3 dimensions, source bf16[16, 1, 1, 128] has 4"));
  CHECK(
      contains(errors(source + ".sbuf t : bf16[128, 1, 1, 8]\ndma_transpose t, a"),
               "source bf16[16, 1, 1, 128] becomes [128, 1, 1, 16], the destination is bf16[128, 1, 1, 8]"));
  const Program p = assembled(source + ".sbuf t : bf16[128, 1, 1, 16]\ndma_transpose t, a, mode = hardware");
  const auto transpose = only<DmaTranspose>(p, Opcode::dma_transpose);
  CHECK(std::get<AccessPattern>(transpose.dst).partitions == 128);
  CHECK(std::get<AccessPattern>(transpose.dst).dims[0] == Dim{1, 16});
  CHECK(std::get<HbmPattern>(transpose.src).dims[0] == HbmDim{1, 128});
  CHECK(std::get<HbmPattern>(transpose.src).dims[3] == HbmDim{128, 16});
  CHECK(transpose.mode == DgeMode::hardware);
}

TEST_CASE("two and three dimensions are transposed as [1, 0] and [2, 1, 0]") {
  const Program p = assembled(
      ".input a : f32[8, 3, 16]\n.input b : f32[8, 16]\n.sbuf x : f32[16, 3, 8]\n.sbuf y : f32[16, 8]\n"
      "dma_transpose x, a\ndma_transpose y, b");
  const auto found = all_of(p, Opcode::dma_transpose);
  REQUIRE(found.size() == 2);
  const auto& three = std::get<DmaTranspose>(found[0].operands);
  CHECK(std::get<HbmPattern>(three.src).dims ==
        std::array<HbmDim, 4>{HbmDim{1, 16}, {16, 3}, {0, 1}, {48, 8}});
  CHECK(std::get<AccessPattern>(three.dst).dims == std::array<Dim, 4>{Dim{1, 8}, {8, 3}, {0, 1}, {0, 1}});
  const auto& two = std::get<DmaTranspose>(found[1].operands);
  CHECK(std::get<HbmPattern>(two.src).dims == std::array<HbmDim, 4>{HbmDim{1, 16}, {0, 1}, {0, 1}, {16, 8}});
}

TEST_CASE("dma_compute lists its sources, with a scale for those that have one") {
  const std::string line = "dma_compute t, store[0:20, :], u, t, op = fma, scale0 = 0.5, scale2 = -1";
  const auto compute = only<DmaCompute>(assembled(std::string(declarations) + line), Opcode::dma_compute);
  REQUIRE(compute.sources.size() == 3);
  CHECK(compute.op == ComputeOp::fma);
  CHECK(compute.sources[0].scale == 0.5F);
  CHECK(compute.sources[1].scale == 1.0F);
  CHECK(compute.sources[2].scale == -1.0F);
  const auto error = [](const char* text) { return errors(std::string(declarations) + text); };
  CHECK(contains(error("dma_compute t, u, scale1 = 2.0"), "scales only for those given"));
  CHECK(contains(error("dma_compute t, u, src2 = u"), "without gaps"));
  CHECK(contains(error("dma_compute t"), "needs operand 'src0'"));
  CHECK(contains(error("dma_compute t, u, u[:, 0:16]"), "shapes of a transfer must be equal"));
  CHECK(contains(error("dma_compute t, u, op = add, scale0 = 2.0"), "op = add does not scale"));
}
