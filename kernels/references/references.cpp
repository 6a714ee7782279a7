#include "kernels/references/references.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "isa/diagnostics.h"
#include "isa/fault.h"

namespace ncemu::references {
namespace {

// clang-format off
//   name                      function                     what it computes
constexpr std::array references_table = {
    Reference{"gemm",                   gemm_reference,            "C = A^T B (or A B) in fp32, to the bit; times `scale` if the kernel has one"},
    Reference{"double_row_gemm",        double_row_gemm_reference, "the same where pairs of k tiles are one matmul"},
    Reference{"gelu_mlp",               gelu_mlp,                  "two layers with biases, GELU between"},
    Reference{"swiglu_mlp",             swiglu_mlp,                "(silu(gate) * up) down"},
    Reference{"moe_layer",              moe_layer,                 "mixture of experts with capacities"},
    Reference{"attention",              attention,                 "softmax(SCALE Q K^T) V, causal with CAUSAL=true"},
    Reference{"attention_of_columns",   attention_of_columns,      "the same of one head, everything [D, S], no scale"},
    Reference{"paged_decode_attention", paged_decode_attention,    "one decoding step over a paged cache"},
    Reference{"softmax",                softmax,                   "softmax of rows"},
    Reference{"layer_norm",             layer_norm,                "layer norm of rows"},
    Reference{"rms_norm",               rms_norm,                  "RMS norm of rows"},
    Reference{"rms_norm_quantize",      rms_norm_quantize,         "the same, with a scale per row that fills f8e4m3"},
    Reference{"cross_entropy",          cross_entropy,             "loss of logits and labels"},
    Reference{"quantize_rows",          quantize_rows,             "rows scaled to the range of their type, to the bit"},
    Reference{"dequantize_rows",        dequantize_rows,           "the way back, to the bit"},
    Reference{"top_k",                  top_k,                     "the largest of each row, and where they are"},
    Reference{"vector_add",             vector_add,                "a + b in fp32, to the bit"},
    Reference{"silu",                   silu,                      "x * sigmoid(x)"},
    Reference{"adamw",                  adamw,                     "one step of AdamW; without `hyper` the first, rate 1e-3, decay 0.01"},
    Reference{"rotary_embedding",       rotary_embedding,          "pairs turned by their token's angle, to the bit"},
    Reference{"transpose",              transpose,                 "y[c, r] = x[r, c]"},
    Reference{"lane_sums",              lane_sums,                 "sum of all elements of rows r, r + 128, ..."},
    Reference{"repeat_rows",            repeat_rows,               "x again and again until y is full"},
    Reference{"max_pool",               max_pool,                  "largest of K x K windows every S"},
    Reference{"average_pool",           average_pool,              "mean of K x K windows every S"},
    Reference{"conv3x3",                conv3x3,                   "3x3 convolution, no padding, with `bias` if the kernel has one"},
    Reference{"depthwise_conv1d",       depthwise_conv1d,          "causal convolution of each channel"},
    Reference{"prefix_scan",            prefix_scan,               "running sums of rows in fp32, to the bit"},
    Reference{"selective_scan",         selective_scan,            "the selective scan of Mamba, plus d u if the kernel has `d`"},
    Reference{"embedding_gather",       embedding_gather,          "rows of a table by index"},
    Reference{"embedding_scatter_add",  embedding_scatter_add,     "rows added into a table by index"},
};
// clang-format on

const Tensor& named(const std::map<std::string, Tensor>& tensors, const std::string& name,
                    std::string_view kind) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return found->second;
  throw Fault(FaultKind::input, "reference", "needs an {} '{}', which the kernel does not have", kind, name);
}

}  // namespace

const Tensor& Call::input(const std::string& name) const { return named(inputs, name, "input"); }
const Tensor& Call::output(const std::string& name) const { return named(outputs, name, "output"); }

double Call::number(const std::string& param, double otherwise) const {
  const auto found = params.find(param);
  if (found == params.end()) return otherwise;
  double value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Fault(FaultKind::input, "reference", "{}={} is no number", param, text);
  return value;
}

bool Call::flag(const std::string& param) const { return word(param, "false") == "true"; }

std::string Call::word(const std::string& param, const std::string& otherwise) const {
  const auto found = params.find(param);
  return found == params.end() ? otherwise : found->second;
}

std::span<const Reference> all() { return references_table; }

const Reference& find(std::string_view name, const std::string& where) {
  for (const Reference& reference : references_table) {
    if (reference.name == name) return reference;
  }
  std::vector<std::string_view> names;
  for (const Reference& reference : references_table) names.push_back(reference.name);
  const std::string_view near = did_you_mean(name, names);
  if (!near.empty())
    throw Fault(FaultKind::input, where, "there is no reference builtin:{}, did you mean builtin:{}?", name,
                near);
  throw Fault(FaultKind::input, where, "there is no reference builtin:{}; there are: {}", name,
              fmt::join(names, " "));
}

}  // namespace ncemu::references
