#include "isa/view.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "isa/fault.h"

using namespace ncemu;

namespace {

using Shape = std::vector<std::int64_t>;

View hbm(Shape shape, DType dtype = DType::f32) { return View::of_tensor(0, dtype, shape); }
View sbuf(Shape shape, DType dtype = DType::f32) { return View::of_place(Space::sbuf, 0, dtype, shape, 0); }

// Element offsets of a view in row-major order, computed from its dimensions alone.
std::vector<std::int64_t> offsets(const HbmPattern& p) {
  std::vector<std::int64_t> all;
  for (std::uint32_t w = 0; w < p.dims[3].count; ++w)
    for (std::uint32_t z = 0; z < p.dims[2].count; ++z)
      for (std::uint32_t y = 0; y < p.dims[1].count; ++y)
        for (std::uint32_t x = 0; x < p.dims[0].count; ++x)
          all.push_back(p.offset + std::int64_t{w} * p.dims[3].step + std::int64_t{z} * p.dims[2].step +
                        std::int64_t{y} * p.dims[1].step + std::int64_t{x} * p.dims[0].step);
  return all;
}

std::string message(auto&& action) {
  try {
    action();
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    return fault.message();
  }
  return "no fault";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a whole tensor is one contiguous dimension") {
  const HbmPattern p = hbm({4, 6, 8}).hbm_pattern();
  CHECK(p.offset == 0);
  CHECK(p.dims[0] == HbmDim{1, 192});
  CHECK(p.dims[1] == HbmDim{0, 1});
}

TEST_CASE("slices, indices and steps select what plain loops select") {
  const HbmPattern p = hbm({4, 6, 8}).slice(0, 1, 4, 2).index(1, 5).slice(1, 0, 8, 3).hbm_pattern();
  std::vector<std::int64_t> expected;
  for (int i = 1; i < 4; i += 2)
    for (int k = 0; k < 8; k += 3) expected.push_back((i * 6 + 5) * 8 + k);
  CHECK(offsets(p) == expected);
}

TEST_CASE("reshape and permute give the k tiles of a GEMM operand") {
  // at : [K, M] seen as [p, k, m], partition p holding row k * 128 + p.
  const std::int64_t K = 512, M = 20;
  const HbmPattern p = hbm({K, M}).reshape(Shape{4, 128, M}).permute(std::vector<int>{1, 0, 2}).hbm_pattern();
  std::vector<std::int64_t> expected;
  for (int row = 0; row < 128; ++row)
    for (int k = 0; k < 4; ++k)
      for (int m = 0; m < M; ++m) expected.push_back((k * 128 + row) * M + m);
  CHECK(offsets(p) == expected);
}

TEST_CASE("random slices and permutations address the elements that index arithmetic does") {
  std::mt19937 random(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int trial = 0; trial < 2000; ++trial) {
    Shape shape;
    for (int d = 0; d < 4; ++d) shape.push_back(1 + below(6));
    std::vector<int> order = {0, 1, 2, 3};
    std::shuffle(order.begin(), order.end(), random);
    std::vector<std::int64_t> lo(4), hi(4), step(4);
    View v = hbm(shape);
    for (std::size_t d = 0; d < 4; ++d) {
      lo[d] = below(shape[d]);
      hi[d] = lo[d] + 1 + below(shape[d] - lo[d]);
      step[d] = 1 + below(3);
      v = v.slice(static_cast<int>(d), lo[d], hi[d], step[d]);
    }
    v = v.permute(order);
    std::vector<std::int64_t> expected;
    std::vector<std::int64_t> at(4), count(4);
    for (std::size_t d = 0; d < 4; ++d) count[d] = (hi[d] - lo[d] + step[d] - 1) / step[d];
    for (at[0] = 0; at[0] < count[static_cast<std::size_t>(order[0])]; ++at[0])
      for (at[1] = 0; at[1] < count[static_cast<std::size_t>(order[1])]; ++at[1])
        for (at[2] = 0; at[2] < count[static_cast<std::size_t>(order[2])]; ++at[2])
          for (at[3] = 0; at[3] < count[static_cast<std::size_t>(order[3])]; ++at[3]) {
            std::vector<std::int64_t> index(4);
            for (std::size_t d = 0; d < 4; ++d) {
              const auto from = static_cast<std::size_t>(order[d]);
              index[from] = lo[from] + at[d] * step[from];
            }
            expected.push_back(((index[0] * shape[1] + index[1]) * shape[2] + index[2]) * shape[3] +
                               index[3]);
          }
    REQUIRE(offsets(v.hbm_pattern()) == expected);
  }
}

TEST_CASE("reshape never copies and says so") {
  CHECK(contains(message([] {
                   hbm({4, 6}).permute(std::vector<int>{1, 0}).reshape(Shape{24});
                 }),
                 "without a copy"));
  CHECK(contains(message([] { hbm({4, 6}).reshape(Shape{5, 5}); }), "24 elements"));
  CHECK(contains(message([] { sbuf({4, 6}).reshape(Shape{24, 1}); }), "partition dimension stays 4"));
  CHECK(sbuf({4, 6}).reshape(Shape{4, 2, 3}).describe() == "f32[4, 2, 3]");
}

TEST_CASE("an index of the partition keeps the dimension") {
  const View v = sbuf({128, 8}).index(0, 5);
  CHECK(v.describe() == "f32[1, 8]");
  CHECK(v.pattern().partition == 5);
  CHECK(v.pattern().partitions == 1);
}

TEST_CASE("a broadcast dimension has step 0") {
  const AccessPattern p = sbuf({128, 1, 8}).broadcast(1, 3).pattern();
  CHECK(p.dims[0] == Dim{1, 8});
  CHECK(p.dims[1] == Dim{0, 3});
  CHECK(contains(message([] { sbuf({1, 8}).broadcast(0, 128); }), "partition"));
}

TEST_CASE("reading other types keeps the bytes") {
  const View v = sbuf({128, 4, 8}, DType::bf16).slice(1, 1, 3).as(DType::u8);
  CHECK(v.describe() == "u8[128, 2, 16]");
  CHECK(v.pattern().offset == 16);
  CHECK(sbuf({128, 4, 8}, DType::u8).as(DType::f32).describe() == "f32[128, 4, 2]");
  CHECK(contains(message([] { sbuf({128, 3}, DType::u8).as(DType::f32); }), "whole number"));
  CHECK(contains(message([] {
                   sbuf({128, 8}, DType::u8).slice(1, 0, 8, 2).as(DType::bf16);
                 }),
                 "not contiguous"));
}

TEST_CASE("out of range says the dimension, the value and the size") {
  CHECK(contains(message([] { hbm({4, 6}).index(1, 6); }), "index 6 of dimension 1, which has size 6"));
  CHECK(contains(message([] { hbm({4, 6}).slice(0, 2, 5); }), "slice 2:5 of dimension 0, which has size 4"));
  CHECK(contains(message([] { hbm({4, 6}).slice(0, 2, 2); }), "slice 2:2"));
}

TEST_CASE("five dimensions that do not merge are an error that prints them") {
  View v = sbuf({128, 4, 4, 4, 4, 4});
  for (int d = 1; d < 6; ++d) v = v.slice(d, 0, 3);
  CHECK(contains(message([&] { v.pattern(); }), "5 free dimensions after merging ([128, 3, 3, 3, 3, 3])"));
}

TEST_CASE("a step beyond 16 bits is an error on chip and none in HBM") {
  CHECK(contains(message([] {
                   sbuf({128, 2, 40000}, DType::u8).slice(2, 0, 8).pattern();
                 }),
                 "a step of 40000"));
  CHECK(hbm({2, 40000}).slice(1, 0, 8).hbm_pattern().dims[1] == HbmDim{40000, 2});
}

TEST_CASE("contiguous rows of more than 65,535 elements stay two dimensions") {
  const AccessPattern p = sbuf({128, 8, 16384}, DType::u8).slice(1, 0, 4).pattern();
  CHECK(p.elements() == 65536);
  CHECK(p.dims[1] == Dim{16384, 4});
}

TEST_CASE("a register index shifts by its step") {
  const Register r5{5};
  const AccessPattern p = sbuf({128, 8, 16}).index(1, r5, 2, 1).pattern();
  CHECK(p.index == r5);
  CHECK(p.index_step == 32);
  CHECK(p.offset == 64);
  CHECK(p.dims[0] == Dim{1, 16});
  CHECK(contains(message([&] { sbuf({128, 8}).index(0, r5, 1, 0); }), "partition"));
  CHECK(contains(message([&] {
                   hbm({4, 4}).index(0, r5, 1, 0).index(0, Register{6}, 1, 0);
                 }),
                 "one register"));
}

TEST_CASE("transfers compare shapes without dimensions of one") {
  CHECK(same_shape(hbm({128, 512}), sbuf({128, 2, 512}).index(1, 1)));
  CHECK(same_shape(hbm({1, 128, 1, 512}), sbuf({128, 512, 1})));
  CHECK_FALSE(same_shape(hbm({128, 1024}), sbuf({128, 2, 512})));
  CHECK(same_shape(hbm({1}), sbuf({1, 1})));
}

TEST_CASE("a pointer operand is one value per lane") {
  CHECK(sbuf({128, 4}).slice(1, 2, 3).pointer().offset == 8);
  CHECK(contains(message([] { sbuf({128, 4}).pointer(); }), "one value per lane, [128, 1]"));
}
