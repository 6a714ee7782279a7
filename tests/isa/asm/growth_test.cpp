// Assembling takes time in proportion to what it makes.

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "isa/asm/assembler.h"

using namespace ncemu;

namespace {

// Of this process, user time alone, which other load on the host disturbs least.
double seconds_used() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) * 1e-6;
}

struct Made {
  std::size_t instructions = 0;
  double seconds_each = 0;  // the least of a few runs
};

Made assemble(const std::string& source, int rounds) {
  Made made;
  for (int round = 0; round < rounds; ++round) {
    const double begin = seconds_used();
    const Assembly assembly = assemble_text(source, "growth.nca");
    const double seconds = seconds_used() - begin;
    REQUIRE(assembly.ok());
    made.instructions = assembly.program.instruction_count();
    const double each = seconds / static_cast<double>(made.instructions);
    made.seconds_each = round == 0 ? each : std::min(made.seconds_each, each);
  }
  return made;
}

// Waits between three engines, double buffers, one transfer for twelve instructions.
std::string stream(int rounds) {
  return ".input x : f32[128, 64]\n"
         ".output y : f32[128, 64]\n"
         ".sbuf t : f32[128, 64]\n"
         "dma_copy t, x\n"
         ".for i in 0 .. " +
         std::to_string(rounds) +
         "\n"
         "  .sbuf a : f32[128, 1], buffers = 2\n"
         "  .sbuf b : f32[128, 1], buffers = 2\n"
         "  .for j in 0 .. 4\n"
         "    tensor_copy a, t[:, i * 4 % 64 + j:+1]\n"
         "    activation b, a, func = copy\n"
         "    tensor_tensor t[:, i * 4 % 64 + j:+1], b, a, op = add, engine = gpsimd\n"
         "  .end\n"
         "  dma_copy y[:, i % 64:+1], b\n"
         ".end\n";
}

}  // namespace

TEST_CASE("an instruction of a million takes about as long to assemble as one of ten thousand") {
  const Made few = assemble(stream(700), 9), many = assemble(stream(70'000), 2);
  CHECK(few.instructions >= 9'000);
  CHECK(many.instructions >= 900'000);
  // Quadratic growth would be a hundred times as long; caches and page faults make it nearly twice.
  INFO("seconds for each: ", few.seconds_each, " of few, ", many.seconds_each, " of many");
  CHECK(many.seconds_each < 4 * few.seconds_each);
}
