// Mutated sources: whatever the text, the assembler ends with a program or with messages.

#include <fstream>
#include <random>
#include <sstream>

#include "isa/fault.h"
#include "isa/reference.h"
#include "isa/text.h"
#include "tests/isa/asm/assemble.h"
#include "tests/support/mutate.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

std::string file(const std::string& path) {
  std::ifstream in(std::string(NCEMU_SOURCE_DIR) + "/" + path);
  REQUIRE(in.good());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const char* const everything = R"(.machine trn1
.param N = 4
.param T = bf16
.input x : f32[256, 64]
.output y : f32[256, 64]
.const e : T[4, 4] = eye
.const l : i16[2, 2] = [[1, -2], [3, N]]
.sbuf t[2][2] : f32[128, 2, 64], buffers = 2 @ partition = 0 offset = 4096
.psum acc : f32[128, 512] @ bank = 1
.view v = t[0][1].reshape(128, 128).as(i32)
.set k = 0
.macro m(a, b)
  .let z = a % 2 == 0 ? a // 2 : -a
  memset b[0:32, 0, z + 8:+4], value = 1.5e-3
.end
.for i in 0 .. N step 2
  .if i > 1 and not false
    m(i, t[1][0])
  .elif i == -1
    nop
  .else
    .set k = k + (1 << i)
  .end
.end
.loop r = 0 .. 6, unroll = 4
  dma_copy t[0][0][:, 0, :], x[r*16:+128, :], mode = software
.end
.semaphore s
.engine vector
top:
  register_alu r1, r1, ~3 & 0xFF, op = add
  compare_branch r1, 10, op = lt, target = top
  nop wait s >= 1 signal s -= 1 @read
.end
tensor_scalar v[:, 3:9:2], v[:, 0:3], op0 = bitwise_and, scalar0 = max(3, N)
.assert k == 1 or N != 4, "k"
.print acc[0]
)";

}  // namespace

TEST_CASE("the text that is mutated is itself without mistakes") {
  const Assembly a = assemble_text(everything, "fuzz.nca");
  CHECK_MESSAGE(a.ok(), a.diagnostics.text());
}

TEST_CASE("no mutated source crashes, hangs or blames the assembler") {
  constexpr std::uint64_t seed = 20240611;
  constexpr int cases = 20'000;
  MESSAGE("seed " << seed << ", " << cases << " cases");
  std::mt19937_64 random(seed);
  std::vector<std::string> seeds = {everything,
                                    everything,
                                    everything,
                                    file("kernels/softmax.nca"),
                                    file("kernels/vector_add.nca"),
                                    file("kernels/gemm_schedule.nca")};
  for (const InstructionInfo& row : all_instructions())
    seeds.push_back(std::string(example_declarations()) + std::string(example(row.mnemonic)) + "\n");
  AssembleOptions options;
  options.most_steps = 3000;
  options.most_instructions = 500;
  int fine = 0;
  for (int i = 0; i < cases; ++i) {
    const std::string text = mutate(seeds[static_cast<std::size_t>(random() % seeds.size())], random);
    try {
      const Assembly a = assemble_text(text, "fuzz.nca", options);
      fine += a.ok() ? 1 : 0;
      if (!a.ok()) CHECK_FALSE(a.diagnostics.text().empty());
    } catch (const std::exception& error) {
      FAIL_CHECK("case " << i << ": " << error.what() << "\n" << text);
    }
  }
  MESSAGE(fine << " of them assembled");
  CHECK(fine > 0);
}

TEST_CASE("deep nesting is an error and not the end of the stack") {
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{
           {"(", ")"}, {"-", ""}, {"not ", ""}, {"[", "]"}, {"max(", ")"}, {"true ? ", " : 1"}}) {
    std::string text = ".let x = ";
    for (int i = 0; i < 20'000; ++i) text += open;
    text += "1";
    for (int i = 0; i < 20'000; ++i) text += close;
    CHECK(contains(errors(text + "\n"), "too deep"));
  }
  std::string sum = ".let x = 1";
  for (int i = 0; i < 20'000; ++i) sum += " + 1";
  CHECK(contains(errors(sum + "\n"), "too deep"));
  std::string blocks;
  for (int i = 0; i < 20'000; ++i) blocks += ".scope\n";
  CHECK(contains(errors(blocks), "too deep"));
  std::string branches;
  for (int i = 0; i < 20'000; ++i) branches += ".if true\n";
  CHECK(contains(errors(branches), "too deep"));
}
