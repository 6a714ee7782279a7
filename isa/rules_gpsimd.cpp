// Rules of the instructions that only gpsimd has.

#include <bit>

#include "isa/rules_context.h"

namespace ncemu::check {
namespace {

constexpr std::int64_t most_indices = 4096;  // of a processor: datasheet 6.8.3
constexpr std::uint32_t fewest_topk = 8;     // datasheet 6.8.7
constexpr std::uint32_t topk_limit = 65536, result_limit = 32768;
constexpr std::int64_t generator_words = 6;  // datasheet 6.9

const OnChip& operand(const Context& c, std::string_view name) {
  for (const OnChip& o : c.on_chip()) {
    if (o.name == name) return o;
  }
  return c.on_chip().front();
}

// Reports the operand unless its type is one of those expected.
void expect_type(Context& c, std::string_view name, std::initializer_list<DType> expected) {
  std::string list;
  for (const DType type : expected) {
    if (operand(c, name).pattern.dtype == type) return;
    list += fmt::format("{}{}", list.empty() ? "" : " or ", ncemu::name(type));
  }
  c.broken(name, "is {}, expected {}", ncemu::name(operand(c, name).pattern.dtype), list);
}

std::int64_t size(const AccessPattern& p) { return elements_of(p); }

}  // namespace

void pattern_values(Context& c) {
  const std::int64_t elements = size(operand(c, "dst").pattern);
  for_each_field(c.instruction.operands, [&](std::string_view field, const auto& value, Role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, AffineDims>) {
      if (elements_of(value) == elements) return;
      c.broken(field, "has {} values, dst has {} elements per partition", elements_of(value), elements);
    }
  });
}

void select_comparison(Context& c) {
  const Comparison cmp = c.operands<AffineSelect>().cmp;
  if (cmp == Comparison::gt || cmp == Comparison::ge || cmp == Comparison::eq || cmp == Comparison::ne)
    return;
  c.broken("cmp", "is {}", name(cmp));
}

void select_fill(Context& c) {
  const ScalarOperand& fill = c.operands<AffineSelect>().on_false;
  if (const auto* i = std::get_if<std::int32_t>(&fill))
    c.broken("on_false", "is the integer {}, expected an f32 value (write {}.0)", *i, *i);
  if (std::holds_alternative<std::monostate>(fill)) c.broken("on_false", "is missing");
  if (std::holds_alternative<PointerOperand>(fill))
    c.broken("on_false", "is a tile, expected a number or a register");
}

void gather_types(Context& c) {
  const DType dst = operand(c, "dst").pattern.dtype, src = operand(c, "src").pattern.dtype;
  if (dst != src) c.broken("src", "is {}, dst is {}", name(src), name(dst));
}

void gather_index(Context& c) {
  const bool local = std::holds_alternative<LocalGather>(c.instruction.operands);
  expect_type(c, "index", {local ? DType::u16 : DType::u32});
}

void gather_elements(Context& c) {
  const auto& g = c.operands<Gather>();
  if (size(g.dst) == size(g.index)) return;
  c.broken("index", "has {} elements per partition, dst has {}", size(g.index), size(g.dst));
}

void gather_run(Context& c) {
  const unsigned run = c.operands<LocalGather>().num_elem_per_idx;
  if (std::has_single_bit(run) && run <= 32) return;
  c.broken("num_elem_per_idx", "is {}", run);
}

void gather_indices(Context& c) {
  const auto& g = c.operands<LocalGather>();
  const std::int64_t there = LocalGather::lanes * size(g.index);
  const std::int64_t valid = g.num_valid_indices != 0 ? g.num_valid_indices : there;
  if (valid > there) c.broken("num_valid_indices", "is {}, 16 lanes of index have {}", valid, there);
  if (valid > most_indices)
    c.broken("num_valid_indices", "is {}, at most {} are possible", valid, most_indices);
}

void local_gather_size(Context& c) {
  const auto& g = c.operands<LocalGather>();
  const std::int64_t valid =
      g.num_valid_indices != 0 ? g.num_valid_indices : LocalGather::lanes * size(g.index);
  if (size(g.dst) == valid * g.num_elem_per_idx) return;
  c.broken("dst", "has {} elements per partition, {} indices of {} elements give {}", size(g.dst), valid,
           g.num_elem_per_idx, valid * g.num_elem_per_idx);
}

void whole_processors(Context& c) {
  const unsigned partitions = operand(c, "dst").pattern.partitions;
  if (partitions % 16 != 0) c.broken("dst", "covers {} partitions", partitions);
}

void partition_operator(Context& c) {
  switch (const AluOp op = c.operands<PartitionReduce>().op) {
    case AluOp::add:
    case AluOp::average:
    case AluOp::max:
    case AluOp::bitwise_and:
    case AluOp::bitwise_or: return;
    default: c.broken("op", "is {}", name(op));
  }
}

void one_partition(Context& c) {
  const bool reduces = std::holds_alternative<PartitionReduce>(c.instruction.operands);
  for (const OnChip& o : c.on_chip()) {
    if (o.pattern.partitions == 1 || (reduces && o.role == Role::read)) continue;
    c.broken(o.name, "covers {} partitions, expected 1", o.pattern.partitions);
  }
}

void segment_types(Context& c) {
  expect_type(c, "src", {DType::f32, DType::i32});
  expect_type(c, "dst", {DType::f32, DType::i32});
}

void bounds_size(Context& c) {
  const auto& u = c.operands<Unary>();
  if (size(u.dst) == 2 * size(u.src)) return;
  c.broken("dst", "has {} elements per partition, expected {} for the {} of src", size(u.dst),
           2 * size(u.src), size(u.src));
}

void nonzero_types(Context& c) {
  expect_type(c, "src", {DType::f32, DType::i32});
  expect_type(c, "dst", {DType::i32});
}

void nonzero_size(Context& c) {
  const auto& n = c.operands<NonzeroWithCount>();
  if (size(n.dst) == size(n.src) + 1) return;
  c.broken("dst", "has {} elements per partition, src has {}", size(n.dst), size(n.src));
}

void topk_types(Context& c) {
  expect_type(c, "src", {DType::bf16});
  expect_type(c, "dst", {DType::bf16});
  expect_type(c, "indices", {DType::u32});
}

void topk_counts(Context& c) {
  const auto& t = c.operands<TopK>();
  if (t.n < fewest_topk || t.n >= topk_limit) c.broken("n", "is {}", t.n);
  if (t.k < 1 || t.k >= result_limit || t.k > t.n) c.broken("k", "is {} with n = {}", t.k, t.n);
}

void topk_size(Context& c) {
  const auto& t = c.operands<TopK>();
  if (TopK::lanes * size(t.src) < t.n)
    c.broken("src", "has {} elements in 16 lanes, n is {}", TopK::lanes * size(t.src), t.n);
  for (const std::string_view field : {"dst", "indices"}) {
    const std::int64_t n = size(operand(c, field).pattern);
    if (n != t.columns())
      c.broken(field, "has {} elements per partition, k = {} takes {}", n, t.k, t.columns());
  }
}

void generator_state(Context& c) {
  const OnChip& o = c.on_chip().front();
  if (o.pattern.dtype != DType::u32) c.broken(o.name, "is {}, expected u32", name(o.pattern.dtype));
  if (size(o.pattern) != generator_words)
    c.broken(o.name, "has {} elements per partition, expected {}", size(o.pattern), generator_words);
}

}  // namespace ncemu::check
