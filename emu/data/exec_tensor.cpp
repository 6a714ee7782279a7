// The tensor engine: load_stationary and matmul (datasheet 6.1; design: numbers, PSUM groups).

#include <algorithm>
#include <limits>

#include "emu/data/exec.h"
#include "emu/data/matmul_kernel.h"
#include "emu/data/operand.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// All lanes of an operand as fp32, row-major [partition, element].
void read_matrix(const Operand& operand, std::vector<float>& to) {
  to.resize(static_cast<std::size_t>(operand.lanes()) * static_cast<std::size_t>(operand.elements()));
  BlockBytes raw;
  float* out = to.data();
  for_each_block(operand.lanes(), operand.elements(), block_elements, [&](const Block& block) {
    operand.read(block, out, raw);
    out += block.size();
  });
}

void check_float(std::string_view mnemonic, const Operand& operand) {
  if (is_float(operand.dtype())) return;
  throw Fault(FaultKind::program, "", "{}: {} is {}, the tensor engine multiplies floats", mnemonic,
              operand.name(), name(operand.dtype()));
}

void check_shapes(const Operand& dst, const Operand& moving, const Stationary& stationary) {
  if (stationary.k == 0) {
    throw Fault(FaultKind::program, "", "matmul: no load_stationary has run before it");
  }
  check_float("matmul", moving);
  if (is_fp32_like(moving.dtype()) != is_fp32_like(stationary.dtype)) {
    throw Fault(FaultKind::program, "",
                "matmul: moving is {} and the stationary operand {}; f32 and tf32 pair only "
                "with each other",
                name(moving.dtype()), name(stationary.dtype));
  }
  if (moving.lanes() != stationary.k) {
    throw Fault(FaultKind::program, "", "matmul: moving has {} partitions, the stationary operand has {} (k)",
                moving.lanes(), stationary.k);
  }
  if (dst.lanes() != stationary.m) {
    throw Fault(FaultKind::program, "",
                "matmul: dst has {} partitions, the stationary operand has {} columns (m)", dst.lanes(),
                stationary.m);
  }
  if (dst.elements() != moving.elements()) {
    throw Fault(FaultKind::program, "", "matmul: dst has {} elements per partition, moving has {}",
                dst.elements(), moving.elements());
  }
  if (dst.pattern().space != Space::psum || dst.dtype() != DType::f32 || dst.walk().offset() % 4 != 0) {
    throw Fault(FaultKind::program, "", "matmul: dst is {} in {} at byte {}, expected f32 words in psum",
                name(dst.dtype()), name(dst.pattern().space), dst.walk().offset());
  }
}

// visit(words, stamps, sums, count, step in words) for each segment of the destination, in stream order.
template <typename Visit>
void for_each_segment(Operand& dst, State& state, Visit&& visit) {
  const float* sums = state.product.data();
  for (int lane = 0; lane < dst.lanes(); ++lane) {
    std::byte* row = dst.row(lane);
    std::uint32_t* stamps = state.groups.row(static_cast<std::uint32_t>(dst.pattern().partition + lane));
    dst.walk().segments(0, dst.elements(), [&](const Segment& s) {
      visit(reinterpret_cast<float*>(row + s.offset), stamps + s.offset / 4, sums, s.count, s.step / 4);
      sums += s.count;
    });
  }
}

// True when all words carry this stamp: what nearly every segment answers, so it is quick.
bool all_carry(std::uint32_t group, const std::uint32_t* stamps, std::int64_t count, std::int64_t step) {
  if (step != 1) return false;
  std::uint32_t different = 0;
  for (std::int64_t i = 0; i < count; ++i) different |= stamps[i] ^ group;
  return different == 0;
}

// The newest group among the destination's words; 0: none.
std::uint32_t newest_group(Operand& dst, State& state) {
  std::uint32_t newest = 0;
  for_each_segment(
      dst, state,
      [&](float*, const std::uint32_t* stamps, const float*, std::int64_t count, std::int64_t step) {
        if (all_carry(newest, stamps, count, step)) return;
        for (std::int64_t i = 0; i < count; ++i) newest = std::max(newest, stamps[i * step]);
      });
  return newest;
}

void store(float* words, std::uint32_t* stamps, const float* sums, std::int64_t count, std::int64_t step,
           std::uint32_t group) {
  if (step == 1) {
    std::copy_n(sums, count, words);
    std::fill_n(stamps, count, group);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    words[i * step] = sums[i];
    stamps[i * step] = group;
  }
}

// One rounding; a NaN is the one of datasheet 4.4, whatever the host made.
float add(float word, float sum) {
  const float result = word + sum;
  return result == result ? result : std::numeric_limits<float>::quiet_NaN();
}

void add_all(float* __restrict words, const float* __restrict sums, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) words[i] = add(words[i], sums[i]);
}

// Element by element: the first write of a group overwrites, further ones add. A word that the pattern visits
// twice is added to twice.
void join(float* words, std::uint32_t* stamps, const float* sums, std::int64_t count, std::int64_t step,
          std::uint32_t group) {
  if (all_carry(group, stamps, count, step)) return add_all(words, sums, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool member = stamps[i * step] == group;
    words[i * step] = member ? add(words[i * step], sums[i]) : sums[i];
    stamps[i * step] = group;
  }
}

}  // namespace

void exec::load_stationary(const LoadStationary& f, Engine, State& state) {
  const Operand src("load_stationary", "src", f.src, state);
  check_float("load_stationary", src);
  constexpr int columns = 128;  // of the array, doc (datasheet 1.2)
  if (src.elements() > columns) {
    throw Fault(FaultKind::program, "",
                "load_stationary: src has {} elements per partition, the array has {} columns",
                src.elements(), columns);
  }
  Stationary& stationary = state.stationary;
  read_matrix(src, stationary.values);
  stationary.k = src.lanes();
  stationary.m = static_cast<int>(src.elements());
  stationary.dtype = src.dtype();
}

void exec::matmul(const Matmul& f, Engine, State& state) {
  Operand dst("matmul", "dst", f.dst, state);
  const Operand moving("matmul", "moving", f.moving, state);
  const Stationary& stationary = state.stationary;
  check_shapes(dst, moving, stationary);

  const auto k = static_cast<std::size_t>(stationary.k);
  const auto m = static_cast<std::size_t>(stationary.m);
  const auto n = static_cast<std::size_t>(moving.elements());
  read_matrix(moving, state.moving_values);
  state.product.resize(m * n);
  matmul_sum(stationary.values.data(), state.moving_values.data(), k, m, n, state.product.data());

  std::uint32_t group = f.accumulate ? newest_group(dst, state) : 0;
  if (f.accumulate && group == 0 && state.on_event) {
    state.on_event({.kind = DataEvent::Kind::joined_no_group, .partition = dst.pattern().partition});
  }
  const bool joins = group != 0;
  if (!joins) group = state.groups.open();
  for_each_segment(
      dst, state,
      [&](float* words, std::uint32_t* stamps, const float* sums, std::int64_t count, std::int64_t step) {
        joins ? join(words, stamps, sums, count, step, group)
              : store(words, stamps, sums, count, step, group);
      });
}

}  // namespace ncemu
