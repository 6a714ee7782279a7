#pragma once

// What is behind random_program.h: a Builder, the memory its programs share, and one function per kind of
// instruction. Inside the tests' support only.

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "isa/builder.h"
#include "tests/support/random_program.h"

namespace ncemu::test {

class Generator {
 public:
  Generator(std::uint64_t seed, const RandomProgramOptions& options);
  Program run();

 private:
  static constexpr int stationary_lanes = 32;  // rows and columns of most weight loads: most matmuls fit them
  static constexpr std::int64_t array_elements = 4;
  static constexpr std::int64_t row = 16;  // elements per partition of a tile of 4-byte elements
  static constexpr Register chosen{1},
      loaded{2};  // an array element, equal in all streams; whatever was loaded

  struct Shape {
    std::int64_t partitions = 1, elements = 1;
  };

  // ---- choices
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
  }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T, std::size_t n>
  T pick(const T (&from)[n]) {
    return from[below(static_cast<std::int64_t>(n))];
  }
  const View& pick(const std::vector<View>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }
  bool v3() const { return options_.target.generation >= 3; }
  int emitted() { return static_cast<int>(b_.program().order.size()); }

  // ---- memory (random_program.cpp)
  void declare();
  void declare_identities();
  View element_of_array();
  View tile(bool psum_too);
  Shape shape() { return {pick({1L, 17L, 32L, 64L, 128L}), pick({1L, 2L, 4L, 5L, 8L, 16L})}; }
  std::int64_t legal_start(std::int64_t partitions);
  // `elements` of each lane, in one or two strided dimensions.
  View columns(const View& lanes, std::int64_t elements, bool rows = true);
  View part(const View& whole, const Shape& s, bool rows = true);
  View operand(const Shape& s, bool psum_too, bool rows = true) { return part(tile(psum_too), s, rows); }
  View integers_in_sbuf(const Shape& s, DType dtype);
  View in_hbm(const View& tensor, const Shape& s);
  View in_hbm_at_run_time(const View& tensor, std::int64_t rows, bool may_leave);
  PointerOperand lane_values(const Shape& s);
  View part_of_column(const Shape& s);

  // ---- what a program consists of (random_program.cpp)
  void instruction();
  void loop();
  void block();
  void registers();

  // ---- transfers (random_transfers.cpp)
  void transfer();
  void plain_copy();
  void rows_by_index();
  void moved_by_register();
  void transposing_transfer();
  void computing_transfer();
  std::optional<Engine> some_issuer(const View& a, const View& b);
  std::optional<std::uint8_t> some_queue() { return static_cast<std::uint8_t>(below(3)); }

  // ---- tensor engine (random_tensor.cpp)
  void load_stationary();
  void matmul();
  void tensor_modes();
  void tiles_of_the_array();
  void double_row();
  void transposing_matmul();
  void fp32_matmul();

  // ---- scalar and vector engine (random_lanes.cpp)
  Engine element_wise(bool on_gpsimd) { return on_gpsimd ? Engine::gpsimd : Engine::vector; }
  ReduceCommand accumulation();
  void activation();
  void copy();
  void fill();
  void scale();
  void combine();
  void reduce();
  void load_mask();
  void vector_only();
  void vector_search();
  void vector_statistics();
  void vector_random();

  // ---- gpsimd (random_gpsimd.cpp)
  void on_gpsimd();
  void affine();
  void gather();
  void integers_on_gpsimd();
  void across_lanes();
  void gpsimd_random();
  // Whole numbers from 0 to a power of two less 1, written to `view` of an unsigned type.
  void numbers_below(const View& view, std::int32_t power_of_two);

  std::mt19937_64 random_;
  RandomProgramOptions options_;
  Builder b_;
  View x_, y_, z_, integers_, weights_, column_, identity_bf16_, identity_f32_;
  std::vector<View> hbm_, sbuf_, psum_;
  TileRef array_;
  std::vector<Register> counters_;
  int depth_ = 0;
};

}  // namespace ncemu::test
