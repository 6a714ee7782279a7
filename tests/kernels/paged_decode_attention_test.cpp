// Decode attention over a paged cache against plain attention in double precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "emu/machine_config.h"
#include "tests/support/kernel.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

constexpr std::size_t page_tokens = 16;

struct Case {
  std::size_t groups, heads, width, pages;  // key-value heads, query heads of each, pages per sequence
  std::vector<std::size_t> lengths;         // one per sequence
};

// The kernel rounds the exponentials to a type of unit roundoff u and divides by the sum of what it rounded:
// an element is within 2 u times the weighted sum of |v|, and u times itself for the result's rounding. fp32
// scores below 100, exponentials and sums add less than a tenth of that (bf16: u = 2^-8).
void check(const Case& c, DType type, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(c.groups);
  CAPTURE(c.heads);
  CAPTURE(c.width);
  CAPTURE(c.pages);
  const double unit = type == DType::bf16 ? 0x1p-8 : 0x1p-11;
  const std::size_t batch = c.lengths.size(), groups = c.groups, h = c.heads, d = c.width,
                    rows = batch * c.pages + 3, page = groups * page_tokens * d;
  const Bytes q_t = to_bytes(type, random_values(batch * groups * d * h, 1, 2.0F));
  const Bytes k_pages = to_bytes(type, random_values(rows * page, 2, 2.0F));
  const Bytes v_pages = to_bytes(type, random_values(rows * page, 3, 3.0F));
  // Each sequence's pages lie anywhere in the cache; pages behind its end are page 0, which holds other
  // tokens.
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(4);
  for (std::size_t i = rows - 1; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
  std::vector<float> table(batch * c.pages), lengths(batch);
  for (std::size_t b = 0; b < batch; ++b) {
    lengths[b] = static_cast<float>(c.lengths[b]);
    for (std::size_t i = 0; i * page_tokens < c.lengths[b]; ++i) {
      table[b * c.pages + i] = static_cast<float>(order[b * c.pages + i]);
    }
  }
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const Program program = assemble_kernel("paged_decode_attention.nca",
                                          {{"B", std::to_string(batch)},
                                           {"KVH", std::to_string(groups)},
                                           {"H", std::to_string(h)},
                                           {"D", std::to_string(d)},
                                           {"MP", std::to_string(c.pages)},
                                           {"NP", std::to_string(rows)},
                                           {"SCALE", std::to_string(scale)},
                                           {"T", std::string(name(type))}},
                                          machine);
  const KernelResult result = run_program(program,
                                          {{"q_t", q_t},
                                           {"k_pages", k_pages},
                                           {"v_pages", v_pages},
                                           {"table", to_bytes(DType::i32, table)},
                                           {"lengths", to_bytes(DType::i32, lengths)}},
                                          {});
  REQUIRE_MESSAGE(result.run.status == RunStatus::finished, result.run.message);
  const auto q = to_floats(type, q_t), k = to_floats(type, k_pages), v = to_floats(type, v_pages),
             out = to_floats(type, result.outputs.at("o_t"));
  double worst = 0;  // error over its bound
  for (std::size_t x = 0; x < batch * groups; ++x) {
    const std::size_t b = x / groups, g = x % groups, tokens = c.lengths[b];
    std::vector<std::size_t> row(tokens);  // where the D elements of token j begin
    for (std::size_t j = 0; j < tokens; ++j) {
      row[j] = order[b * c.pages + j / page_tokens] * page + (g * page_tokens + j % page_tokens) * d;
    }
    std::vector<double> weight(tokens);
    for (std::size_t head = 0; head < h; ++head) {
      for (std::size_t j = 0; j < tokens; ++j) {
        double score = 0;
        for (std::size_t e = 0; e < d; ++e) {
          score += static_cast<double>(q[(x * d + e) * h + head]) * static_cast<double>(k[row[j] + e]);
        }
        weight[j] = score * scale;
      }
      const double top = *std::max_element(weight.begin(), weight.end());
      double sum = 0;
      for (double& w : weight) sum += w = std::exp(w - top);
      for (std::size_t e = 0; e < d; ++e) {
        double expected = 0, magnitude = 0;
        for (std::size_t j = 0; j < tokens; ++j) {
          const double term = weight[j] / sum * static_cast<double>(v[row[j] + e]);
          expected += term;
          magnitude += std::abs(term);
        }
        const double error = std::abs(static_cast<double>(out[(x * d + e) * h + head]) - expected);
        const double bound = 1.1 * unit * (2 * magnitude + std::abs(expected));
        worst = std::max(worst, std::isfinite(error) ? error / bound : INFINITY);
      }
    }
  }
  CHECK(worst < 1);
}

}  // namespace

TEST_CASE("decode attention over pages is the softmax of the scores times V up to its roundings") {
  for (const char* machine : {"inf2", "trn1", "trn2"}) {
    check({1, 8, 128, 20, {320, 1, 200}}, DType::bf16, machine);
    check({3, 5, 64, 20, {320, 1, 200}}, DType::bf16, machine);
  }
  check({1, 1, 1, 1, {16}}, DType::bf16, "trn1");
  check({2, 32, 40, 9, {130, 17}}, DType::f16, "trn2");
}

TEST_CASE("decode attention joins several chunks of 128 pages, the last one short") {
  check({1, 4, 32, 130, {2080, 2047, 2049}}, DType::bf16, "trn1");
  check({2, 2, 16, 300, {4800, 5}}, DType::bf16, "trn2");
  check({4, 3, 8, 128, {2048, 2033, 2048, 16, 15}}, DType::f16, "trn1");
}

TEST_CASE(
    "decode attention with pages of 16 KiB streams the cache at three quarters of the DMA engines' rate and "
    "more") {
  // Long runs, all 16 engines: 18.1 bytes per ns and engine on v2, 22.7 on v3 (datasheet 7.5).
  const struct {
    const char* machine;
    double bytes_per_ns;
  } rates[] = {{"trn1", 16 * 18.1}, {"trn2", 16 * 22.7}};
  for (const auto& [machine, bytes_per_ns] : rates) {
    CAPTURE(machine);
    const Summary summary =
        time_kernel("paged_decode_attention.nca", {{"KVH", "4"}, {"B", "8"}, {"MP", "256"}}, machine);
    const double bytes = 8.0 * 4 * 4096 * 128 * 2 * 2;  // sequences, heads, tokens, width, K and V, bf16
    CHECK(static_cast<double>(summary.dma.hbm_read) >= bytes);
    CHECK(bytes / (summary.total_us * 1e3) >= 0.75 * bytes_per_ns);
  }
}

TEST_CASE("decode attention with pages of 4 KiB waits for nothing but the generation of descriptors") {
  // 40 ns and more for each row of a gather (bench/calibration, G2-GATH-002) is more than its transfer takes.
  for (const char* machine : {"trn1", "trn2"}) {
    CAPTURE(machine);
    const auto dma = builtin_machine(machine).dma;
    const double gather_us = (dma.g_software_ns + 128 * (dma.g_software_row_ns + dma.g_index_row_ns)) / 1e3;
    const Summary summary =
        time_kernel("paged_decode_attention.nca", {{"KVH", "1"}, {"B", "8"}, {"MP", "256"}}, machine);
    CHECK(summary.total_us < 8 * 2 * 2 * gather_us + 15);  // sequences, chunks, K and V; start and end
  }
}
