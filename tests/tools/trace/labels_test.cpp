// What the trace says of an instruction is what its author wrote: the operands are spelled as in the source.
#include "tools/trace/labels.h"

#include <doctest/doctest.h>

#include "isa/asm/assembler.h"

using namespace ncemu;

namespace {

Program assemble(const std::string& text) {
  Assembly assembly = assemble_text(".machine trn1\n" + text, "t.nca");
  REQUIRE_MESSAGE(assembly.ok(), assembly.diagnostics.text());
  return std::move(assembly.program);
}

// The text of an operand of the first instruction with this mnemonic.
std::string operand(const Program& program, const std::string& mnemonic, const std::string& name) {
  const Labels labels(program);
  for (std::uint32_t row = 0; row < labels.rows(); ++row) {
    if (labels.texts()[labels.mnemonic(row)] != mnemonic) continue;
    for (const Labels::Operand& o : labels.operands(row))
      if (labels.texts()[o.name] == name) return labels.texts()[o.value];
    return "no such operand";
  }
  return "no such instruction";
}

}  // namespace

TEST_CASE("an on-chip operand reads as the view that was written") {
  const std::string head = ".sbuf t : bf16[128, 6, 64]\n.sbuf u : bf16[64, 6, 64]\n.sbuf r : f32[128, 1]\n";
  const auto src = [&](const std::string& dst, const std::string& view) {
    return operand(assemble(head + "tensor_copy " + dst + ", " + view + "\n"), "tensor_copy", "src");
  };
  CHECK(src("t[0:64, 1, :]", "u[:, 5, :]") == "u[:, 5, :]");
  CHECK(src("t[0:64, 1, 0:16]", "u[:, 2, 48:64]") == "u[:, 2, 48:64]");
  CHECK(src("t[0:64, 1, 0:8]", "u[:, 2, 1:17:2]") == "u[:, 2, 1:16:2]");
  CHECK(src("t[0:64, :, :]", "u") == "u[:, :, :]");
  CHECK(src("t[0:32, :, :]", "u[32:64, :, :]") == "u[32:64, :, :]");
  CHECK(src("t[0:64, 0:3, :]", "u[:, 1:4, :]") == "u[:, 1:4, :]");
  CHECK(src("t[0:64, :, :]", "t[64:128, :, 3:4].broadcast(2, 64)") == "t[64:128, :, 3] x 64");
}

TEST_CASE("tiles of an array and places of a rotation are told apart") {
  const Program program = assemble(R"(
.sbuf a[3] : f32[128, 8]
.for i in 0 .. 2
  .sbuf b : f32[128, 8], buffers = 2
  tensor_copy b, a[2]
.end
)");
  const Labels labels(program);
  std::vector<std::string> destinations;
  for (std::uint32_t row = 0; row < labels.rows(); ++row)
    for (const Labels::Operand& o : labels.operands(row))
      if (labels.texts()[o.name] == "dst") destinations.push_back(labels.texts()[o.value]);
  CHECK(operand(program, "tensor_copy", "src") == "a[2][:, :]");
  CHECK(destinations == std::vector<std::string>{"b#0[:, :]", "b#1[:, :]"});
}

TEST_CASE("the HBM side of a transfer reads in indices of the tensor, transposed views too") {
  const Program program = assemble(R"(
.input x : f32[256, 64]
.sbuf a : f32[128, 2, 16]
dma_copy a, x.reshape(2, 128, 64).permute(1, 0, 2)[:, :, 16:32]
)");
  CHECK(operand(program, "dma_copy", "dst") == "a[:, :, :]");
  CHECK(operand(program, "dma_copy", "src") == "x[:, 16:32] permuted");
  // Every second row: rows 0 2 4 6 in the one half and 128 130 132 134 in the other are no range.
  const Program apart = assemble(R"(
.input x : f32[256, 64]
.sbuf a : f32[4, 2, 16]
dma_copy a, x.reshape(2, 128, 64).permute(1, 0, 2)[0:8:2, :, 16:32]
)");
  CHECK(operand(apart, "dma_copy", "src") == "x+64 f32 [4 step 128 x 2 step 8192 x 16 step 1]");
  const Program plain =
      assemble(".input x : f32[256, 64]\n.sbuf a : f32[64, 32]\ndma_copy a, x[64:128, 32:64]\n");
  CHECK(operand(plain, "dma_copy", "src") == "x[64:128, 32:64]");
}

TEST_CASE("options stand together, defaults that are false or zero are left out") {
  const Program program = assemble(R"(
.sbuf a : bf16[128, 128]
.psum p : f32[128, 128]
load_stationary a
matmul p, a, accumulate = false
matmul p, a, accumulate = true
)");
  CHECK(operand(program, "matmul", "with").find("accumulate") == std::string::npos);
  const Labels labels(program);
  std::size_t accumulating = 0;
  for (std::uint32_t row = 0; row < labels.rows(); ++row)
    for (const Labels::Operand& o : labels.operands(row))
      accumulating += labels.texts()[o.value].find("accumulate=true") != std::string::npos;
  CHECK(accumulating == 1);
}

TEST_CASE("an unrolled loop has few different texts") {
  const Program program = assemble(R"(
.sbuf a : f32[128, 8]
.sbuf b : f32[128, 8]
.for i in 0 .. 1000
  tensor_copy a, b
.end
)");
  const Labels labels(program);
  CHECK(labels.rows() >= 1000);
  CHECK(labels.texts().size() < 20);
}
