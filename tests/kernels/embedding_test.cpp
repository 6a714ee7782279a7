// Rows of a table by index: gathered exactly, and added into.

#include <doctest/doctest.h>

#include <random>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

const DType f32 = DType::f32;

std::vector<float> random_ids(std::size_t count, std::size_t rows, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> ids(count);
  for (float& id : ids) id = static_cast<float>(random() % rows);
  ids.front() = static_cast<float>(rows - 1);
  ids.back() = 0;
  return ids;
}

void check_gather(std::size_t count, std::size_t rows, std::size_t width, DType type,
                  const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(count);
  const Bytes table = to_bytes(type, random_values(rows * width, 1, 5.0F));
  const std::vector<float> ids = random_ids(count, rows, 2);
  const std::size_t size = table.size() / rows;
  Bytes expected;
  for (const float id : ids) {
    const auto row = table.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(id) * size);
    expected.insert(expected.end(), row, row + static_cast<std::ptrdiff_t>(size));
  }
  const auto outputs =
      run_kernel("embedding_gather.nca",
                 {{"N", text(count)}, {"V", text(rows)}, {"D", text(width)}, {"T", std::string(name(type))}},
                 machine, {{"table", table}, {"id", to_bytes(DType::i32, ids)}});
  CHECK((outputs.at("y") == expected));
}

void check_scatter(std::size_t count, std::size_t rows, std::size_t width, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(count);
  CAPTURE(rows);
  const Params params = {{"N", text(count)}, {"V", text(rows)}, {"D", text(width)}};
  const std::vector<float> ids = random_ids(count, rows, 3);
  const std::vector<float> table = random_values(rows * width, 4),
                           grad = random_values(count * width, 5, 3.0F);
  std::vector<double> expected(table.begin(), table.end()), size(table.size()), bound;
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t at = static_cast<std::size_t>(ids[n]) * width + c;
      expected[at] += grad[n * width + c];
      size[at] += std::abs(grad[n * width + c]);
    }
  }
  // No element passes more additions than there are ids; a row that no id names keeps its bits.
  for (std::size_t i = 0; i < size.size(); ++i) {
    const double additions = size[i] > 0 ? static_cast<double>(count) : 0;
    bound.push_back(additions * fp32_rounding * (size[i] + std::abs(table[i])) + 1e-30);
  }
  const auto outputs = run_kernel(
      "embedding_scatter_add.nca", params, machine,
      {{"table", to_bytes(f32, table)}, {"grad", to_bytes(f32, grad)}, {"id", to_bytes(DType::i32, ids)}});
  CHECK(worst_error(to_floats(f32, outputs.at("table")), expected, bound) < 1);

  // Whole numbers add exactly, in whatever order.
  std::vector<float> whole_table = table, whole_grad = grad;
  for (float& value : whole_table) value = std::round(value * 100);
  for (float& value : whole_grad) value = std::round(value * 100);
  const auto exact = run_kernel("embedding_scatter_add.nca", params, machine,
                                {{"table", to_bytes(f32, whole_table)},
                                 {"grad", to_bytes(f32, whole_grad)},
                                 {"id", to_bytes(DType::i32, ids)}});
  for (std::size_t i = 0; i < whole_grad.size(); ++i)
    whole_table[static_cast<std::size_t>(ids[i / width]) * width + i % width] += whole_grad[i];
  CHECK((exact.at("table") == to_bytes(f32, whole_table)));
}

}  // namespace

TEST_CASE("an embedding gathers the rows of its ids, bit for bit") {
  for (const std::string& machine : all_machines) check_gather(300, 1000, 33, DType::bf16, machine);
  check_gather(1, 1, 1, DType::f32, "trn1");
  check_gather(129, 7, 1025, DType::f32, "trn2");
  check_gather(127, 50, 64, DType::i8, "trn1");
}

TEST_CASE("rows are added to a table also when an id occurs many times, within 128 ids and beyond") {
  for (const std::string& machine : all_machines) check_scatter(300, 40, 100, machine);
  check_scatter(1, 1, 1, "trn1");
  check_scatter(257, 5000, 600, "trn2");
  check_scatter(200, 2, 17, "trn1");
}
