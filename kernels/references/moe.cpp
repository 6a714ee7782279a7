#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/references/references.h"

namespace ncemu::references {
namespace {

struct Layer {
  std::size_t tokens, width, hidden, experts, chosen, capacity;
};

struct Routing {
  std::vector<std::size_t> expert, place;  // [token, choice]; place counts from 0, also beyond the capacity
  std::vector<double> gate;
};

// Logits in fp32 by the tensor engine's rule, so that the choice is the same even where two are close; the
// order of places is that of tiles of 128 tokens, then choices, then tokens.
Routing route(const Layer& s, const std::vector<float>& x, const std::vector<float>& router) {
  std::vector<float> x_t(s.width * s.tokens);
  for (std::size_t t = 0; t < s.tokens; ++t) {
    for (std::size_t d = 0; d < s.width; ++d) x_t[d * s.tokens + t] = x[t * s.width + d];
  }
  const std::vector<float> logits = gemm(x_t, router, s.width, s.tokens, s.experts);
  const std::size_t choices = s.tokens * s.chosen;
  Routing r{std::vector<std::size_t>(choices), std::vector<std::size_t>(choices),
            std::vector<double>(choices)};
  for (std::size_t t = 0; t < s.tokens; ++t) {
    const float* row = logits.data() + t * s.experts;
    std::vector<std::size_t> order(s.experts);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
    double sum = 0;
    for (std::size_t k = 0; k < s.chosen; ++k) {
      r.expert[t * s.chosen + k] = order[k];
      sum += r.gate[t * s.chosen + k] =
          std::exp(static_cast<double>(row[order[k]]) - static_cast<double>(row[order[0]]));
    }
    for (std::size_t k = 0; k < s.chosen; ++k) r.gate[t * s.chosen + k] /= sum;
  }
  std::vector<std::size_t> taken(s.experts);
  for (std::size_t tile = 0; tile < s.tokens; tile += 128) {
    for (std::size_t k = 0; k < s.chosen; ++k) {
      for (std::size_t t = tile; t < std::min(s.tokens, tile + 128); ++t)
        r.place[t * s.chosen + k] = taken[r.expert[t * s.chosen + k]]++;
    }
  }
  return r;
}

}  // namespace

// A dropped choice has the route E * CAPACITY here, as in the kernel.
Results moe_layer(const Call& call) {
  const Tensor &x = call.input("x"), &w1 = call.input("w1"), &w2 = call.input("w2");
  const Layer s{x.size(0),
                x.size(1),
                w1.size(2),
                w1.size(0),
                call.output("route").size(1),
                static_cast<std::size_t>(call.number("CAPACITY", 160))};
  const Routing r = route(s, x.values, call.input("w_router").values);
  Expected y{std::vector<double>(s.tokens * s.width), std::vector<double>(s.tokens * s.width)};
  Results results;
  std::vector<double> hidden(s.hidden), out(s.width), size(s.width);
  for (std::size_t t = 0; t < s.tokens; ++t) {
    for (std::size_t k = 0; k < s.chosen; ++k) {
      const std::size_t choice = t * s.chosen + k, expert = r.expert[choice];
      const bool dropped = r.place[choice] >= s.capacity;
      results["route"].values.push_back(
          static_cast<double>(dropped ? s.experts * s.capacity : expert * s.capacity + r.place[choice]));
      if (dropped) continue;
      std::fill(hidden.begin(), hidden.end(), 0.0);
      for (std::size_t d = 0; d < s.width; ++d) {
        const double value = x.values[t * s.width + d];
        const float* row = w1.values.data() + (expert * s.width + d) * s.hidden;
        for (std::size_t f = 0; f < s.hidden; ++f) hidden[f] += value * static_cast<double>(row[f]);
      }
      std::fill(out.begin(), out.end(), 0.0);
      std::fill(size.begin(), size.end(), 0.0);
      for (std::size_t f = 0; f < s.hidden; ++f) {
        const double h = hidden[f] * 0.5 * std::erfc(-hidden[f] / std::sqrt(2.0));
        const float* row = w2.values.data() + (expert * s.hidden + f) * s.width;
        for (std::size_t d = 0; d < s.width; ++d) {
          out[d] += h * static_cast<double>(row[d]);
          size[d] += std::abs(h * static_cast<double>(row[d]));
        }
      }
      for (std::size_t d = 0; d < s.width; ++d) {
        y.values[t * s.width + d] += r.gate[choice] * out[d];
        y.magnitude[t * s.width + d] += r.gate[choice] * (size[d] + std::abs(out[d]));
      }
    }
  }
  results["y"] = std::move(y);
  results["gate"].values = r.gate;
  return results;
}

}  // namespace ncemu::references
