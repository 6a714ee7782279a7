// tensor_reduce: each result is a reduction of consecutive elements of the stream (datasheet 6.6.1).

#include <algorithm>
#include <array>
#include <type_traits>

#include "emu/data/alu.h"
#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

// Elements of one result: the product of the reduced dimensions, the fastest ones.
std::int64_t elements_per_result(const TensorReduce& f) {
  std::int64_t n = 1;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(f.axes); ++i) n *= f.src.dims[i].count;
  return n;
}

void check(const TensorReduce& f, const Operand& dst, const Operand& src, std::int64_t group) {
  if (!is_reduction(f.op)) {
    throw Fault(FaultKind::program, "", "tensor_reduce: {} does not reduce (datasheet 5.1)", name(f.op));
  }
  if (dst.lanes() != src.lanes() || dst.elements() * group != src.elements()) {
    throw Fault(FaultKind::program, "",
                "tensor_reduce: dst has {} partitions x {} elements, expected {} x {}: src has "
                "{} elements, {} takes {} of them for each result",
                dst.lanes(), dst.elements(), src.lanes(), src.elements() / group, src.elements(),
                name(f.axes), group);
  }
  if (!is_bitvec(f.op)) return;
  for (const Operand* operand : {&dst, &src}) {
    if (is_integer(operand->dtype())) continue;
    throw Fault(FaultKind::program, "", "tensor_reduce: {} works on the bits of integers, {} is {}",
                name(f.op), operand->name(), name(operand->dtype()));
  }
  if (f.negate) {
    throw Fault(FaultKind::program, "", "tensor_reduce: negate goes with arithmetic operators, found {}",
                name(f.op));
  }
}

// One result from the elements [first, first + count) of a lane, read a block at a time: the running
// value stands before the next block, so that the order of the operations is that of the stream.
template <typename T>
T reduce_long(AluOp op, const Operand& src, int lane, std::int64_t first, std::int64_t count,
              BlockOf<T>& values, BlockBytes& raw) {
  if constexpr (std::is_same_v<T, float>) {
    if (const float* here = src.floats_in_place(Block{lane, 1, first, count}))
      return reduce(op, here, static_cast<std::size_t>(count));
  }
  std::int64_t n = std::min(count, block_elements);
  src.read(Block{lane, 1, first, n}, values.data(), raw);
  T result = reduce(op, values.data(), static_cast<std::size_t>(n));
  for (std::int64_t done = n; done < count; done += n) {
    n = std::min(count - done, block_elements - 1);
    values.values[0] = result;
    src.read(Block{lane, 1, first + done, n}, values.data() + 1, raw);
    result = reduce(op, values.data(), static_cast<std::size_t>(n) + 1);
  }
  return result;
}

// The sum of each lane, several lanes side by side; `results` begins with the lane's first element.
void add_lanes(Operand& dst, const Operand& src, bool negate) {
  constexpr auto together = static_cast<int>(rows_together);
  constexpr std::int64_t columns = 4 * block_elements / together;
  alignas(64) std::array<float, static_cast<std::size_t>(columns * together)> buffer;
  BlockBytes raw;
  for (int lane = 0; lane < src.lanes(); lane += together) {
    const int lanes = std::min(together, src.lanes() - lane);
    std::array<float, rows_together> sums{};
    src.read(Block{lane, lanes, 0, 1}, sums.data(), raw);
    const auto all = static_cast<std::size_t>(lanes);
    if (const float* here = src.floats_in_place(Block{lane, 1, 1, src.elements() - 1})) {
      add_rows(here, src.row_bytes() / sizeof(float), all, static_cast<std::size_t>(src.elements() - 1),
               sums.data());
    } else {
      for (std::int64_t first = 1; first < src.elements(); first += columns) {
        const std::int64_t n = std::min(columns, src.elements() - first);
        for (int k = 0; k < lanes; ++k)
          src.read(Block{lane + k, 1, first, n}, buffer.data() + k * columns, raw);
        add_rows(buffer.data(), static_cast<std::size_t>(columns), all, static_cast<std::size_t>(n),
                 sums.data());
      }
    }
    if (negate) {
      for (float& sum : sums) sum = -sum;
    }
    dst.write(Block{lane, lanes, 0, 1}, sums.data(), raw);
  }
}

template <typename T, typename Finish>
void run(AluOp op, Operand& dst, const Operand& src, std::int64_t group, bool one_by_one, Finish&& finish) {
  BlockBytes raw;
  BlockOf<T> values, results;
  const std::int64_t limit = one_by_one ? 1 : std::max<std::int64_t>(1, block_elements / group);
  for_each_block(dst.lanes(), dst.elements(), limit, [&](const Block& block) {
    if (group > block_elements) {  // then the block is a single result
      results.values[0] = reduce_long(op, src, block.lane, block.first * group, group, values, raw);
    } else {
      src.read(Block{block.lane, block.lanes, block.first * group, block.count * group}, values.data(), raw);
      for (std::size_t i = 0; i < block.size(); ++i) {
        results.values[i] =
            reduce(op, values.data() + i * static_cast<std::size_t>(group), static_cast<std::size_t>(group));
      }
    }
    finish(results.data(), block.size());
    dst.write(block, results.data(), raw);
  });
}

}  // namespace

void exec::tensor_reduce(const TensorReduce& f, Engine, State& state) {
  Operand dst("tensor_reduce", "dst", f.dst, state);
  const Operand src("tensor_reduce", "src", f.src, state);
  const std::int64_t group = elements_per_result(f);
  check(f, dst, src, group);
  const bool one_by_one = overlap(f.dst, f.src);  // a result may reach elements still to be read
  if (is_bitvec(f.op)) {
    run<std::uint32_t>(f.op, dst, src, group, one_by_one, [](std::uint32_t*, std::size_t) {});
  } else if ((f.op == AluOp::add || f.op == AluOp::average) && dst.elements() == 1 && !one_by_one) {
    add_lanes(dst, src, f.negate);
  } else {
    run<float>(f.op, dst, src, group, one_by_one, [&](float* values, std::size_t count) {
      if (!f.negate) return;
      for (std::size_t i = 0; i < count; ++i) values[i] = -values[i];
    });
  }
  leave_groups(f.dst, state);
}

}  // namespace ncemu
