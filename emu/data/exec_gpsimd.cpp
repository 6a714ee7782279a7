// What gpsimd does across partitions or along a row: tensor_partition_reduce, sequence_bounds,
// nonzero_with_count, topk (datasheet 6.6.9, 6.8.5 to 6.8.7).

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "emu/data/alu.h"
#include "emu/data/exec.h"
#include "emu/data/operand.h"
#include "isa/fault.h"
#include "isa/number.h"

namespace ncemu {
namespace {

// All of one lane, of a 32-bit type.
std::vector<std::uint32_t> read_words(const Operand& operand, int lane) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(operand.elements()));
  operand.read(Block{lane, 1, 0, operand.elements()}, reinterpret_cast<std::byte*>(words.data()));
  return words;
}
void write_words(Operand& operand, int lane, const std::vector<std::uint32_t>& words) {
  operand.write(Block{lane, 1, 0, operand.elements()}, reinterpret_cast<const std::byte*>(words.data()));
}

bool is_f32_or_i32(DType type) { return type == DType::f32 || type == DType::i32; }

void expect_type(std::string_view mnemonic, const Operand& operand, bool right, std::string_view expected) {
  if (right) return;
  throw Fault(FaultKind::program, "", "{}: {} is {}, expected {}", mnemonic, operand.name(),
              name(operand.dtype()), expected);
}

// ---- tensor_partition_reduce ----------------------------------------------------------------

// Lane by lane in ascending order, each with one rounding.
template <typename T, typename Combine, typename Finish>
void reduce_lanes(Operand& dst, const Operand& src, std::int64_t limit, Combine&& combine, Finish&& finish) {
  BlockBytes raw;
  BlockOf<T> result, next;
  for_each_block(1, dst.elements(), limit, [&](const Block& block) {
    const auto of_lane = [&](int lane) { return Block{lane, 1, block.first, block.count}; };
    src.read(of_lane(0), result.data(), raw);
    for (int lane = 1; lane < src.lanes(); ++lane) {
      src.read(of_lane(lane), next.data(), raw);
      combine(result.data(), next.data(), block.size());
    }
    finish(result.data(), block.size());
    dst.write(block, result.data(), raw);
  });
}

}  // namespace

void exec::tensor_partition_reduce(const PartitionReduce& f, Engine, State& state) {
  constexpr std::string_view mnemonic = "tensor_partition_reduce";
  Operand dst(mnemonic, "dst", f.dst, state);
  const Operand src(mnemonic, "src", f.src, state);
  if (dst.lanes() != 1 || dst.elements() != src.elements()) {
    throw Fault(FaultKind::program, "", "{}: dst has {} partitions x {} elements, expected 1 x {}", mnemonic,
                dst.lanes(), dst.elements(), src.elements());
  }
  const std::int64_t limit = overlap(f.dst, f.src) ? 1 : block_elements;
  if (is_bitvec(f.op)) {
    for (const Operand* o : {static_cast<const Operand*>(&dst), &src})
      expect_type(mnemonic, *o, is_integer(o->dtype()), "an integer type");
    const int width = 8 * size_of(src.dtype());
    reduce_lanes<std::uint32_t>(
        dst, src, limit,
        [&](std::uint32_t* r, const std::uint32_t* x, std::size_t n) { apply(f.op, r, x, width, r, n); },
        [](std::uint32_t*, std::size_t) {});
  } else {
    const auto lanes = static_cast<float>(src.lanes());
    reduce_lanes<float>(
        dst, src, limit, [&](float* r, const float* x, std::size_t n) { apply(f.op, r, x, r, n); },
        [&](float* r, std::size_t n) {
          if (f.op == AluOp::average) apply_scalar(AluOp::divide, r, lanes, false, r, n);
        });
  }
  leave_groups(f.dst, state);
}

// ---- sequence_bounds ------------------------------------------------------------------------

void exec::sequence_bounds(const Unary& f, Engine, State& state) {
  Operand dst("sequence_bounds", "dst", f.dst, state);
  const Operand src("sequence_bounds", "src", f.src, state);
  for (const Operand* o : {static_cast<const Operand*>(&dst), &src})
    expect_type("sequence_bounds", *o, is_f32_or_i32(o->dtype()), "f32 or i32");
  const std::int64_t n = src.elements();
  if (dst.lanes() != 1 || src.lanes() != 1 || dst.elements() != 2 * n) {
    throw Fault(
        FaultKind::program, "",
        "sequence_bounds: dst has {} partitions x {} elements, expected 1 x {}: a start and an end for "
        "each of src's {}",
        dst.lanes(), dst.elements(), 2 * n, n);
  }
  const std::vector<std::uint32_t> ids = read_words(src, 0);
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return src.dtype() == DType::i32 ? a == b : std::bit_cast<float>(a) == std::bit_cast<float>(b);
  };
  const auto number = [&](std::int64_t value) {
    return dst.dtype() == DType::i32 ? static_cast<std::uint32_t>(value)
                                     : std::bit_cast<std::uint32_t>(static_cast<float>(value));
  };
  std::vector<std::uint32_t> bounds(static_cast<std::size_t>(2 * n));
  for (std::size_t begin = 0; begin < ids.size();) {
    std::size_t end = begin + 1;
    while (end < ids.size() && same(ids[end], ids[begin])) ++end;
    const bool padding = same(ids[begin], 0);  // the bits of 0 in both types
    for (std::size_t i = begin; i < end; ++i) {
      bounds[i] = number(padding ? n : static_cast<std::int64_t>(begin));
      bounds[ids.size() + i] = number(padding ? -1 : static_cast<std::int64_t>(end));
    }
    begin = end;
  }
  write_words(dst, 0, bounds);
  leave_groups(f.dst, state);
}

// ---- nonzero_with_count ---------------------------------------------------------------------

void exec::nonzero_with_count(const NonzeroWithCount& f, Engine, State& state) {
  Operand dst("nonzero_with_count", "dst", f.dst, state);
  const Operand src("nonzero_with_count", "src", f.src, state);
  expect_type("nonzero_with_count", src, is_f32_or_i32(src.dtype()), "f32 or i32");
  expect_type("nonzero_with_count", dst, dst.dtype() == DType::i32, "i32");
  if (dst.lanes() != src.lanes() || dst.elements() != src.elements() + 1) {
    throw Fault(
        FaultKind::program, "",
        "nonzero_with_count: dst has {} partitions x {} elements, expected {} x {}: src's and the count",
        dst.lanes(), dst.elements(), src.lanes(), src.elements() + 1);
  }
  std::vector<std::uint32_t> found(static_cast<std::size_t>(dst.elements()));
  for (int lane = 0; lane < src.lanes(); lane += NonzeroWithCount::lane_step) {
    const std::vector<std::uint32_t> values = read_words(src, lane);
    std::fill(found.begin(), found.end(), static_cast<std::uint32_t>(f.padding_val));
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool zero = src.dtype() == DType::i32 ? values[i] == 0 : std::bit_cast<float>(values[i]) == 0;
      if (!zero) found[count++] = static_cast<std::uint32_t>(i) + static_cast<std::uint32_t>(f.index_offset);
    }
    found.back() = count;
    write_words(dst, lane, found);
  }
  leave_groups(f.dst, state);
}

// ---- topk -----------------------------------------------------------------------------------

namespace {

struct Candidate {
  float value;
  std::uint32_t index;
};
// By value, NaN below everything; equal values by index, the lower one first.
bool larger(const Candidate& a, const Candidate& b) {
  if (std::isnan(a.value) || std::isnan(b.value))
    return std::isnan(a.value) == std::isnan(b.value) ? a.index < b.index : std::isnan(b.value);
  return a.value != b.value ? a.value > b.value : a.index < b.index;
}
bool ascending(const Candidate& a, const Candidate& b) {
  if (std::isnan(a.value) || std::isnan(b.value))
    return std::isnan(a.value) == std::isnan(b.value) ? a.index < b.index : std::isnan(a.value);
  return a.value != b.value ? a.value < b.value : a.index < b.index;
}

void check(const TopK& f, const Operand& dst, const Operand& indices, const Operand& src) {
  expect_type("topk", dst, dst.dtype() == DType::bf16, "bf16");
  expect_type("topk", src, src.dtype() == DType::bf16, "bf16");
  expect_type("topk", indices, indices.dtype() == DType::u32, "u32");
  check_same_stream("topk", dst, indices);
  if (dst.lanes() != src.lanes() || dst.lanes() % TopK::lanes != 0) {
    throw Fault(FaultKind::program, "",
                "topk: dst has {} partitions and src {}, expected the same multiple of {}", dst.lanes(),
                src.lanes(), TopK::lanes);
  }
  if (f.k < 1 || f.k > f.n || f.n > TopK::lanes * src.elements() || dst.elements() != f.columns()) {
    throw Fault(FaultKind::program, "",
                "topk: k = {} of n = {} does not fit dst with {} elements per partition and src with {}", f.k,
                f.n, dst.elements(), src.elements());
  }
}

}  // namespace

void exec::topk(const TopK& f, Engine, State& state) {
  constexpr std::size_t lanes = TopK::lanes;
  Operand dst("topk", "dst", f.dst, state);
  Operand indices("topk", "indices", f.indices, state);
  const Operand src("topk", "src", f.src, state);
  check(f, dst, indices, src);
  const auto width = static_cast<std::size_t>(src.elements()),
             columns = static_cast<std::size_t>(f.columns());
  std::vector<std::uint16_t> input(lanes * width), values(lanes * columns);
  std::vector<std::uint32_t> places(lanes * columns);
  std::vector<Candidate> candidates(f.n);
  for (int first = 0; first < dst.lanes(); first += TopK::lanes) {
    src.read(Block{first, TopK::lanes, 0, src.elements()}, reinterpret_cast<std::byte*>(input.data()));
    // Element i of a group lies in lane i % 16, column i / 16; results lie in the same way.
    const auto bits = [&](std::uint32_t i) { return input[i % lanes * width + i / lanes]; };
    for (std::uint32_t i = 0; i < f.n; ++i) candidates[i] = {from_bits(DType::bf16, bits(i)), i};
    const auto end = candidates.begin() + f.k;
    std::nth_element(candidates.begin(), end - 1, candidates.end(), larger);
    std::sort(candidates.begin(), end, ascending);
    // What follows the last result in its column is written too, with nothing one could use.
    std::fill(values.begin(), values.end(), std::uint16_t{0xFFFF});
    std::fill(places.begin(), places.end(), 0xFFFFFFFFU);
    for (std::uint32_t j = 0; j < f.k; ++j) {
      const std::uint32_t i = candidates[j].index;
      values[j % lanes * columns + j / lanes] = bits(i);
      places[j % lanes * columns + j / lanes] = i;
    }
    const Block group{first, TopK::lanes, 0, f.columns()};
    dst.write(group, reinterpret_cast<const std::byte*>(values.data()));
    indices.write(group, reinterpret_cast<const std::byte*>(places.data()));
  }
  leave_groups(f.dst, state);
  leave_groups(f.indices, state);
}

}  // namespace ncemu
