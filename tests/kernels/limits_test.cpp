// What a kernel says of sizes that it cannot do, and that the sizes just below assemble.

#include <doctest/doctest.h>

#include "isa/fault.h"
#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Limit {
  std::string kernel;
  Params params;
  std::string name;  // of the parameter that grows
  std::int64_t fits, too_large;
};

// In fp32 on trn1, unless params say else; sizes near what a partition of 192 KiB holds.
const Limit limits[] = {
    {"layer_norm.nca", {{"R", "130"}, {"T", "f32"}}, "C", 8'000, 8'300},
    {"rms_norm.nca", {{"R", "130"}, {"T", "f32"}}, "C", 9'600, 9'900},
    {"rms_norm_quantize.nca", {{"R", "130"}, {"T", "bf16"}}, "C", 8'000, 8'300},
    {"softmax.nca", {{"R", "130"}, {"C", "100000"}, {"T", "f32"}}, "W", 6'900, 7'100},
    {"cross_entropy.nca", {{"R", "130"}, {"V", "100000"}, {"T", "f32"}}, "W", 9'700, 9'900},
    {"adamw.nca", {{"N", "300000"}}, "W", 2'500, 2'700},
    {"silu.nca", {{"R", "130"}, {"C", "100000"}, {"T", "f32"}}, "W", 8'100, 8'300},
    {"max_pool.nca", {{"CH", "130"}, {"H", "20"}, {"T", "f32"}}, "W", 2'900, 3'100},
    {"average_pool.nca", {{"CH", "130"}, {"H", "20"}, {"K", "3"}, {"T", "f32"}}, "W", 2'500, 2'700},
    {"conv3x3.nca", {{"H", "8"}, {"W", "66"}, {"T", "f16"}}, "CO", 4'600, 4'800},
    {"depthwise_conv1d.nca", {{"CH", "130"}, {"T", "f32"}}, "K", 140, 155},
    {"prefix_scan.nca", {{"R", "130"}, {"L", "100000"}}, "W", 8'100, 8'300},
    {"embedding_gather.nca", {{"N", "130"}, {"T", "f32"}}, "D", 12'200, 12'400},
    {"embedding_scatter_add.nca", {{"N", "130"}}, "D", 7'900, 8'200},
    {"published/vector_add_tiles.nca", {}, "FD", 5'400, 5'500},
    {"published/fused_attention.nca", {}, "S", 3'584, 4'096},
};

}  // namespace

TEST_CASE("a size just below the limit assembles, and one above is refused in the kernel's words") {
  for (const Limit& limit : limits) {
    CAPTURE(limit.kernel);
    Params params = limit.params;
    params[limit.name] = std::to_string(limit.fits);
    CHECK_NOTHROW(assemble_kernel(limit.kernel, params, "trn1"));
    params[limit.name] = std::to_string(limit.too_large);
    std::string message;
    try {
      assemble_kernel(limit.kernel, params, "trn1");
    } catch (const Fault& fault) {
      message = fault.what();
    }
    CAPTURE(message);
    const bool named = message.find("too large") != std::string::npos;
    CHECK(named);
  }
}

TEST_CASE("top-k takes rows of 8 to 16,384 elements") {
  CHECK_NOTHROW(assemble_kernel("top_k.nca", {{"C", "16384"}}, "trn1"));
  CHECK_NOTHROW(assemble_kernel("top_k.nca", {{"C", "8"}, {"K", "8"}}, "trn1"));
  CHECK_THROWS_AS(assemble_kernel("top_k.nca", {{"C", "16385"}}, "trn1"), Fault);
  CHECK_THROWS_AS(assemble_kernel("top_k.nca", {{"C", "7"}, {"K", "1"}}, "trn1"), Fault);
}
