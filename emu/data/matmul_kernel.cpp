// An outer-product kernel: a block of results stays in registers while k ascends, so that every result is
// one chain of fused multiply-adds, whatever the blocking. Blocks of k continue from the stored results,
// which rounds nothing. Both operands are packed into panels that the inner loop reads in order; the moving
// one becomes fp32 on the way.

#include "emu/data/matmul_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "emu/data/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "emu/data/matmul_kernel.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/highway.h>

#include "emu/data/float_decode-inl.h"
#include "isa/fault.h"
#include "isa/number.h"

HWY_BEFORE_NAMESPACE();
namespace ncemu::HWY_NAMESPACE {
#if NCEMU_PLAIN_TARGET

float canonical(float value) {
  // Which NaN an operation returns differs between hosts; that it is NaN does not.
  return std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
}

void read_row(const MovingIn& moving, std::size_t k, std::span<float> row) {
  const auto size = static_cast<std::size_t>(size_of(moving.type));
  for (std::size_t n = 0; n < row.size(); ++n) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, moving.data + k * moving.stride + n * size, size);
    row[n] = moving.type == DType::f32 ? std::bit_cast<float>(bits) : from_bits(moving.type, bits);
  }
}

bool all_matmul(const MatrixIn& stationary, const MovingIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, bool add, PackingRoom& room) {
  room.resize(sizes.k * sizes.n);
  for (std::size_t k = 0; k < sizes.k; ++k) read_row(moving, k, {room.data() + k * sizes.n, sizes.n});
  std::vector<float> sums(sizes.n);
  bool finite = true;
  for (std::size_t m = 0; m < sizes.m; ++m) {
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::size_t k = 0; k < sizes.k; ++k) {
      const float left = stationary.data[k * stationary.stride + m];
      const float* const right = room.data() + k * sizes.n;
      for (std::size_t n = 0; n < sizes.n; ++n) sums[n] = std::fma(left, right[n], sums[n]);
    }
    float* const row = result.data + m * result.stride;
    for (std::size_t n = 0; n < sizes.n; ++n) {
      row[n] = canonical(add ? row[n] + sums[n] : sums[n]);
      finite = finite && std::isfinite(row[n]);
    }
  }
  return finite;
}

#else

static_assert(HWY_NATIVE_FMA, "a target without fused multiply-add would round twice");

constexpr std::size_t lanes = HWY_MAX_BYTES / sizeof(float);  // fixed: see highway_targets.h

// Registers: rows x vectors accumulators, the moving vectors of one k and one stationary value. AVX-512 and
// NEON have 32, AVX2 has 16. Enough independent chains to hide a latency of 4 with two units.
constexpr std::size_t most_rows = HWY_TARGET == HWY_AVX2 ? 6 : 12;
constexpr std::size_t vectors = 2;
constexpr std::size_t columns = vectors * lanes;

constexpr std::size_t k_block = 128;
// Moving panels that one pass over the stationary operand meets: 16 KiB of them, half of a first-level cache.
constexpr std::size_t panels_together = 4096 / (k_block * columns);
static_assert(panels_together >= 1);
// From one packed moving panel to the next. A power of two would put the same k of all panels, which are
// written one after the other, into one set of the cache.
constexpr std::size_t panel_stride = k_block * columns + lanes;
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

// Every loop over rows and vectors is unrolled, or the compiler would keep the sums in memory. True: what it
// stored is finite.
template <std::size_t rows>
bool multiply_tile(const Tile& tile) {
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
  FloatVector finite = hn::Zero(df);  // stays it: 0 times a finite number is 0, else NaN
  HWY_UNROLL(12)
  for (std::size_t row = 0; row < rows; ++row) {
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::StoreU(canonical(sums[row][v]), df, result + row * tile.stride + v * lanes);
      finite = hn::MulAdd(sums[row][v], hn::Zero(df), finite);
    }
  }
  return hn::AllTrue(df, hn::Eq(finite, finite));
}

using TileKernel = bool (*)(const Tile&);

template <std::size_t... index>
constexpr auto tile_kernels(std::index_sequence<index...>) {
  return std::array<TileKernel, sizeof...(index)>{multiply_tile<index + 1>...};
}

constexpr auto kernels = tile_kernels(std::make_index_sequence<most_rows>());  // [rows - 1]

// A partial panel of columns goes through a full tile beside the result.
bool multiply_narrow_tile(Tile tile, std::size_t rows, std::size_t used_columns) {
  alignas(64) float buffer[most_rows * columns] = {};
  float* result = tile.result;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!tile.first || tile.add)
      std::copy_n(result + row * tile.stride, used_columns, buffer + row * columns);
  }
  const std::size_t stride = std::exchange(tile.stride, columns);
  tile.result = buffer;
  const bool finite = kernels[rows - 1](tile);
  for (std::size_t row = 0; row < rows; ++row) {
    std::copy_n(buffer + row * columns, used_columns, result + row * stride);
  }
  return finite;
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

// Row after row of the moving operand as fp32 into its panels, the last padded with zeros.
template <DType type>
void pack_moving(const MovingIn& moving, std::size_t k_count, std::size_t n_count, float* packed) {
  const Floats df;
  constexpr auto size = static_cast<std::size_t>(size_of(type));
  const std::size_t full = n_count / columns, rest = n_count % columns;
  const std::byte* source = moving.data;
  for (std::size_t k = 0; k < k_count; ++k, source += moving.stride, packed += columns) {
    float* to = packed;
    for (std::size_t panel = 0; panel < full; ++panel, to += panel_stride) {
      HWY_UNROLL(2)
      for (std::size_t v = 0; v < vectors; ++v)
        hn::Store(decode_float<type>(source + (panel * columns + v * lanes) * size), df, to + v * lanes);
    }
    if (rest == 0) continue;
    alignas(64) std::byte last[columns * size] = {};
    std::memcpy(last, source + full * columns * size, rest * size);
    for (std::size_t v = 0; v < vectors; ++v)
      hn::Store(decode_float<type>(last + v * lanes * size), df, to + v * lanes);
  }
}

void pack_moving(const MovingIn& moving, std::size_t k_count, std::size_t n_count, float* packed) {
  switch (moving.type) {
    case DType::f32: return pack_moving<DType::f32>(moving, k_count, n_count, packed);
    case DType::tf32: return pack_moving<DType::tf32>(moving, k_count, n_count, packed);
    case DType::bf16: return pack_moving<DType::bf16>(moving, k_count, n_count, packed);
    case DType::f16: return pack_moving<DType::f16>(moving, k_count, n_count, packed);
    case DType::f8e5m2: return pack_moving<DType::f8e5m2>(moving, k_count, n_count, packed);
    case DType::f8e4m3: return pack_moving<DType::f8e4m3>(moving, k_count, n_count, packed);
    case DType::f8e3m4: return pack_moving<DType::f8e3m4>(moving, k_count, n_count, packed);
    case DType::f8e4m3fn: return pack_moving<DType::f8e4m3fn>(moving, k_count, n_count, packed);
    default: ensure(false, "the tensor engine multiplies floats");
  }
}

// One block of k and of rows, all columns.
bool multiply_block(const MatrixIn& stationary, const float* packed_moving, const MatmulSizes& sizes,
                    const MatrixOut& result, bool first, bool add) {
  alignas(64) float packed_stationary[packed_room];
  const Panels panels(sizes.m);
  pack_stationary(stationary, sizes.k, panels, packed_stationary);
  const std::size_t moving_panels = (sizes.n + columns - 1) / columns;
  bool finite = true;
  for (std::size_t together = 0; together < moving_panels; together += panels_together) {
    const std::size_t end = std::min(together + panels_together, moving_panels);
    for (std::size_t panel = 0; panel < panels.count; ++panel) {
      const std::size_t begin = panels.begin(panel), panel_rows = panels.begin(panel + 1) - begin;
      for (std::size_t p = together; p < end; ++p) {
        const std::size_t n = p * columns, used_columns = std::min(columns, sizes.n - n);
        const Tile tile{.stationary = packed_stationary + begin * sizes.k,
                        .moving = packed_moving + p * panel_stride,
                        .k_count = sizes.k,
                        .result = result.data + begin * result.stride + n,
                        .stride = result.stride,
                        .first = first,
                        .add = add};
        finite &= used_columns == columns ? kernels[panel_rows - 1](tile)
                                          : multiply_narrow_tile(tile, panel_rows, used_columns);
      }
    }
  }
  return finite;
}

bool all_matmul(const MatrixIn& stationary, const MovingIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, bool add, PackingRoom& room) {
  bool finite = true;
  if (add && sizes.k > k_block) {
    // The result cannot hold the sums of the first blocks: they come to be added when they are complete.
    std::vector<float> sums(sizes.m * sizes.n);
    all_matmul(stationary, moving, sizes, {sums.data(), sizes.n}, false, room);
    for (std::size_t m = 0; m < sizes.m; ++m) {
      float* const row = result.data + m * result.stride;
      for (std::size_t n = 0; n < sizes.n; ++n) {
        const float total = row[n] + sums[m * sizes.n + n];
        row[n] = total == total ? total : std::numeric_limits<float>::quiet_NaN();
        finite = finite && std::isfinite(total);
      }
    }
    return finite;
  }
  // Whole panels at an aligned place of the room.
  const std::size_t moving_panels = (sizes.n + columns - 1) / columns;
  room.resize(std::max(room.size(), moving_panels * panel_stride + lanes));
  void* place = room.data();
  std::size_t space = room.size() * sizeof(float);
  auto* const packed = static_cast<float*>(
      std::align(lanes * sizeof(float), moving_panels * panel_stride * sizeof(float), place, space));
  for (std::size_t k = 0; k < sizes.k; k += k_block) {
    const std::size_t block = std::min(k_block, sizes.k - k);
    pack_moving({moving.type, moving.data + k * moving.stride, moving.stride}, block, sizes.n, packed);
    for (std::size_t m = 0; m < sizes.m; m += m_block) {
      const std::size_t rows = std::min(m_block, sizes.m - m);
      finite &= multiply_block({stationary.data + k * stationary.stride + m, stationary.stride}, packed,
                               {block, rows, sizes.n}, {result.data + m * result.stride, result.stride},
                               k == 0, add);
    }
  }
  return finite;
}

#endif  // NCEMU_PLAIN_TARGET
}  // namespace ncemu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ncemu {

HWY_EXPORT(all_matmul);

bool matmul_sum(const MatrixIn& stationary, const MovingIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, PackingRoom& room) {
  return HWY_DYNAMIC_DISPATCH(all_matmul)(stationary, moving, sizes, result, false, room);
}

bool matmul_add(const MatrixIn& stationary, const MovingIn& moving, const MatmulSizes& sizes,
                const MatrixOut& result, PackingRoom& room) {
  return HWY_DYNAMIC_DISPATCH(all_matmul)(stationary, moving, sizes, result, true, room);
}

}  // namespace ncemu
#endif  // HWY_ONCE
