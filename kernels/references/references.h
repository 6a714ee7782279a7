#pragma once

// The operations of the library as plain loops, to compare kernels with. They share no code with the
// emulator: values come in as floats, sums are kept in double unless the operation is defined to the bit.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/types.h"

namespace ncemu::references {

struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major; integers up to 2^24 in magnitude

  std::size_t size(std::size_t dimension) const { return static_cast<std::size_t>(shape.at(dimension)); }
};

// What a reference is called with.
struct Call {
  std::map<std::string, Tensor> inputs;
  std::map<std::string, Tensor> outputs;      // without values
  std::map<std::string, std::string> params;  // as -D gives them; what is not given has the kernel's default

  bool has(const std::string& name) const { return inputs.count(name) > 0; }
  // Throw Fault(input) for what the kernel does not have.
  const Tensor& input(const std::string& name) const;
  const Tensor& output(const std::string& name) const;
  double number(const std::string& param, double otherwise) const;
  bool flag(const std::string& param) const;
  std::string word(const std::string& param, const std::string& otherwise) const;
};

struct Expected {
  std::vector<double> values;
  // Of each element, the sum of the absolute values of the terms it is the sum of: what roundings of terms
  // that cancel go with. Empty where there is no such sum.
  std::vector<double> magnitude;
};
using Results = std::map<std::string, Expected>;  // by output

struct Reference {
  std::string_view name;
  Results (*run)(const Call& call);
  std::string_view sentence;
};
std::span<const Reference> all();
// Throws Fault(input, where, ...) with the nearest name.
const Reference& find(std::string_view name, const std::string& where);

// C[m, n] = sum over k of at[k, m] * b[k, n] as the tensor engine adds: groups of 128 k, each one chain of
// fused multiply-adds from 0 with k ascending, added to one another in fp32 (datasheet 3.1). Row-major. No
// final rounding: the caller converts to the output type.
std::vector<float> gemm(std::span<const float> at, std::span<const float> b, std::size_t k, std::size_t m,
                        std::size_t n);

// The same where pairs of whole k tiles are one matmul: for each k the row of the first tile, then that of
// the second. What is left are single tiles.
std::vector<float> double_row_gemm(std::span<const float> at, std::span<const float> b, std::size_t k,
                                   std::size_t m, std::size_t n);

// ---- the operations, by file ----------------------------------------------------------------

Results gemm_reference(const Call& call);  // gemm.cpp
Results double_row_gemm_reference(const Call& call);
Results gelu_mlp(const Call& call);  // mlp.cpp
Results swiglu_mlp(const Call& call);
Results moe_layer(const Call& call);  // moe.cpp
Results attention(const Call& call);  // attention.cpp
Results attention_of_columns(const Call& call);
Results paged_decode_attention(const Call& call);
Results softmax(const Call& call);  // rows.cpp
Results layer_norm(const Call& call);
Results rms_norm(const Call& call);
Results rms_norm_quantize(const Call& call);
Results cross_entropy(const Call& call);
Results quantize_rows(const Call& call);
Results dequantize_rows(const Call& call);
Results top_k(const Call& call);
Results vector_add(const Call& call);  // elementwise.cpp
Results silu(const Call& call);
Results adamw(const Call& call);
Results rotary_embedding(const Call& call);
Results transpose(const Call& call);
Results lane_sums(const Call& call);
Results repeat_rows(const Call& call);
Results max_pool(const Call& call);  // windows.cpp
Results average_pool(const Call& call);
Results conv3x3(const Call& call);
Results depthwise_conv1d(const Call& call);
Results prefix_scan(const Call& call);  // scan.cpp
Results selective_scan(const Call& call);
Results embedding_gather(const Call& call);  // embedding.cpp
Results embedding_scatter_add(const Call& call);

}  // namespace ncemu::references
