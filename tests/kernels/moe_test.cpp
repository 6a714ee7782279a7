// The mixture-of-experts layer against plain loops: places exact, gates and results up to their roundings.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/support/kernel.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

struct Shape {
  std::size_t tokens, width, hidden, experts, chosen, capacity;
};

struct Routing {
  std::vector<std::size_t> expert, place;  // [token, choice]; place counts from 0, also beyond the capacity
  std::vector<double> gate;
};

// Logits in fp32 by the tensor engine's rule, so that the choice is the same even where two are close; the
// order of places is that of tiles of 128 tokens, then choices, then tokens.
Routing plain_routing(const Shape& s, const std::vector<float>& x, const std::vector<float>& router) {
  std::vector<float> x_t(s.width * s.tokens);
  for (std::size_t t = 0; t < s.tokens; ++t) {
    for (std::size_t d = 0; d < s.width; ++d) x_t[d * s.tokens + t] = x[t * s.width + d];
  }
  const std::vector<float> logits = gemm(x_t, router, s.width, s.tokens, s.experts);
  Routing r{std::vector<std::size_t>(s.tokens * s.chosen), std::vector<std::size_t>(s.tokens * s.chosen),
            std::vector<double>(s.tokens * s.chosen)};
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
      for (std::size_t t = tile; t < std::min(s.tokens, tile + 128); ++t) {
        r.place[t * s.chosen + k] = taken[r.expert[t * s.chosen + k]]++;
      }
    }
  }
  return r;
}

// The experts round their hidden activations and their results to a type of unit roundoff u (bf16: 2^-8), the
// layer its sum: an element is within u times the gated sums of |hidden * weight| and of |results|, and u
// times itself. The rest, in fp32, adds less than a tenth of the first.
// Returns how many choices were dropped.
std::size_t check(const Shape& s, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(s.tokens);
  CAPTURE(s.experts);
  CAPTURE(s.chosen);
  const double unit = type == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const auto scale = [](std::size_t summed) { return 1.5F / std::sqrt(static_cast<float>(summed)); };
  const std::size_t weights = s.experts * s.width * s.hidden;
  const Bytes x = to_bytes(type, random_values(s.tokens * s.width, 1)),
              router = to_bytes(type, random_values(s.width * s.experts, 2, 2 * scale(s.width))),
              w1 = to_bytes(type, random_values(weights, 3, scale(s.width))),
              w2 = to_bytes(type, random_values(weights, 4, scale(s.hidden)));
  const KernelResult result = run_program(assemble_kernel("moe_layer.nca",
                                                          {{"TOKENS", std::to_string(s.tokens)},
                                                           {"D", std::to_string(s.width)},
                                                           {"F", std::to_string(s.hidden)},
                                                           {"E", std::to_string(s.experts)},
                                                           {"K", std::to_string(s.chosen)},
                                                           {"CAPACITY", std::to_string(s.capacity)},
                                                           {"T", std::string(name(type))}},
                                                          machine),
                                          {{"x", x}, {"w_router", router}, {"w1", w1}, {"w2", w2}}, {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const auto in = to_floats(type, x), first = to_floats(type, w1), second = to_floats(type, w2),
             out = to_floats(type, result.outputs.at("y")),
             route = to_floats(DType::i32, result.outputs.at("route")),
             gate = to_floats(DType::f32, result.outputs.at("gate"));
  const Routing expected = plain_routing(s, in, to_floats(type, router));

  bool routed = true;
  std::size_t dropped = 0;
  double worst_gate = 0;
  for (std::size_t i = 0; i < expected.place.size(); ++i) {
    const auto found = static_cast<std::size_t>(route[i]);
    if (expected.place[i] < s.capacity) {
      routed = routed && found == expected.expert[i] * s.capacity + expected.place[i];
    } else {
      ++dropped;
      routed = routed && found >= s.experts * s.capacity;
    }
    worst_gate = std::max(worst_gate, std::abs(static_cast<double>(gate[i]) - expected.gate[i]));
  }
  CHECK(routed);
  CHECK(worst_gate < 1e-6);  // a few fp32 roundings of numbers up to 1

  double worst = 0;
  std::vector<double> hidden(s.hidden);
  for (std::size_t t = 0; t < s.tokens; ++t) {
    std::vector<double> value(s.width), magnitude(s.width);
    for (std::size_t k = 0; k < s.chosen; ++k) {
      const std::size_t i = t * s.chosen + k, e = expected.expert[i];
      if (expected.place[i] >= s.capacity) continue;
      for (std::size_t f = 0; f < s.hidden; ++f) {
        double z = 0;
        for (std::size_t d = 0; d < s.width; ++d) {
          z += static_cast<double>(in[t * s.width + d]) *
               static_cast<double>(first[(e * s.width + d) * s.hidden + f]);
        }
        hidden[f] = z * 0.5 * std::erfc(-z / std::sqrt(2.0));
      }
      for (std::size_t d = 0; d < s.width; ++d) {
        double sum = 0, absolute = 0;
        for (std::size_t f = 0; f < s.hidden; ++f) {
          const double term = hidden[f] * static_cast<double>(second[(e * s.hidden + f) * s.width + d]);
          sum += term;
          absolute += std::abs(term);
        }
        value[d] += expected.gate[i] * sum;
        magnitude[d] += expected.gate[i] * (absolute + std::abs(sum));
      }
    }
    for (std::size_t d = 0; d < s.width; ++d) {
      const double error = std::abs(static_cast<double>(out[t * s.width + d]) - value[d]);
      const double bound = 1.1 * unit * (magnitude[d] + std::abs(value[d]));
      worst = std::max(worst, !std::isfinite(error) ? INFINITY : error == 0 ? 0 : error / bound);
    }
  }
  CHECK(worst < 1);
  return dropped;
}

}  // namespace

TEST_CASE("tokens go to their best experts and come back weighted by the gates") {
  for (const char* machine : {"inf2", "trn1", "trn2"}) {
    CHECK(check({200, 130, 140, 8, 2, 200}, DType::bf16, machine) == 0);
  }
  CHECK(check({1, 1, 1, 1, 1, 1}, DType::bf16, "trn1") == 0);
  CHECK(check({129, 64, 96, 16, 4, 129}, DType::f16, "trn2") == 0);
  CHECK(check({140, 600, 64, 3, 1, 140}, DType::bf16, "trn1") == 0);
}

TEST_CASE("an expert that is full drops what comes later") {
  // 260 tokens, two choices of five experts: 104 each on average.
  CHECK(check({260, 48, 40, 5, 2, 60}, DType::bf16, "trn1") >= 260 * 2 - 5 * 60);
  CHECK(check({260, 48, 40, 5, 2, 1}, DType::bf16, "trn2") == 260 * 2 - 5);
}

TEST_CASE("an expert with more than 512 places works through them in blocks of 512") {
  CHECK(check({700, 16, 24, 2, 1, 700}, DType::bf16, "trn1") == 0);
}
