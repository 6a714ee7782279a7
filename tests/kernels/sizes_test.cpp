// What the kernels say about their sizes: the largest that README and headers name fit, and a size that
// cannot be is refused in words.

#include <doctest/doctest.h>

#include <string>

#include "isa/fault.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

TEST_CASE("the largest sizes that the documents name fit on trn1, which has the smaller memory") {
  // clang-format off
  const struct { const char* kernel; Params params; } largest[] = {
      {"bf16_gemm.nca",              {{"M", "300"}, {"N", "700"}, {"K", "14336"}}},
      {"fp32_gemm.nca",              {{"M", "300"}, {"N", "700"}, {"K", "7168"}}},
      {"fp8_gemm.nca",               {{"M", "300"}, {"N", "700"}, {"K", "28672"}}},
      {"gemm_blocked.nca",           {{"M", "300"}, {"N", "700"}, {"K", "13824"}}},
      {"gelu_mlp.nca",               {{"TOKENS", "100"}, {"D", "1000"}, {"F", "11000"}}},
      {"gelu_mlp.nca",               {{"TOKENS", "100"}, {"D", "6000"}, {"F", "6000"}}},
      {"swiglu_mlp.nca",             {{"TOKENS", "100"}, {"D", "1000"}, {"F", "10000"}}},
      {"swiglu_mlp.nca",             {{"TOKENS", "100"}, {"D", "4000"}, {"F", "4000"}}},
      {"moe_layer.nca",              {{"TOKENS", "100"}, {"D", "4096"}, {"F", "14336"}, {"E", "2"}}},
      {"moe_layer.nca",              {{"E", "512"}, {"K", "8"}, {"CAPACITY", "4"}, {"F", "128"}}},
      {"gemv_decode.nca",            {{"B", "128"}, {"K", "1000"}, {"N", "5000"}}},
      {"quantize_rows.nca",          {{"C", "19000"}}},
      {"dequantize_rows.nca",        {{"C", "27000"}}},
      {"rotary_embedding.nca",       {{"H", "125"}, {"D", "128"}}},
      {"flash_attention.nca",        {{"S", "40000"}, {"CAUSAL", "true"}}},
      {"paged_decode_attention.nca", {{"B", "2"}, {"KVH", "8"}, {"MP", "256"}}},
      {"paged_decode_attention.nca", {{"B", "2"}, {"MP", "2048"}}},
  };
  // clang-format on
  for (const auto& [kernel, params] : largest) {
    CAPTURE(kernel);
    CHECK(assemble_kernel(kernel, params, "trn1").instruction_count() > 0);
  }
}

TEST_CASE("a size that cannot be is refused with the reason") {
  // clang-format off
  const struct { const char* kernel; Params params; const char* reason; } refused[] = {
      {"bf16_gemm.nca",              {{"M", "0"}},                       "M, K and N are at least 1"},
      {"bf16_gemm.nca",              {{"K", "20000"}},                   "K is too large"},
      {"fp8_gemm.nca",               {{"SCALES", "column"}},             "SCALES is none, tensor or row"},
      {"gemm_naive.nca",             {{"N", "0"}},                       "M, K and N are at least 1"},
      {"gelu_mlp.nca",               {{"F", "20000"}},                   "D + F is too large"},
      {"moe_layer.nca",              {{"K", "9"}},                       "max8 finds eight"},
      {"moe_layer.nca",              {{"E", "513"}},                     "E is 1 to 512"},
      {"moe_layer.nca",              {{"D", "4096"}, {"F", "30000"}},     "D and F are too large"},
      {"gemv_decode.nca",            {{"B", "129"}},                     "more rows are a GEMM"},
      {"rotary_embedding.nca",       {{"D", "7"}},                       "D is even"},
      {"flash_attention.nca",        {{"D", "129"}},                     "D is 1 to 128"},
      {"paged_decode_attention.nca", {{"H", "33"}},                      "H is 1 to 32"},
      {"paged_decode_attention.nca", {{"D", "129"}},                     "D is 1 to 128"},
      {"paged_decode_attention.nca", {{"KVH", "9"}, {"MP", "999"}},      "KVH, MP or H is too large"},
      {"transpose_tensor.nca",       {{"T", "i8"}},                      "T is bf16, f16 or f32"},
      {"transpose_vector.nca",       {{"R", "33"}},                      "transpose_dma.nca takes any size"},
  };
  // clang-format on
  for (const auto& [kernel, params, reason] : refused) {
    CAPTURE(kernel);
    CAPTURE(reason);
    std::string message = "it assembled";
    try {
      assemble_kernel(kernel, params, "trn1");
    } catch (const Fault& fault) {
      message = fault.what();
    }
    CAPTURE(message);
    CHECK(message.find(reason) != std::string::npos);
  }
}
