// Declarations: values, tiles, tensors in HBM, semaphores.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isa/asm/evaluator.h"
#include "isa/fault.h"

namespace ncemu::language {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// A device has tens of GB of HBM; a terabyte is a mistake in a size.
constexpr std::int64_t most_tensor_bytes = std::int64_t{1} << 40;

}  // namespace

// Gives a name its value. A block gives each of its names once.
void Evaluator::define(const Statement& s, const Value& value) {
  Value& slot = slots_[s.slot];
  if (!std::holds_alternative<std::monostate>(slot) && !std::holds_alternative<Poison>(slot)) {
    const Where first = unit_.slots[s.slot].where;
    stop(s.name_where.length > 0 ? s.name_where : s.where,
         fmt::format("'{}' exists already in this block", s.name),
         fmt::format("it was given in line {}", reporter_.sources().location(first).line));
  }
  slot = value;
}

// A parameter's default says what kind of value it takes.
void Evaluator::declare_parameter(const Statement& s) {
  const Value usual = evaluate(*s.a);
  if (!is_number(usual) && !std::holds_alternative<bool>(usual) && !std::holds_alternative<DType>(usual) &&
      !std::holds_alternative<Text>(usual)) {
    stop(s.a->where, fmt::format("a parameter is a number, true or false, a type or a string, found {}",
                                 describe(usual)));
  }
  const auto given = overrides_.find(&s);
  if (given == overrides_.end()) {
    define(s, usual);
    return;
  }
  const Expression& e = *given->second;
  // A bare word that names nothing is a string.
  const Value value = e.kind == ExpressionKind::word ? Value(Text{e.text}) : evaluate(e);
  const bool alike = is_number(usual) ? is_number(value) : usual.index() == value.index();
  if (!alike) {
    stop(e.where, fmt::format("parameter '{}' is {} by default and cannot become {}", s.name, describe(usual),
                              describe(value)));
  }
  define(s, value);
}

std::vector<std::int64_t> Evaluator::shape(const ShapeSyntax& syntax) {
  std::vector<std::int64_t> result;
  if (syntax.dimensions.size() > static_cast<std::size_t>(View::max_rank)) {
    stop(syntax.where, fmt::format("a shape has at most {} dimensions, found {}", View::max_rank,
                                   syntax.dimensions.size()));
  }
  for (const Expression* d : syntax.dimensions) result.push_back(integer_within(*d, "a dimension", 1, most));
  return result;
}

void Evaluator::declare_tile(const Statement& s) {
  const TileSyntax& t = *s.tile;
  TileSpec spec;
  spec.name = std::string(s.name);
  spec.space = t.space;
  spec.dtype = type(*t.shape.type);
  spec.shape = shape(t.shape);
  if (spec.shape.empty()) stop(t.shape.where, fmt::format("tile '{}' needs a partition dimension", s.name));
  const Target& target = builder_.target();
  if (spec.shape[0] > target.partitions) {
    stop(t.shape.dimensions[0]->where,
         fmt::format("tile '{}' has {} partitions; there are {}", s.name, spec.shape[0], target.partitions));
  }
  if (t.array.size() > static_cast<std::size_t>(TileArray::max_rank)) {
    stop(t.array.back()->where,
         fmt::format("an array of tiles has at most {} dimensions", TileArray::max_rank));
  }
  for (const Expression* a : t.array) spec.array.push_back(integer_within(*a, "an array's size", 1, most));
  if (t.buffers != nullptr) {
    spec.buffers = static_cast<std::uint32_t>(integer_within(*t.buffers, "'buffers'", 1, 65535));
  }
  if (t.partition != nullptr) {
    spec.partition =
        static_cast<std::uint32_t>(integer_within(*t.partition, "'partition'", 0, target.partitions - 1));
  }
  if (t.offset != nullptr) {
    spec.offset = static_cast<std::uint32_t>(
        integer_within(*t.offset, "'offset'", 0, std::int64_t{target.sbuf_partition_bytes} - 1));
  }
  if (t.bank != nullptr) {
    spec.offset = target.psum_bank_bytes * static_cast<std::uint32_t>(integer_within(
                                               *t.bank, "'bank'", 0, std::int64_t{target.psum_banks} - 1));
  }
  builder_.at(site_of(s));
  blame_ = s.name_where;
  // One execution per block: the second would be another tile of the same name.
  if (!std::holds_alternative<std::monostate>(slots_[s.slot])) define(s, Poison{});
  const TileRef ref = builder_.tile(spec);
  if (ref.array.empty()) {
    define(s, builder_.view(ref));
    return;
  }
  TileArray array;
  array.ref = &arrays_.emplace_back(ref);
  define(s, array);
}

// Names of tensors are the program's. A macro may be expanded often: its tensors get numbers.
std::string Evaluator::tensor_name(const Statement& s) const {
  const auto& tensors = builder_.program().tensors;
  const auto taken = [&](const std::string& name) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& t) { return t.name == name; });
  };
  std::string name(s.name);
  if (frames_.empty() || s.tensor_kind == TensorKind::input || s.tensor_kind == TensorKind::output ||
      s.tensor_kind == TensorKind::inout) {
    return name;
  }
  for (int n = 2; taken(name); ++n) name = fmt::format("{}_{}", s.name, n);
  return name;
}

void Evaluator::declare_tensor(const Statement& s) {
  const DType dtype = type(*s.shape->type);
  const std::vector<std::int64_t> dims = shape(*s.shape);
  std::int64_t bytes = size_of(dtype);
  for (const std::int64_t d : dims) {
    if (__builtin_mul_overflow(bytes, d, &bytes) || bytes > most_tensor_bytes) {
      stop(s.shape->where, fmt::format("tensor '{}' would take more than a terabyte", s.name));
    }
  }
  blame_ = s.name_where;
  // Scratch memory declared where it is executed again is the same memory.
  const auto known = tensors_.find(&s);
  if (known != tensors_.end() && s.tensor_kind == TensorKind::scratch) {
    const Tensor& tensor = builder_.program().tensors[known->second];
    if (tensor.dtype == dtype && tensor.shape == dims) {
      define(s, View::of_tensor(known->second, dtype, dims));
      return;
    }
  }
  builder_.at(site_of(s));
  tensors_[&s] = static_cast<std::uint16_t>(builder_.program().tensors.size());
  define(s, builder_.tensor(tensor_name(s), s.tensor_kind, dtype, dims));
}

void Evaluator::declare_constant(const Statement& s) {
  const ConstantSyntax& c = *s.constant;
  const DType dtype = type(*c.shape.type);
  const std::vector<std::int64_t> dims = shape(c.shape);
  std::vector<std::byte> data = constant_data(c, dtype, dims);
  blame_ = s.name_where;
  const auto known = tensors_.find(&s);
  if (known != tensors_.end()) {
    const Tensor& tensor = builder_.program().tensors[known->second];
    if (tensor.dtype == dtype && tensor.shape == dims && tensor.data == data) {
      define(s, View::of_tensor(known->second, dtype, dims));
      return;
    }
  }
  builder_.at(site_of(s));
  tensors_[&s] = static_cast<std::uint16_t>(builder_.program().tensors.size());
  define(s, builder_.constant(tensor_name(s), dtype, dims, std::move(data)));
}

// Numbers are handed out once per declaration, in text order.
void Evaluator::declare_semaphore(const Statement& s) {
  const auto known = semaphores_.find(&s);
  std::uint8_t number = 0;
  if (known != semaphores_.end()) {
    number = known->second;
  } else {
    const std::size_t next = static_cast<std::size_t>(sync_semaphores::first_user) + semaphores_.size();
    const std::size_t count = std::min<std::size_t>(builder_.target().semaphores, 256);
    if (next >= count) {
      stop(s.where, fmt::format("no semaphore is left: {} to {} are for '.semaphore'",
                                sync_semaphores::first_user, count - 1));
    }
    number = static_cast<std::uint8_t>(next);
    semaphores_.emplace(&s, number);
    builder_.program().semaphores.push_back({std::string(s.name), number});
  }
  define(s, SemaphoreNumber{number});
}

}  // namespace ncemu::language
