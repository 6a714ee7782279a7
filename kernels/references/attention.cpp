#include <algorithm>
#include <cmath>
#include <functional>

#include "isa/fault.h"
#include "kernels/references/references.h"

namespace ncemu::references {
namespace {

using At = std::function<double(std::size_t token, std::size_t element)>;

// One query: softmax over `keys` tokens of the scores, times their values. `store` gets each element of the
// result and the weighted sum of |v|.
void attend(std::size_t keys, std::size_t width, double scale, const std::vector<double>& query, const At& k,
            const At& v, const std::function<void(std::size_t, double, double)>& store) {
  std::vector<double> weight(keys), result(width), size(width);
  for (std::size_t j = 0; j < keys; ++j) {
    double score = 0;
    for (std::size_t e = 0; e < width; ++e) score += query[e] * k(j, e);
    weight[j] = score * scale;
  }
  const double top = *std::max_element(weight.begin(), weight.end());
  double sum = 0;
  for (double& w : weight) sum += w = std::exp(w - top);
  for (std::size_t j = 0; j < keys; ++j) {
    for (std::size_t e = 0; e < width; ++e) {
      const double term = weight[j] / sum * v(j, e);
      result[e] += term;
      size[e] += std::abs(term);
    }
  }
  for (std::size_t e = 0; e < width; ++e) store(e, result[e], size[e]);
}

Expected empty(const Tensor& output) {
  std::size_t count = 1;
  for (std::size_t d = 0; d < output.shape.size(); ++d) count *= output.size(d);
  return {std::vector<double>(count), std::vector<double>(count)};
}

}  // namespace

Results attention(const Call& call) {
  const Tensor &q = call.input("q_t"), &k = call.input("k_t"), &v = call.input("v");
  const std::size_t heads = q.size(0), width = q.size(1), length = q.size(2);
  const double scale = call.number("SCALE", 0.08838834764831845);  // 1 / sqrt(128)
  Expected o = empty(call.output("o"));
  std::vector<double> query(width);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t e = 0; e < width; ++e) query[e] = q.values[(h * width + e) * length + i];
      attend(
          call.flag("CAUSAL") ? i + 1 : length, width, scale, query,
          [&](std::size_t j, std::size_t e) { return k.values[(h * width + e) * length + j]; },
          [&](std::size_t j, std::size_t e) { return v.values[(h * length + j) * width + e]; },
          [&](std::size_t e, double value, double size) {
            o.values[(h * length + i) * width + e] = value;
            o.magnitude[(h * length + i) * width + e] = size;
          });
    }
  }
  return {{"o", std::move(o)}};
}

Results attention_of_columns(const Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  const std::size_t width = q.size(0), length = q.size(1);
  Expected o = empty(call.output("o"));
  std::vector<double> query(width);
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t e = 0; e < width; ++e) query[e] = q.values[e * length + i];
    attend(
        length, width, 1, query, [&](std::size_t j, std::size_t e) { return k.values[e * length + j]; },
        [&](std::size_t j, std::size_t e) { return v.values[e * length + j]; },
        [&](std::size_t e, double value, double size) {
          o.values[i * width + e] = value;
          o.magnitude[i * width + e] = size;
        });
  }
  return {{"o", std::move(o)}};
}

Results paged_decode_attention(const Call& call) {
  constexpr std::size_t page_tokens = 16;
  const Tensor &q = call.input("q_t"), &k = call.input("k_pages"), &v = call.input("v_pages"),
               &table = call.input("table"), &lengths = call.input("lengths");
  const std::size_t batch = q.size(0), groups = q.size(1), width = q.size(2), heads = q.size(3),
                    page = k.size(1), pages = table.size(1);
  const double scale = call.number("SCALE", 0.08838834764831845);
  Expected o = empty(call.output("o_t"));
  std::vector<double> query(width);
  for (std::size_t x = 0; x < batch * groups; ++x) {
    const std::size_t b = x / groups, g = x % groups;
    const auto tokens = static_cast<std::size_t>(lengths.values[b]);
    if (tokens < 1 || tokens > pages * page_tokens)
      throw Fault(FaultKind::input, "reference", "lengths[{}] is {}, of 1 to {}", b, tokens,
                  pages * page_tokens);
    const auto at = [&](std::size_t j, std::size_t e) {
      const auto row = static_cast<std::size_t>(table.values[b * pages + j / page_tokens]);
      return row * page + (g * page_tokens + j % page_tokens) * width + e;
    };
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t e = 0; e < width; ++e) query[e] = q.values[(x * width + e) * heads + h];
      attend(
          tokens, width, scale, query, [&](std::size_t j, std::size_t e) { return k.values[at(j, e)]; },
          [&](std::size_t j, std::size_t e) { return v.values[at(j, e)]; },
          [&](std::size_t e, double value, double size) {
            o.values[(x * width + e) * heads + h] = value;
            o.magnitude[(x * width + e) * heads + h] = size;
          });
    }
  }
  return {{"o_t", std::move(o)}};
}

}  // namespace ncemu::references
