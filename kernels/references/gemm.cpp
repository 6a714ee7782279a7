#include <algorithm>
#include <cmath>

#include "isa/fault.h"
#include "kernels/references/references.h"

namespace ncemu::references {
namespace {

struct Operands {
  std::vector<float> at;  // [k, m]
  std::span<const float> b;
  std::size_t k = 0, m = 0, n = 0;
};

// A comes transposed (`at`, of gemv_decode `x_t`) or not (`a`), B as `b` or `w`.
Operands operands(const Call& call) {
  Operands o;
  const Tensor& right = call.input(call.has("b") ? "b" : "w");
  o.b = right.values;
  o.n = right.size(1);
  if (call.has("a")) {
    const Tensor& a = call.input("a");
    o.m = a.size(0);
    o.k = a.size(1);
    o.at.resize(a.values.size());
    for (std::size_t i = 0; i < o.m; ++i) {
      for (std::size_t l = 0; l < o.k; ++l) o.at[l * o.m + i] = a.values[i * o.k + l];
    }
  } else {
    const Tensor& at = call.input(call.has("at") ? "at" : "x_t");
    o.k = at.size(0);
    o.m = at.size(1);
    o.at = at.values;
  }
  if (right.size(0) != o.k)
    throw Fault(FaultKind::input, "reference", "A has {} k and B has {}", o.k, right.size(0));
  return o;
}

// `scale` has a value, or one per row of C.
Results scaled(const Call& call, const Operands& o, std::vector<float> c) {
  Expected expected{{}, std::vector<double>(c.size())};
  for (std::size_t i = 0; i < o.m; ++i) {
    for (std::size_t l = 0; l < o.k; ++l) {
      const double a = std::abs(o.at[l * o.m + i]);
      for (std::size_t j = 0; j < o.n; ++j)
        expected.magnitude[i * o.n + j] += a * static_cast<double>(std::abs(o.b[l * o.n + j]));
    }
  }
  if (call.has("scale")) {
    const std::vector<float>& scale = call.input("scale").values;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const float factor = scale[scale.size() == 1 ? 0 : i / o.n];
      c[i] *= factor;
      expected.magnitude[i] *= std::abs(static_cast<double>(factor));
    }
  }
  expected.values.assign(c.begin(), c.end());
  return {{call.outputs.begin()->first, std::move(expected)}};
}

}  // namespace

std::vector<float> gemm(std::span<const float> at, std::span<const float> b, std::size_t k, std::size_t m,
                        std::size_t n) {
  constexpr std::size_t group = 128;  // rows of the array
  std::vector<float> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      float total = 0;
      for (std::size_t first = 0; first < k; first += group) {
        float sum = 0;
        for (std::size_t l = first; l < std::min(k, first + group); ++l) {
          sum = std::fma(at[l * m + i], b[l * n + j], sum);
        }
        total = first == 0 ? sum : total + sum;
      }
      c[i * n + j] = total;
    }
  }
  return c;
}

std::vector<float> double_row_gemm(std::span<const float> at, std::span<const float> b, std::size_t k,
                                   std::size_t m, std::size_t n) {
  std::vector<float> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      float total = 0;
      for (std::size_t begin = 0; begin < k;) {
        const std::size_t rows = begin + 256 <= k ? 2 : 1;
        float group = 0;
        for (std::size_t q = 0; q < std::min<std::size_t>(128, k - begin); ++q) {
          for (std::size_t row = 0; row < rows; ++row) {
            const std::size_t l = begin + row * 128 + q;
            group = std::fma(at[l * m + i], b[l * n + j], group);
          }
        }
        total = begin == 0 ? group : total + group;
        begin += rows * 128;
      }
      c[i * n + j] = total;
    }
  }
  return c;
}

Results gemm_reference(const Call& call) {
  const Operands o = operands(call);
  return scaled(call, o, gemm(o.at, o.b, o.k, o.m, o.n));
}

Results double_row_gemm_reference(const Call& call) {
  const Operands o = operands(call);
  return scaled(call, o, double_row_gemm(o.at, o.b, o.k, o.m, o.n));
}

}  // namespace ncemu::references
