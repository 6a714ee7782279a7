// Subscripts, view methods and raw patterns.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "isa/asm/evaluator.h"

namespace ncemu::language {
namespace {

// Elements and offsets beyond this belong to no machine; sums and byte counts below it fit 64 bits.
constexpr std::int64_t most = std::int64_t{1} << 56;

// An index at run time moves the view by steps of its dimension.
void check_reach(const Subscript& s, const Affine& index, std::int64_t step) {
  for (const std::int64_t factor : {index.scale, index.base}) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(factor, step, &reach) || reach > most || reach < -most) {
      stop(s.where, fmt::format("the run-time index r{}*{} + {} reaches beyond any memory", index.reg.number,
                                index.scale, index.base));
    }
  }
}

[[noreturn]] void outside(const Subscript& s, std::string_view name, const View& view, int dimension,
                          std::string what) {
  const std::int64_t size = view.size(dimension);
  stop(s.where, fmt::format("{} is outside dimension {} of '{}', which has size {} ({})", what, dimension,
                            name, size, view.describe()));
}

}  // namespace

Value Evaluator::evaluate_subscript(const Expression& e) {
  const Value base = evaluate(*e.a);
  if (const auto* view = std::get_if<View>(&base)) return subscript(e, *view);
  if (const auto* array = std::get_if<TileArray>(&base)) return choose(e, *array);
  stop(e.a->where, fmt::format("'{}' is {} and has no elements", source(*e.a), describe(base)));
}

// One index of an array of tiles; the last one leaves a tile's view.
Value Evaluator::choose(const Expression& e, TileArray array) {
  const std::vector<std::int64_t>& sizes = array.ref->array;
  const auto dimension = static_cast<std::size_t>(array.chosen);
  const Subscript& s = e.subscripts.front();
  if (e.subscripts.size() != 1 || s.kind != Subscript::Kind::index) {
    stop(e.where,
         fmt::format("'{}' is an array of tiles: choose one first, {}[i][...]", source(*e.a), source(*e.a)));
  }
  std::int64_t index = 0;
  if (!try_integer(*s.first, index)) {
    const Value v = evaluate(*s.first);
    if (const auto* affine = std::get_if<Affine>(&v)) {
      if (array.dynamic >= 0) stop(s.where, "a register can choose only one index of an array of tiles");
      check_reach(s, *affine, std::int64_t{1} << 32);  // a tile's bytes fit 32 bits
      array.dynamic = array.chosen;
      array.index = *affine;
    } else {
      index = integer(*s.first, "the index of an array of tiles");
    }
  }
  if (index < 0 || index >= sizes[dimension]) {
    stop(s.where, fmt::format("index {} is outside array dimension {} of '{}', which has {}", index,
                              dimension, source(*e.a), sizes[dimension]));
  }
  array.at[array.chosen++] = index;
  if (static_cast<std::size_t>(array.chosen) < sizes.size()) return array;
  blame_ = e.where;
  const std::span<const std::int64_t> at(array.at, sizes.size());
  if (array.dynamic < 0) return builder_.view(*array.ref, at);
  return builder_.view(*array.ref, at, array.dynamic, array.index.reg, array.index.scale, array.index.base);
}

View Evaluator::subscript(const Expression& e, View view) {
  const std::size_t rank = static_cast<std::size_t>(view.rank());
  if (e.subscripts.size() > rank) {
    stop(e.subscripts[rank].where,
         fmt::format("'{}' has {} dimension{}, {} subscripts are given ({})", source(*e.a), rank,
                     rank == 1 ? "" : "s", e.subscripts.size(), view.describe()));
  }
  int dimension = 0;
  for (const Subscript& s : e.subscripts) {
    blame_ = s.where;
    if (s.kind != Subscript::Kind::index) {
      view = subscript_range(e, s, view, dimension++);
      continue;
    }
    std::int64_t index = 0;
    if (!try_integer(*s.first, index)) {
      const Value v = evaluate(*s.first);
      if (const auto* affine = std::get_if<Affine>(&v)) {
        blame_ = s.where;
        check_reach(s, *affine, view.dimensions()[static_cast<std::size_t>(dimension)].step);
        view = view.index(dimension, affine->reg, affine->scale, affine->base);
        continue;
      }
      index = integer(*s.first, "an index");
    }
    if (index < 0) stop(s.where, fmt::format("index {}: negative indices are not allowed", index));
    if (index >= view.size(dimension))
      outside(s, source(*e.a), view, dimension, fmt::format("index {}", index));
    view = view.index(dimension, index);
    // The partition of an on-chip view stays, with size 1.
    if (view.on_chip() && dimension == 0) ++dimension;
  }
  return view;
}

// lo:hi:step and lo:+n:step; lo may be an index at run time.
View Evaluator::subscript_range(const Expression& e, const Subscript& s, const View& view, int dimension) {
  if (s.first == nullptr && s.second == nullptr && s.step == nullptr) return view;
  const std::int64_t size = view.size(dimension);
  const std::int64_t step = s.step == nullptr ? 1 : integer_within(*s.step, "the step of a slice", 1, most);
  std::int64_t lo = 0;
  if (s.first != nullptr && !try_integer(*s.first, lo)) {
    const Value v = evaluate(*s.first);
    if (const auto* from = std::get_if<Affine>(&v)) {
      std::int64_t count = 0;
      if (s.kind == Subscript::Kind::length) {
        count = integer(*s.second, "the length of a slice");
      } else if (s.second != nullptr) {
        const Value end = evaluate(*s.second);
        const auto* to = std::get_if<Affine>(&end);
        if (to == nullptr || !(to->reg == from->reg) || to->scale != from->scale) {
          stop(s.where, "a slice at run time has a fixed length", "write lo:+length");
        }
        if (__builtin_sub_overflow(to->base, from->base, &count)) count = -1;
      } else {
        stop(s.where, "a slice at run time has a fixed length", "write lo:+length");
      }
      if (step != 1) stop(s.where, "a slice at run time has no step");
      if (count < 1 || count > size)
        outside(s, source(*e.a), view, dimension, fmt::format("a length of {}", count));
      blame_ = s.where;
      check_reach(s, *from, view.dimensions()[static_cast<std::size_t>(dimension)].step);
      return view.slice(dimension, from->reg, from->scale, from->base, count);
    }
    lo = integer(*s.first, "the start of a slice");
  }
  std::int64_t hi = size;
  if (s.second != nullptr)
    hi = integer(*s.second,
                 s.kind == Subscript::Kind::length ? "the length of a slice" : "the end of a slice");
  if (lo < 0 || (hi < 0 && s.kind == Subscript::Kind::range)) {
    stop(s.where,
         fmt::format("slice {}: negative indices are not allowed", reporter_.sources().text(s.where)));
  }
  if (s.kind == Subscript::Kind::length && __builtin_add_overflow(lo, hi, &hi))
    hi = std::numeric_limits<std::int64_t>::max();
  if (hi > size || lo > size) outside(s, source(*e.a), view, dimension, fmt::format("slice {}:{}", lo, hi));
  if (lo >= hi) stop(s.where, fmt::format("slice {}:{} of '{}' is empty", lo, hi, source(*e.a)));
  return view.slice(dimension, lo, hi, std::min(step, hi - lo));  // a longer step meets no second element
}

Value Evaluator::evaluate_method(const Expression& e) {
  const Value base = evaluate(*e.a);
  const View view = as_view(*e.a, base);
  switch (static_cast<Method>(e.what)) {
    case Method::reshape: {
      std::vector<std::int64_t> shape;
      for (const Expression* a : e.arguments) shape.push_back(integer_within(*a, "a dimension", 1, most));
      blame_ = e.where;
      return view.reshape(shape);
    }
    case Method::permute: {
      std::vector<int> order;
      for (const Expression* a : e.arguments) {
        order.push_back(static_cast<int>(integer_within(*a, "a dimension's number", 0, View::max_rank - 1)));
      }
      blame_ = e.where;
      return view.permute(order);
    }
    case Method::broadcast: {
      const auto dimension =
          static_cast<int>(integer_within(*e.arguments[0], "a dimension's number", 0, View::max_rank - 1));
      const std::int64_t size = integer_within(*e.arguments[1], "the size", 1, most);
      std::int64_t elements = size;
      for (const View::Dimension& d : view.dimensions()) {
        if (__builtin_mul_overflow(elements, d.size, &elements) || elements > most) {
          stop(e.where, fmt::format("a broadcast of {} to {} has more elements than any memory",
                                    view.describe(), size));
        }
      }
      blame_ = e.where;
      return view.broadcast(dimension, size);
    }
    case Method::as: {
      const DType dtype = type(*e.arguments[0]);
      blame_ = e.where;
      return view.as(dtype);
    }
  }
  return view;
}

View Evaluator::as_view(const Expression& e, const Value& value) {
  blame_ = e.where;
  if (const auto* view = std::get_if<View>(&value)) return *view;
  if (const auto* pattern = std::get_if<AccessPattern>(&value)) return View::of_pattern(*pattern);
  if (std::holds_alternative<TileArray>(value)) {
    stop(e.where, fmt::format("'{}' is {}: choose one with [i]", source(e), describe(value)));
  }
  stop(e.where, fmt::format("expected a view, found {}", describe(value)));
}

// A register by itself, without scale and base.
Register Evaluator::as_register(const Expression& e, const Value& value) const {
  if (const auto* affine = std::get_if<Affine>(&value);
      affine != nullptr && affine->scale == 1 && affine->base == 0) {
    return affine->reg;
  }
  stop(e.where, fmt::format("expected a register, found {}", describe(value)));
}

// [[step, num], ...], slowest first.
std::vector<std::array<std::int64_t, 2>> Evaluator::raw_dimensions(const Expression& e) {
  if (e.kind != ExpressionKind::list || e.arguments.size() > 4) {
    stop(e.where, "expected a list of at most four [step, num]");
  }
  std::vector<std::array<std::int64_t, 2>> result;
  for (const Expression* pair : e.arguments) {
    if (pair->kind != ExpressionKind::list || pair->arguments.size() != 2)
      stop(pair->where, "expected [step, num]");
    result.push_back({integer(*pair->arguments[0], "a step"), integer(*pair->arguments[1], "a count")});
  }
  return result;
}

Value Evaluator::evaluate_raw_pattern(const Expression& e) {
  const auto argument = [&](std::size_t i) -> const Expression& { return *e.arguments[i]; };
  AccessPattern p;
  p.space = word<Space>(argument(0), "the memory");
  if (p.space == Space::hbm) stop(argument(0).where, ".ap is a pattern on chip: sbuf or psum");
  p.dtype = type(argument(1));
  p.partition = static_cast<std::uint8_t>(integer_within(argument(2), "the first partition", 0, 127));
  p.partitions = static_cast<std::uint8_t>(integer_within(argument(3), "the partition count", 1, 128));
  p.offset = static_cast<std::uint32_t>(integer_within(argument(4), "the offset", 0, 0xFFFFFFFF));
  const auto dimensions = raw_dimensions(argument(5));
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const auto [step, count] = dimensions[dimensions.size() - 1 - i];
    if (step < -32768 || step > 32767)
      stop(argument(5).where, fmt::format("a step fits 16 bits, found {}", step));
    if (count < 1 || count > 65535)
      stop(argument(5).where, fmt::format("a count is between 1 and 65535, found {}", count));
    p.dims[i] = {static_cast<std::int16_t>(step), static_cast<std::uint16_t>(count)};
  }
  if (e.arguments.size() > 6) {
    p.index = as_register(argument(6), evaluate(argument(6)));
    p.index_step = static_cast<std::int32_t>(integer_within(argument(7), "the index step",
                                                            std::numeric_limits<std::int32_t>::min(),
                                                            std::numeric_limits<std::int32_t>::max()));
  }
  return p;
}

Value Evaluator::evaluate_raw_hbm(const Expression& e) {
  const auto argument = [&](std::size_t i) -> const Expression& { return *e.arguments[i]; };
  constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min(),
                         highest = std::numeric_limits<std::int32_t>::max();
  HbmPattern p;
  const auto& tensors = builder_.program().tensors;
  std::size_t number = 0;
  while (number < tensors.size() && tensors[number].name != argument(0).text) ++number;
  if (number == tensors.size())
    stop(argument(0).where, fmt::format("no tensor is named '{}'", source(argument(0))));
  p.tensor = static_cast<std::uint16_t>(number);
  p.dtype = type(argument(1));
  p.offset = integer_within(argument(2), "the offset", 0, std::numeric_limits<std::int64_t>::max());
  const auto dimensions = raw_dimensions(argument(3));
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const auto [step, count] = dimensions[dimensions.size() - 1 - i];
    if (step < lowest || step > highest)
      stop(argument(3).where, fmt::format("a step fits 32 bits, found {}", step));
    if (count < 1 || count > 0xFFFFFFFF)
      stop(argument(3).where, fmt::format("a count fits 32 bits, found {}", count));
    p.dims[i] = {static_cast<std::int32_t>(step), static_cast<std::uint32_t>(count)};
  }
  if (e.arguments.size() > 4) {
    p.index = as_register(argument(4), evaluate(argument(4)));
    p.index_step = static_cast<std::int32_t>(integer_within(argument(5), "the index step", lowest, highest));
  }
  return p;
}

}  // namespace ncemu::language
