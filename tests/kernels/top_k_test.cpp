// The k largest elements of each row, eight at a time, against a sort.

#include <doctest/doctest.h>

#include "tests/kernels/library.h"

using namespace ncemu;
using namespace ncemu::test;

namespace {

// `distinct` values, so that a small number of them makes equal elements.
void check(std::size_t rows, std::size_t columns, std::size_t k, int distinct, const std::string& machine) {
  CAPTURE(machine);
  CAPTURE(columns);
  CAPTURE(k);
  std::vector<float> x = random_values(rows * columns, 7, 3.0F);
  if (distinct > 0) {
    for (float& value : x) value = std::round(value * static_cast<float>(distinct) / 12.0F);
  }
  const auto outputs = run_kernel("top_k.nca", {{"R", text(rows)}, {"C", text(columns)}, {"K", text(k)}},
                                  machine, {{"x", to_bytes(DType::f32, x)}});
  const std::vector<float> values = to_floats(DType::f32, outputs.at("values")),
                           places = to_floats(DType::u32, outputs.at("places"));
  bool right = true;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(columns * r),
                           x.begin() + static_cast<std::ptrdiff_t>(columns * (r + 1)));
    std::vector<bool> named(columns, false);
    for (std::size_t i = 0; i < k; ++i) {
      const auto place = static_cast<std::size_t>(places[k * r + i]);
      right = right && place < columns && !named[place] && row[place] == values[k * r + i];
      if (place < columns) named[place] = true;
    }
    std::sort(row.rbegin(), row.rend());
    right = right && std::equal(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(k),
                                values.begin() + static_cast<std::ptrdiff_t>(k * r));
  }
  CHECK(right);
}

}  // namespace

TEST_CASE("the k largest elements of each row arrive sorted, and their places name them") {
  for (const std::string& machine : all_machines) check(128, 300, 24, 0, machine);
  check(1, 8, 1, 0, "trn1");
  check(129, 511, 13, 0, "trn1");
  check(127, 10, 10, 0, "trn2");
}

TEST_CASE("equal elements each have a place of their own") {
  check(130, 100, 16, 5, "trn1");
  check(130, 100, 33, 2, "trn2");
}
