// The tensor engine: load_stationary and matmul (datasheet 6.1; design: numbers, PSUM groups).

#include <algorithm>
#include <atomic>
#include <limits>

#include "emu/data/convert.h"
#include "emu/data/exec.h"
#include "emu/data/matmul_kernel.h"
#include "emu/data/operand.h"
#include "emu/data/workers.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// All lanes of an operand as fp32, row-major [partition, element].
void read_matrix(const Operand& operand, std::vector<float>& to) {
  const auto elements = static_cast<std::size_t>(operand.elements());
  to.resize(static_cast<std::size_t>(operand.lanes()) * elements);
  if (operand.walk().contiguous()) {
    for (int lane = 0; lane < operand.lanes(); ++lane) {
      to_f32(operand.dtype(), operand.row(lane) + operand.walk().offset(),
             to.data() + static_cast<std::size_t>(lane) * elements, elements);
    }
    return;
  }
  BlockBytes raw;
  float* out = to.data();
  for_each_block(operand.lanes(), operand.elements(), block_elements, [&](const Block& block) {
    operand.read(block, out, raw);
    out += block.size();
  });
}

// The product of the stationary operand (`left`, [k, m]) and the moving one, stored or added. Its rows are
// shared out: they are the destination's lanes, which a thread then finds in its own cache when it handles
// the same lanes in the next instruction. For the same reason each thread converts the moving operand for
// itself. True: the results are finite.
bool multiply(const MatrixIn& left, const Operand& moving, const MatmulSizes& sizes, const MatrixOut& result,
              bool add, State& state) {
  MovingIn right{moving.dtype(), moving.row(0) + moving.walk().offset(),
                 static_cast<std::size_t>(moving.row(1) - moving.row(0))};
  if (sizes.k != static_cast<std::size_t>(moving.lanes()) || !moving.walk().contiguous()) {
    read_matrix(moving, state.moving_values);  // with double_row [lanes, 2, n], which is [2 lanes, n]
    right = moving_of({state.moving_values.data(), sizes.n});
  }
  const auto rows = static_cast<std::int64_t>(sizes.m);
  const auto work = static_cast<std::int64_t>(sizes.k * sizes.n / 16) * rows;
  std::atomic<bool> finite = true;
  share_out(state.workers, rows, work, [&](const Share& some, std::size_t part) {
    const bool all = (add ? matmul_add : matmul_sum)(
        {left.data + some.begin, left.stride}, right,
        {sizes.k, static_cast<std::size_t>(some.end - some.begin), sizes.n},
        {result.data + static_cast<std::size_t>(some.begin) * result.stride, result.stride},
        state.packing_rooms[part]);
    if (!all) finite = false;
  });
  return finite;
}

void check_float(std::string_view mnemonic, const Operand& operand) {
  if (is_float(operand.dtype())) return;
  throw Fault(FaultKind::program, "", "{}: {} is {}, the tensor engine multiplies floats", mnemonic,
              operand.name(), name(operand.dtype()));
}

bool overlaps(const Stationary& a, ArrayPair position, ArrayPair size) {
  const auto apart = [](int x, int nx, int y, int ny) { return x + nx <= y || y + ny <= x; };
  return !apart(a.position.row, a.size.row, position.row, size.row) &&
         !apart(a.position.column, a.size.column, position.column, size.column);
}

// Room for a load into this tile of the array: what overlaps it is gone.
Stationary& replace(State& state, ArrayPair position, ArrayPair size) {
  auto& all = state.stationaries;
  for (Stationary& s : all) {
    if (s.position == position && s.size == size) return s;
  }
  std::erase_if(all, [&](const Stationary& s) { return overlaps(s, position, size); });
  Stationary& made = all.emplace_back();
  made.position = position;
  made.size = size;
  return made;
}

const Stationary& loaded(const Matmul& f, const State& state) {
  for (const Stationary& s : state.stationaries) {
    if (s.position == f.tile_position && s.size == f.tile_size) return s;
  }
  if (state.stationaries.empty())
    throw Fault(FaultKind::program, "", "matmul: no load_stationary has run before it");
  throw Fault(FaultKind::program, "",
              "matmul: no load_stationary into the tile of {} x {} at [{}, {}] has run before it",
              f.tile_size.row, f.tile_size.column, f.tile_position.row, f.tile_position.column);
}

void check_shapes(const Operand& dst, const Operand& moving, const Stationary& stationary, bool double_row) {
  check_float("matmul", moving);
  if (is_fp32_like(moving.dtype()) != is_fp32_like(stationary.dtype)) {
    throw Fault(FaultKind::program, "",
                "matmul: moving is {} and the stationary operand {}; f32 and tf32 pair only "
                "with each other",
                name(moving.dtype()), name(stationary.dtype));
  }
  if (double_row != stationary.double_row) {
    throw Fault(FaultKind::program, "", "matmul: double_row is {}, that of its load_stationary {}",
                double_row, stationary.double_row);
  }
  if (moving.lanes() != stationary.lanes) {
    throw Fault(FaultKind::program, "", "matmul: moving has {} partitions, the stationary operand has {} (k)",
                moving.lanes(), stationary.lanes);
  }
  if (dst.lanes() != stationary.m) {
    throw Fault(FaultKind::program, "",
                "matmul: dst has {} partitions, the stationary operand has {} columns (m)", dst.lanes(),
                stationary.m);
  }
  const std::int64_t row = double_row ? moving.elements() / 2 : moving.elements();
  if (dst.elements() != row) {
    throw Fault(FaultKind::program, "", "matmul: dst has {} elements per partition, moving has {}",
                dst.elements(), row);
  }
}

void check_sums(const Operand& dst) {
  if (dst.pattern().space != Space::psum || dst.dtype() != DType::f32 || dst.walk().offset() % 4 != 0) {
    throw Fault(FaultKind::program, "", "matmul: dst is {} in {} at byte {}, expected f32 words in psum",
                name(dst.dtype()), name(dst.pattern().space), dst.walk().offset());
  }
}

// visit(words, which) for each segment of the destination, in stream order.
template <typename Visit>
void for_each_segment(Operand& dst, Visit&& visit) {
  for (int lane = 0; lane < dst.lanes(); ++lane) {
    std::byte* row = dst.row(lane);
    const auto partition = static_cast<std::uint32_t>(dst.pattern().partition + lane);
    dst.walk().segments(0, dst.elements(), [&](const Segment& s) {
      const PsumGroups::Words which{partition, static_cast<std::uint32_t>(s.offset / 4),
                                    static_cast<std::uint32_t>(s.count),
                                    static_cast<std::uint32_t>(s.step / 4)};
      visit(reinterpret_cast<float*>(row + s.offset), which);
    });
  }
}

// The newest group among the destination's words; 0: none.
std::uint32_t newest_group(Operand& dst, const State& state) {
  std::uint32_t newest = 0;
  for_each_segment(dst, [&](float*, const PsumGroups::Words& which) {
    newest = std::max(newest, state.groups.newest_among(which));
  });
  return newest;
}

void store(float* words, const PsumGroups::Words& which, const float* sums, std::uint32_t group,
           PsumGroups& groups) {
  for (std::uint32_t i = 0; i < which.count; ++i) words[std::size_t{i} * which.step] = sums[i];
  groups.stamp(which, group);
}

// One rounding; a NaN is the one of datasheet 4.4, whatever the host made.
float add(float word, float sum) {
  const float result = word + sum;
  return result == result ? result : std::numeric_limits<float>::quiet_NaN();
}

// Element by element: the first write of a group overwrites, further ones add. A word that the pattern visits
// twice is added to twice.
void join(float* words, const PsumGroups::Words& which, const float* sums, std::uint32_t group,
          PsumGroups& groups) {
  if (groups.all_carry(which, group)) {
    for (std::uint32_t i = 0; i < which.count; ++i) {
      float& word = words[std::size_t{i} * which.step];
      word = add(word, sums[i]);
    }
    return;
  }
  for (std::uint32_t i = 0; i < which.count; ++i) {
    float& word = words[std::size_t{i} * which.step];
    const PsumGroups::Words one{which.partition, which.first + i * which.step, 1, 1};
    const bool member = groups.at(one.partition, one.first) == group;
    word = member ? add(word, sums[i]) : sums[i];
    groups.stamp(one, group);
  }
}

// Rows of adjacent words that, when joining, all carry the group: no element differs from another.
bool is_uniform(Operand& dst, bool joins, std::uint32_t group, const State& state) {
  if (!dst.walk().contiguous()) return false;
  if (!joins) return true;
  bool all = true;
  for_each_segment(dst, [&](float*, const PsumGroups::Words& which) {
    all = all && state.groups.all_carry(which, group);
  });
  return all;
}

// ---- transposing on NeuronCore-v3 -----------------------------------------------------------

// For each of `columns` columns of a [k, columns] matrix of zeros and at most one 1, the row of its 1, or -1.
// Empty: it is no such matrix.
std::vector<int> selection(const std::vector<float>& matrix, std::size_t k, std::size_t columns) {
  std::vector<int> rows(columns, -1);
  for (std::size_t row = 0; row < k; ++row) {
    for (std::size_t c = 0; c < columns; ++c) {
      const float value = matrix[row * columns + c];
      if (value == 0) continue;
      if (value != 1 || rows[c] >= 0) return {};
      rows[c] = static_cast<int>(row);
    }
  }
  return rows;
}

// Moves bits: with a moving operand of one 1 per column, dst[m][n] = stationary[row of column n][m]; else,
// with such a stationary operand, dst[m][n] = moving[row of column m][n]. 0 for a column without a 1.
void move_elements(Operand& dst, const Operand& moving, const Stationary& stationary, State& state) {
  const auto k = static_cast<std::size_t>(stationary.k), m_count = static_cast<std::size_t>(stationary.m),
             n_count = static_cast<std::size_t>(moving.elements());
  if (moving.dtype() != stationary.dtype) {
    throw Fault(FaultKind::program, "",
                "matmul: transposing, moving is {} and the stationary operand {}; expected one type",
                name(moving.dtype()), name(stationary.dtype));
  }
  const auto width = static_cast<std::size_t>(size_of(moving.dtype()));
  const auto out = static_cast<std::size_t>(size_of(dst.dtype()));
  if (out != std::max<std::size_t>(width, 2)) {
    throw Fault(FaultKind::program, "", "matmul: transposing, moving is {} and dst {}", name(moving.dtype()),
                name(dst.dtype()));
  }
  std::vector<float>& values = state.moving_values;
  read_matrix(moving, values);
  const std::vector<int> by_moving = selection(values, k, n_count);
  const std::vector<int> by_stationary =
      by_moving.empty() ? selection(stationary.values, k, m_count) : std::vector<int>{};
  if (by_moving.empty() && by_stationary.empty()) {
    throw Fault(
        FaultKind::program, "",
        "matmul: transpose = true moves elements, so one operand has zeros and at most one 1 in each column "
        "(an identity matrix); neither has");
  }
  std::vector<std::byte> moving_raw(k * n_count * width), row(n_count * out);
  for (int lane = 0; lane < moving.lanes(); ++lane)
    moving.read(Block{lane, 1, 0, moving.elements()},
                moving_raw.data() + static_cast<std::size_t>(lane) * n_count * width);
  for (std::size_t m = 0; m < m_count; ++m) {
    std::fill(row.begin(), row.end(), std::byte{0});
    for (std::size_t n = 0; n < n_count; ++n) {
      const int from = by_moving.empty() ? by_stationary[m] : by_moving[n];
      if (from < 0) continue;
      const auto source = static_cast<std::size_t>(from);
      const std::byte* element = by_moving.empty() ? moving_raw.data() + (source * n_count + n) * width
                                                   : stationary.raw.data() + (source * m_count + m) * width;
      std::copy_n(element, width, row.data() + n * out);  // little-endian: the upper bits stay 0
    }
    dst.write(Block{static_cast<int>(m), 1, 0, dst.elements()}, row.data());
  }
  leave_groups(dst.pattern(), state);
}

// ---- groups ---------------------------------------------------------------------------------

// The first and the last column group (of 32 partitions) of the destination: visit(newest group there).
template <typename Visit>
void for_each_quadrant(const Operand& dst, State& state, Visit&& visit) {
  constexpr int lanes = 32;
  const auto word = static_cast<std::uint32_t>(dst.walk().offset() / 4);
  const int first = dst.pattern().partition, end = first + dst.lanes();
  for (int p = first; p < end; p = (p / lanes + 1) * lanes)
    visit(state.groups.newest(static_cast<std::uint32_t>(p), word));
}

// The group that the matmul joins or opens, and what is to be said about it.
std::uint32_t choose_group(Operand& dst, bool accumulate, State& state, bool& joins) {
  const std::uint32_t group = accumulate ? newest_group(dst, state) : 0;
  joins = group != 0;
  const auto event = [&](DataEvent::Kind kind) {
    if (state.on_event) state.on_event({.kind = kind, .partition = dst.pattern().partition});
  };
  if (joins) {
    bool shared = false;
    for_each_quadrant(dst, state, [&](std::uint32_t newest) { shared = shared || newest > group; });
    if (shared) event(DataEvent::Kind::bank_shared);
    return group;
  }
  if (accumulate) event(DataEvent::Kind::joined_no_group);
  const std::uint32_t opened = state.groups.open();
  for_each_quadrant(dst, state, [&](std::uint32_t& newest) { newest = opened; });
  return opened;
}

}  // namespace

void exec::load_stationary(const LoadStationary& f, Engine, State& state) {
  const Operand src("load_stationary", "src", f.src, state);
  check_float("load_stationary", src);
  const std::int64_t rows = f.double_row ? 2 : 1;
  if (src.elements() % rows != 0 || src.elements() / rows > f.tile_size.column) {
    throw Fault(FaultKind::program, "",
                "load_stationary: src has {} elements per partition, the array has {} columns",
                src.elements(), f.tile_size.column);
  }
  if (src.lanes() > f.tile_size.row) {
    throw Fault(FaultKind::program, "", "load_stationary: src has {} partitions, the array has {} rows",
                src.lanes(), f.tile_size.row);
  }
  Stationary& stationary = replace(state, f.tile_position, f.tile_size);
  read_matrix(src, stationary.values);  // with double_row [lanes, 2, m], which is [2 lanes, m]
  stationary.lanes = src.lanes();
  stationary.k = src.lanes() * static_cast<int>(rows);
  stationary.m = static_cast<int>(src.elements() / rows);
  stationary.dtype = src.dtype();
  stationary.double_row = f.double_row;
  stationary.raw.clear();
  if (state.generation < 3 || f.double_row) return;
  stationary.raw.resize(stationary.values.size() * static_cast<std::size_t>(size_of(src.dtype())));
  for (int lane = 0; lane < src.lanes(); ++lane) {
    src.read(Block{lane, 1, 0, src.elements()},
             stationary.raw.data() + lane * src.elements() * size_of(src.dtype()));
  }
}

void exec::matmul(const Matmul& f, Engine, State& state) {
  const Stationary& stationary = loaded(f, state);
  Operand dst("matmul", "dst", f.dst, state);
  const Operand moving("matmul", "moving", f.moving, state);
  check_shapes(dst, moving, stationary, f.double_row);
  if (f.transpose && state.generation >= 3) return move_elements(dst, moving, stationary, state);
  check_sums(dst);

  const auto k = static_cast<std::size_t>(stationary.k);
  const auto m = static_cast<std::size_t>(stationary.m);
  const auto n = static_cast<std::size_t>(dst.elements());
  bool joins = false;
  const std::uint32_t group = choose_group(dst, f.accumulate, state, joins);
  const MatrixIn left{stationary.values.data(), m};
  if (is_uniform(dst, joins, group, state)) {
    auto* const words = reinterpret_cast<float*>(dst.row(0) + dst.walk().offset());
    const auto stride = static_cast<std::size_t>(dst.row(1) - dst.row(0)) / sizeof(float);
    const bool finite = multiply(left, moving, {k, m, n}, {words, stride}, joins, state);
    if (finite && state.watch) state.watch->found_finite();
    if (joins) return;
    for_each_segment(dst, [&](float*, const PsumGroups::Words& which) { state.groups.stamp(which, group); });
    return;
  }
  state.product.resize(m * n);
  multiply(left, moving, {k, m, n}, {state.product.data(), n}, false, state);
  const float* sums = state.product.data();
  for_each_segment(dst, [&](float* words, const PsumGroups::Words& which) {
    joins ? join(words, which, sums, group, state.groups) : store(words, which, sums, group, state.groups);
    sums += which.count;
  });
}

}  // namespace ncemu
