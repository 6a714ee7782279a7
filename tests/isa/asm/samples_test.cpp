// Whole kernels, the round trip through the disassembler, and the speed of assembling.

#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include "isa/codec.h"
#include "isa/text.h"
#include "tests/isa/asm/assemble.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const std::string kernels = std::string(NCEMU_SOURCE_DIR) + "/kernels/";

Program kernel(const std::string& name, std::map<std::string, std::string> params = {}) {
  AssembleOptions options;
  options.params = std::move(params);
  Assembly a = assemble_file(kernels + name, options);
  REQUIRE_MESSAGE(a.ok(), a.diagnostics.text());
  return std::move(a.program);
}

std::size_t count(const Program& p, Opcode opcode) { return all_of(p, opcode).size(); }

void check_same_program(const Program& a, const Program& b) {
  for (const Engine e : all_engines) {
    REQUIRE(a.stream(e).size() == b.stream(e).size());
    for (std::size_t i = 0; i < a.stream(e).size(); ++i)
      CHECK(encode(a.stream(e)[i]) == encode(b.stream(e)[i]));
  }
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    CHECK(a.tensors[i].name == b.tensors[i].name);
    CHECK(a.tensors[i].kind == b.tensors[i].kind);
    CHECK(a.tensors[i].dtype == b.tensors[i].dtype);
    CHECK(a.tensors[i].shape == b.tensors[i].shape);
    CHECK(a.tensors[i].data == b.tensors[i].data);
  }
}

// The instructions that exist of flash attention's inner block.
const char* const attention = R"(
.param S = 4096
.param D = 128
.param SCALE = 0.0883883
.input q_t : bf16[D, S]
.input k_t : bf16[D, S]
.output o : f32[S, 1]
.let NB = S / 2048
.sbuf kt : bf16[D, S]
.sbuf qt[2] : bf16[D, 128]
.sbuf sc[2] : f32[128, 2048]
.sbuf p[2]  : bf16[128, 2048]
.sbuf top[2] : f32[128, 1]
.sbuf neg[2] : f32[128, 1]
.sbuf part[2] : f32[128, 1]
.psum s : f32[128, 2048]
dma_copy kt, k_t
.macro scores(u)
  .let q = u // NB
  .let b = u % NB
  .let i = u % 2
  .if b == 0
    dma_copy qt[q%2], q_t[:, q*128:+128]
  .end
  load_stationary qt[q%2]
  .for j in 0 .. 4
    matmul s[:, j*512:+512], kt[:, b*2048 + j*512:+512]
  .end
  tensor_scalar sc[i], s, op0 = mult, scalar0 = SCALE
  tensor_reduce top[i], sc[i], op = max, axes = X
  .if b == 0
    tensor_scalar neg[i], top[i], op0 = mult, scalar0 = -1.0
  .else
    tensor_scalar neg[i], top[i], op0 = mult, scalar0 = -1.0, op1 = min, scalar1 = neg[1-i]
  .end
  activation p[i], sc[i], func = exp, bias = neg[i], reduce_cmd = reset_reduce
  read_accumulator part[i]
  .if b == NB - 1
    dma_copy o[q*128:+128, :], part[i]
  .end
.end
.for u in 0 .. (S / 128) * NB
  scores(u)
.end
)";

}  // namespace

TEST_CASE("the GEMM kernels have one matmul per tile of the product") {
  for (const char* name : {"fp8_gemm.nca", "bf16_gemm.nca", "fp32_gemm.nca"}) {
    const Program p = kernel(name, {{"M", "384"}, {"K", "512"}, {"N", "1536"}});
    CHECK(count(p, Opcode::matmul) == 3 * 4 * 3);
    CHECK(count(p, Opcode::activation) == 3 * 3);
    CHECK(p.tensors.size() == 3);
  }
  const Program odd = kernel("bf16_gemm.nca", {{"M", "129"}, {"K", "130"}, {"N", "513"}});
  CHECK(count(odd, Opcode::matmul) == 2 * 2 * 2);
}

TEST_CASE("the softmax sample handles a short last tile") {
  const Program p = kernel("softmax.nca", {{"R", "300"}, {"C", "64"}});
  CHECK(count(p, Opcode::dma_copy) == 6);
  bool short_tile = false;
  for (const Instruction& i : all_of(p, Opcode::activation)) {
    short_tile = short_tile || std::get<Activation>(i.operands).dst.partitions == 300 - 256;
  }
  CHECK(short_tile);
}

TEST_CASE("the scores of flash attention assemble") {
  const Program p = assembled(attention);
  CHECK(count(p, Opcode::matmul) == 32 * 2 * 4);
  CHECK(count(p, Opcode::activation) == 32 * 2);
}

TEST_CASE("what the disassembler prints assembles to the same program") {
  std::vector<Program> programs;
  programs.push_back(kernel("vector_add.nca", {{"R", "256"}}));
  programs.push_back(kernel("softmax.nca", {{"R", "300"}}));
  programs.push_back(kernel("fp8_gemm.nca"));
  programs.push_back(kernel("fp32_gemm.nca", {{"M", "129"}}));
  programs.push_back(assembled(attention));
  programs.push_back(
      assembled(".machine trn2\n.const c : bf16[2, 3] = [1, -2, 3, inf, nan, 0.1]\n.inout y : f32[128, 64]\n"
                ".sbuf t[4] : f32[128, 64]\n.sbuf n : i32[128, 8]\n"
                ".loop r = 0 .. 8, unroll = 3\n  dma_copy t[1], y\n  tensor_scalar t[1], t[1], op0 = add, "
                "scalar0 = 0.1\n.end\n"
                "tensor_scalar n, n, op0 = bitwise_and, scalar0 = -3\nmemset t[2], value = bits(0xffc12345)\n"
                "activation t[0], t[3], func = gelu, scale = 1e-30\ndma_copy y, t[0]\n"));
  for (const Program& p : programs) {
    const std::string text = disassemble(p);
    Assembly again = assemble_text(text, "again.nca");
    REQUIRE_MESSAGE(again.ok(), again.diagnostics.text());
    check_same_program(p, again.program);
  }
}

TEST_CASE("two assemblies of one source are identical") {
  const Program a = kernel("fp8_gemm.nca", {{"M", "1024"}});
  const Program b = kernel("fp8_gemm.nca", {{"M", "1024"}});
  check_same_program(a, b);
  CHECK(a.sites == b.sites);
}

TEST_CASE("a hundred thousand instructions assemble in about a second") {
  const std::clock_t start = std::clock();
  const Program p = kernel("bf16_gemm.nca", {{"M", "8192"}, {"K", "4096"}, {"N", "16384"}});
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const auto n = static_cast<double>(p.instruction_count());
  MESSAGE(p.instruction_count() << " instructions in " << seconds << " s of processor time: " << n / seconds
                                << " per second");
  CHECK(n > 8e4);
  // Loose: sanitizers and a loaded machine are slower by a factor of ten.
  CHECK(seconds < 10);
}
