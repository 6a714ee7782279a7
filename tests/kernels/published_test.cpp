// The published kernels of kernels/published: their results against plain loops, at small sizes.

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "tests/kernels/library.h"
#include "tests/support/reference.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const DType f32 = DType::f32;

void check_matmul(const std::string& kernel, std::size_t m, std::size_t k, std::size_t n,
                  const std::vector<float>& at, const std::vector<float>& b,
                  const std::map<std::string, Bytes>& inputs) {
  const std::vector<float> expected = gemm(at, b, k, m, n);
  for (const std::string machine : {"trn1", "trn2"}) {
    CAPTURE(kernel);
    CAPTURE(machine);
    const auto outputs =
        run_kernel(kernel, {{"M", text(m)}, {"K", text(k)}, {"N", text(n)}}, machine, inputs);
    CHECK((outputs.at("c") == to_bytes(f32, expected)));
  }
}

// y[c][t] of the selective scan, and the same sum with every term's magnitude, which bounds the roundings.
struct Scan {
  std::vector<double> y, magnitude;
};
Scan selective_scan(const std::vector<float>& delta, const std::vector<float>& u, const std::vector<float>& a,
                    const std::vector<float>& b, const std::vector<float>& c, std::size_t channels,
                    std::size_t states, std::size_t times) {
  Scan scan{std::vector<double>(channels * times), std::vector<double>(channels * times)};
  for (std::size_t p = 0; p < channels; ++p) {
    for (std::size_t s = 0; s < states; ++s) {
      double h = 0, size = 0;
      for (std::size_t t = 0; t < times; ++t) {
        const double d = delta[p * times + t];
        const double decay = std::exp(d * a[p * states + s]);
        const double drive = d * u[p * times + t] * b[s * times + t];
        h = decay * h + drive;
        size = decay * size + std::abs(drive);
        scan.y[p * times + t] += h * c[s * times + t];
        scan.magnitude[p * times + t] += size * std::abs(c[s * times + t]);
      }
    }
  }
  return scan;
}

}  // namespace

TEST_CASE("the published vector adds are exact") {
  for (const std::string& machine : all_machines) {
    const auto a = random_values(3 * 128 * 50, 1, 100.0F), b = random_values(3 * 128 * 50, 2, 1e-3F);
    const std::map<std::string, Bytes> tiles = {{"a", to_bytes(f32, a)}, {"b", to_bytes(f32, b)}};
    const Bytes sum = to_bytes(f32, vector_add(a, b));
    CHECK((run_kernel("published/vector_add_tiles.nca", {{"TILES", "3"}, {"FD", "50"}}, machine, tiles)
               .at("c") == sum));
    for (const std::string rows : {"1", "4", "128"}) {
      const std::vector<float> x(a.begin(), a.begin() + 256), y(b.begin(), b.begin() + 256);
      const auto outputs = run_kernel("published/vector_add_rows.nca", {{"N", "256"}, {"ROWS", rows}},
                                      machine, {{"a", to_bytes(f32, x)}, {"b", to_bytes(f32, y)}});
      CHECK((outputs.at("c") == to_bytes(f32, vector_add(x, y))));
    }
  }
}

TEST_CASE("the read stream reads every element and the write stream writes every row") {
  const std::size_t tiles = 5, width = 33;
  const Bytes x = to_bytes(DType::bf16, random_values(tiles * 128 * width, 3));
  const std::vector<float> values = to_floats(DType::bf16, x);
  std::vector<double> sum(128, 0.0), bound(128, 1e-30);
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum[i / width % 128] += values[i];
    // Each element passes at most width + tiles additions.
    bound[i / width % 128] += (width + tiles) * fp32_rounding * std::abs(values[i]);
  }
  const Params params = {{"TILES", text(tiles)}, {"WIDTH", text(width)}};
  for (const std::string& machine : all_machines) {
    const auto read = run_kernel("published/hbm_read.nca", params, machine, {{"x", x}});
    CHECK(worst_error(to_floats(f32, read.at("total")), sum, bound) < 1);
    const Bytes tile(x.begin(), x.begin() + 128 * width * 2);
    const Bytes written = run_kernel("published/hbm_write.nca", params, machine, {{"x", tile}}).at("y");
    REQUIRE(written.size() == tiles * tile.size());
    for (std::size_t t = 0; t < tiles; ++t)
      CHECK(std::equal(tile.begin(), tile.end(),
                       written.begin() + static_cast<std::ptrdiff_t>(t * tile.size())));
  }
}

TEST_CASE("the published matmuls are the plain loop to the bit") {
  const std::size_t m1 = 256, k1 = 384, n1 = 1024;
  const auto at = random_values(k1 * m1, 4), b = random_values(k1 * n1, 5);
  const std::map<std::string, Bytes> inputs = {{"at", to_bytes(f32, at)}, {"b", to_bytes(f32, b)}};
  check_matmul("published/matmul_tiled.nca", m1, k1, n1, at, b, inputs);
  check_matmul("published/matmul_hoisted.nca", m1, k1, n1, at, b, inputs);
}

namespace {

// Whole numbers from -7 to 7: exact, whatever the order of the sums.
void check_whole_numbers(const std::string& kernel, std::size_t m, std::size_t k, std::size_t n,
                         bool transposed, const std::string& machine) {
  CAPTURE(kernel);
  CAPTURE(machine);
  std::mt19937 random(23);
  std::vector<float> a(m * k), at(k * m), b(k * n), expected(m * n, 0.0F);
  for (float& value : at) value = static_cast<float>(random() % 15) - 7;
  for (float& value : b) value = static_cast<float>(random() % 15) - 7;
  for (std::size_t p = 0; p < k; ++p) {
    for (std::size_t i = 0; i < m; ++i) {
      a[i * k + p] = at[p * m + i];
      for (std::size_t j = 0; j < n; ++j) expected[i * n + j] += at[p * m + i] * b[p * n + j];
    }
  }
  std::map<std::string, Bytes> inputs = {{"b", to_bytes(f32, b)}};
  if (transposed)
    inputs["at"] = to_bytes(f32, at);
  else
    inputs["a"] = to_bytes(f32, a);
  const auto outputs = run_kernel(kernel, {{"M", text(m)}, {"K", text(k)}, {"N", text(n)}}, machine, inputs);
  CHECK((outputs.at("c") == to_bytes(f32, expected)));
}

}  // namespace

TEST_CASE("the published matmuls are exact for whole numbers where operands pass SBUF in pieces") {
  check_whole_numbers("published/matmul_blocked.nca", 512, 2048, 1024, true, "trn2");
  // At these K the tiles of B rotate through fewer places than there are of them.
  check_whole_numbers("published/matmul_blocked_mn.nca", 256, 8192, 1024, true, "trn1");
  check_whole_numbers("published/matmul_trn1.nca", 128, 5120, 1024, false, "trn1");
}

TEST_CASE("the published matmul of trn1 transposes A and multiplies, to the bit") {
  const std::size_t m = 128, k = 1024, n = 1024;
  const auto a = random_values(m * k, 6), b = random_values(k * n, 7);
  std::vector<float> at(a.size());
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < k; ++j) at[j * m + i] = a[i * k + j];
  }
  check_matmul("published/matmul_trn1.nca", m, k, n, at, b,
               {{"a", to_bytes(f32, a)}, {"b", to_bytes(f32, b)}});
}

TEST_CASE("the three versions of fused Mamba compute the selective scan") {
  const std::size_t channels = 256, states = 3, times = 75;
  const auto delta = absolute(random_values(channels * times, 8, 0.5F)),
             u = random_values(channels * times, 9), b = random_values(states * times, 11),
             c = random_values(states * times, 12);
  std::vector<float> a = absolute(random_values(channels * states, 10, 2.0F));
  for (float& value : a) value = -value;
  const Scan expected = selective_scan(delta, u, a, b, c, channels, states, times);
  // A value passes three products, the scan's two operations per step and the sums; exp is within one unit
  // for an argument that was rounded once (here at most 8).
  std::vector<double> bound = expected.magnitude;
  for (double& value : bound) value = value * (2 * times + states + 16) * fp32_rounding + 1e-30;
  const std::map<std::string, Bytes> inputs = {{"delta", to_bytes(f32, delta)},
                                               {"u", to_bytes(f32, u)},
                                               {"a", to_bytes(f32, a)},
                                               {"b", to_bytes(f32, b)},
                                               {"c", to_bytes(f32, c)}};
  for (const std::string version : {"v1", "v2", "v3"}) {
    for (const std::string& machine : all_machines) {
      CAPTURE(version);
      CAPTURE(machine);
      Params params = {{"CHANNELS", text(channels)}, {"STATES", text(states)}, {"T", text(times)}};
      if (version == "v3") params["TILE"] = "32";  // three tiles, the last of 11
      const auto outputs = run_kernel("published/mamba_" + version + ".nca", params, machine, inputs);
      CHECK(worst_error(to_floats(f32, outputs.at("y")), expected.y, bound) < 1);
    }
  }
}

TEST_CASE("the published silu is x / (1 + exp(-x)) up to four roundings") {
  const std::size_t rows = 256, columns = 1024;
  const auto x = random_values(rows * columns, 13, 20.0F);
  std::vector<double> expected, bound;
  for (const float value : x) {
    expected.push_back(value / (1 + std::exp(-static_cast<double>(value))));
    bound.push_back(std::abs(expected.back()) * 8 * fp32_rounding + 1e-37);  // exp may overflow below -88
  }
  for (const std::string& machine : all_machines) {
    const auto outputs = run_kernel("published/silu.nca", {{"R", text(rows)}, {"C", text(columns)}}, machine,
                                    {{"x", to_bytes(f32, x)}});
    CHECK(worst_error(to_floats(f32, outputs.at("y")), expected, bound) < 1);
  }
}

TEST_CASE("the published AdamW step is the formula up to its roundings, with a short last tile") {
  const std::size_t rows = 200, columns = 1024, count = rows * columns;
  const auto theta = random_values(count, 14), g = random_values(count, 15, 0.1F),
             m = random_values(count, 16, 0.1F), v = absolute(random_values(count, 17, 0.01F));
  std::vector<double> expected, bound;
  for (std::size_t i = 0; i < count; ++i) {
    const double m1 = 0.9 * m[i] + 0.1 * g[i], v1 = 0.999 * v[i] + 0.001 * g[i] * g[i];
    const double root = std::sqrt(1000 * v1) + 1e-8;
    expected.push_back(theta[i] - 1e-5 * theta[i] - 0.01 * m1 / root);
    // m1 may cancel: its error goes with its terms. About ten roundings, constants included.
    const double update = 0.01 * (0.9 * std::abs(m[i]) + 0.1 * std::abs(g[i])) / root;
    bound.push_back(12 * fp32_rounding * (std::abs(theta[i]) + update));
  }
  for (const std::string& machine : all_machines) {
    const auto outputs = run_kernel("published/adamw.nca", {{"R", text(rows)}, {"C", text(columns)}}, machine,
                                    {{"theta", to_bytes(f32, theta)},
                                     {"g", to_bytes(f32, g)},
                                     {"m", to_bytes(f32, m)},
                                     {"v", to_bytes(f32, v)}});
    CHECK(worst_error(to_floats(f32, outputs.at("y")), expected, bound) < 1);
  }
}

TEST_CASE(
    "the published RMS norm with quantisation keeps each row's scale and values to half a step of fp8") {
  const std::size_t rows = 70, columns = 1300;
  const Bytes xb = to_bytes(DType::bf16, random_values(rows * columns, 18, 5.0F));
  const std::vector<float> x = to_floats(DType::bf16, xb), gamma = random_values(columns, 19);
  std::vector<double> y, scale, scale_bound;
  for (std::size_t r = 0; r < rows; ++r) {
    double squares = 0, top = 0;
    for (std::size_t j = 0; j < columns; ++j) squares += std::pow(x[r * columns + j], 2);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (std::size_t j = 0; j < columns; ++j) {
      y.push_back(x[r * columns + j] * inverse * gamma[j]);
      top = std::max(top, std::abs(y.back()));
    }
    scale.push_back(top / 240);
    scale_bound.push_back(top / 240 * 0x1.1p-8);  // the maximum is one of values rounded to bf16
  }
  for (const std::string& machine : all_machines) {
    const auto outputs = run_kernel("published/rmsnorm_quant.nca", {{"R", text(rows)}, {"C", text(columns)}},
                                    machine, {{"x", xb}, {"gamma", to_bytes(f32, gamma)}});
    const std::vector<float> s = to_floats(f32, outputs.at("scale"));
    CHECK(worst_error(s, scale, scale_bound) < 1);
    std::vector<float> back = to_floats(DType::f8e4m3, outputs.at("q"));
    std::vector<double> bound;
    for (std::size_t i = 0; i < back.size(); ++i) {
      back[i] *= s[i / columns];
      // 2^-4 for the three bits of fp8's mantissa, 2^-8 for the seven of bf16; below 2^-6 fp8 has steps of
      // 2^-9.
      bound.push_back(std::abs(y[i]) * (0x1p-4 + 0x1.1p-8) + s[i / columns] * 0x1.1p-10);
    }
    CHECK(worst_error(back, y, bound) < 1);
  }
}
