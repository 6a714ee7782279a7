// An outer-product kernel: a block of results stays in registers while k ascends, so that every result is
// one chain of fused multiply-adds, whatever the blocking. Blocks of k continue from the stored results,
// which rounds nothing. Both operands are packed into panels that the inner loop reads in order.

#include "emu/data/matmul_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/matmul_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
#if NCEMU_PLAIN_TARGET

float canonical(float value) {
  // Which NaN an operation returns differs between hosts; that it is NaN does not.
  return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
}

void all_matmul(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, bool add) {
  std::vector<float> sums(sizes.n);
  for (std::size_t m = 0; m < sizes.m; ++m) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::size_t k = 0; k < sizes.k; ++k) {
      const float left = stationary.data[k * stationary.stride + m];
      const float* const right = moving.data + k * moving.stride;
      for (std::size_t n = 0; n < sizes.n; ++n) sums[n] = std::fma(left, right[n], sums[n]);
    }
    float* const row = result.data + m * result.stride;
    for (std::size_t n = 0; n < sizes.n; ++n) row[n] = canonical(add ? row[n] + sums[n] : sums[n]);
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::ScalableTag<float>;
using FloatVector = hn::Vec<Floats>;

static_assert(HWY_NATIVE_FMA, "a target without fused multiply-add would round twice");

constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(float);  // fixed: see highway_targets.h

// Registers: rows x vectors accumulators, the moving vectors of one k and one stationary value. AVX-512 and
// NEON have 32, AVX2 has 16. Enough independent chains to hide a latency of 4 with two units.
constexpr std::size_t most_rows = HWY_TARGET == HWY_AVX2 ? 6 : 12;
constexpr std::size_t vectors = 2;
constexpr std::size_t columns = vectors * lanes;

// A moving panel of one block of k is at most 16 KiB, half of a first-level cache.
constexpr std::size_t k_block = 128;
// Stationary rows packed at a time: those of one instruction.
constexpr std::size_t m_block = 128;

// What the kernel needs of one tile: `rows` results of `columns` columns, sums to continue from or zeros.
struct Tile {
  const float* stationary;  // [k][rows]
  const float* moving;      // [k][columns], padded with zeros
  std::size_t k_count;
  float* result;
  std::size_t stride;  // between rows of the result
  bool first;          // of the blocks of k: starts from zeros
  bool add;            // to what the result holds, once the sums are complete; of one block of k only
};

HWY_INLINE FloatVector canonical(FloatVector value) {
  // Which NaN an operation returns differs between hosts; that it is NaN does not. Between blocks of k it
  // would not matter.
  const FloatVector nan = hn::Set(Floats(), std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Eq(value, value), value, nan);
}

// Every loop over rows and vectors is unrolled, or the compiler would keep the sums in memory.
template <std::size_t rows>
void multiply_tile(const Tile& tile) {
  const Floats df;
  FloatVector sums[rows][vectors];
  float* result = tile.result;
  if (tile.first) {
    HWY_UNROLL(12)
    for (std::size_t row = 0; row < rows; ++row) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < vectors; ++v) sums[row][v] = hn::Zero(df);
    }
  } else {
    HWY_UNROLL(12)
    for (std::size_t row = 0; row < rows; ++row) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < vectors; ++v)
        sums[row][v] = hn::LoadU(df, result + row * tile.stride + v * lanes);
    }
  }
  const float* left = tile.stationary;
  const float* right = tile.moving;
  for (std::size_t k = 0; k < tile.k_count; ++k, left += rows, right += columns) {
    FloatVector moving[vectors];
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < vectors; ++v) moving[v] = hn::Load(df, right + v * lanes);
    HWY_UNROLL(12)
    for (std::size_t row = 0; row < rows; ++row) {
      const FloatVector value = hn::Set(df, left[row]);
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < vectors; ++v) sums[row][v] = hn::MulAdd(value, moving[v], sums[row][v]);
    }
  }
  if (tile.add) {
    HWY_UNROLL(12)
    for (std::size_t row = 0; row < rows; ++row) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < vectors; ++v)
        sums[row][v] = hn::Add(hn::LoadU(df, result + row * tile.stride + v * lanes), sums[row][v]);
    }
  }
  HWY_UNROLL(12)
  for (std::size_t row = 0; row < rows; ++row) {
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < vectors; ++v)
      hn::StoreU(canonical(sums[row][v]), df, result + row * tile.stride + v * lanes);
  }
}

using TileKernel = void (*)(const Tile&);

template <std::size_t... index>
constexpr auto tile_kernels(std::index_sequence<index...>) {
  return std::array<TileKernel, sizeof...(index)>{multiply_tile<index + 1>...};
}

constexpr auto kernels = tile_kernels(std::make_index_sequence<most_rows>());  // [rows - 1]

// A partial panel of columns goes through a full tile beside the result.
void multiply_narrow_tile(Tile tile, std::size_t rows, std::size_t used_columns) {
  alignas(64) float buffer[most_rows * columns] = {};
  float* result = tile.result;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!tile.first || tile.add)
      std::copy_n(result + row * tile.stride, used_columns, buffer + row * columns);
  }
  const std::size_t stride = std::exchange(tile.stride, columns);
  tile.result = buffer;
  kernels[rows - 1](tile);
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(buffer + row * columns, used_columns, result + row * stride);
  }
}

// Rows of a block, split into panels of nearly equal height: 128 rows are 7 panels of 12 and 4 of 11, not 10
// of 12 and one of 8, whose few sums would leave the units waiting.
struct Panels {
  std::size_t rows, count;
  explicit Panels(std::size_t row_count) : rows(row_count), count((row_count + most_rows - 1) / most_rows) {}
  std::size_t begin(std::size_t panel) const { return panel * rows / count; }
};

// Whole vectors are stored: what they write past a panel's rows, the next k overwrites. The last needs room.
constexpr std::size_t packed_room = k_block * m_block + lanes;

void pack_stationary(const MatrixIn& stationary, std::size_t k_count, const Panels& panels, float* packed) {
  const Floats df;
  for (std::size_t panel = 0; panel < panels.count; ++panel) {
    const std::size_t begin = panels.begin(panel), rows = panels.begin(panel + 1) - begin;
    const float* source = stationary.data + begin;
    for (std::size_t k = 0; k < k_count; ++k, packed += rows, source += stationary.stride) {
      for (std::size_t row = 0; row < rows; row += lanes) {
        hn::StoreU(hn::MaskedLoad(hn::FirstN(df, rows - row), df, source + row), df, packed + row);
      }
    }
  }
}

void pack_moving(const MatrixIn& moving, std::size_t k_count, std::size_t used_columns, float* packed) {
  const Floats df;
  const float* source = moving.data;
  if (used_columns == columns) {
    for (std::size_t k = 0; k < k_count; ++k, packed += columns, source += moving.stride) {
      for (std::size_t v = 0; v < vectors; ++v)
        hn::Store(hn::LoadU(df, source + v * lanes), df, packed + v * lanes);
    }
    return;
  }
  for (std::size_t k = 0; k < k_count; ++k, packed += columns, source += moving.stride) {
    std::fill_n(std::copy_n(source, used_columns, packed), columns - used_columns, 0.0F);
  }
}

// One block of k and of rows, all columns.
void multiply_block(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                    const MatrixOut& result, bool first, bool add) {
  alignas(64) float packed_stationary[packed_room];
  alignas(64) float packed_moving[k_block * columns];
  const Panels panels(sizes.m);
  pack_stationary(stationary, sizes.k, panels, packed_stationary);
  for (std::size_t n = 0; n < sizes.n; n += columns) {
    const std::size_t used_columns = std::min(columns, sizes.n - n);
    pack_moving({moving.data + n, moving.stride}, sizes.k, used_columns, packed_moving);
    for (std::size_t panel = 0; panel < panels.count; ++panel) {
      const std::size_t begin = panels.begin(panel), panel_rows = panels.begin(panel + 1) - begin;
      const Tile tile{.stationary = packed_stationary + begin * sizes.k,
                      .moving = packed_moving,
                      .k_count = sizes.k,
                      .result = result.data + begin * result.stride + n,
                      .stride = result.stride,
                      .first = first,
                      .add = add};
      if (used_columns == columns) {
        kernels[panel_rows - 1](tile);
      } else {
        multiply_narrow_tile(tile, panel_rows, used_columns);
      }
    }
  }
}

void all_matmul(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, bool add) {
  if (add && sizes.k > k_block) {
    // The result cannot hold the sums of the first blocks: they come to be added when they are complete.
    std::vector<float> sums(sizes.m * sizes.n);
    all_matmul(stationary, moving, sizes, {sums.data(), sizes.n}, false);
    for (std::size_t m = 0; m < sizes.m; ++m) {
      float* const row = result.data + m * result.stride;
      for (std::size_t n = 0; n < sizes.n; ++n) {
        const float total = row[n] + sums[m * sizes.n + n];
        row[n] = total == total ? total : std::numeric_limits<float>::quiet_NaN();
      }
    }
    return;
  }
  for (std::size_t m = 0; m < sizes.m; m += m_block) {
    const std::size_t rows = std::min(m_block, sizes.m - m);
    for (std::size_t k = 0; k < sizes.k; k += k_block) {
      const std::size_t block = std::min(k_block, sizes.k - k);
      multiply_block({stationary.data + k * stationary.stride + m, stationary.stride},
                     {moving.data + k * moving.stride, moving.stride}, {block, rows, sizes.n},
                     {result.data + m * result.stride, result.stride}, k == 0, add);
    }
  }
}

#endif  // NCEMU_PLAIN_TARGET
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {

HWY_EXPORT(all_matmul);

void matmul_sum(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result) {
  HWY_DYNAMIC_DISPATCH(all_matmul)(stationary, moving, sizes, result, false);
}

void matmul_add(const MatrixIn& stationary, const MatrixIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result) {
  HWY_DYNAMIC_DISPATCH(all_matmul)(stationary, moving, sizes, result, true);
}

}  // namespace ncemu
#endif  // HWY_ONCE
