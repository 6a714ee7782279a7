#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "isa/asm/arithmetic.h"
#include "isa/asm/evaluator.h"
#include "isa/asm/parser.h"
#include "isa/fault.h"

namespace ncemu::language {
using Kind = ExpressionKind;

// The common case, without errors: false leaves the work, and the message, to evaluate().
bool Evaluator::try_integer(const Expression& e, std::int64_t& result) const {
  switch (e.kind) {
    case Kind::integer: result = e.integer; return true;
    case Kind::name: {
      const auto* value = std::get_if<std::int64_t>(&slots_[e.slot]);
      if (value != nullptr) result = *value;
      return value != nullptr;
    }
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::floor_divide:
    case Kind::modulo: {
      std::int64_t a = 0, b = 0;
      if (!try_integer(*e.a, a) || !try_integer(*e.b, b)) return false;
      if (e.kind == Kind::add) return !__builtin_add_overflow(a, b, &result);
      if (e.kind == Kind::subtract) return !__builtin_sub_overflow(a, b, &result);
      if (e.kind == Kind::multiply) return !__builtin_mul_overflow(a, b, &result);
      if (b <= 0) return false;
      result = e.kind == Kind::modulo ? floor_modulo(a, b) : floor_divide(a, b);
      return true;
    }
    default: return false;
  }
}

Value Evaluator::evaluate(const Expression& e) {
  switch (e.kind) {
    case Kind::integer: return e.integer;
    case Kind::real: return e.real;
    case Kind::text: return Text{e.text};
    case Kind::boolean: return e.integer != 0;
    case Kind::type: return static_cast<DType>(e.what);
    case Kind::name: return evaluate_name(e);
    case Kind::word: return evaluate_word(e);
    case Kind::register_: return Affine{Register{static_cast<std::uint8_t>(e.integer)}, 1, 0};
    case Kind::negate:
    case Kind::complement: return unary_operation(e, evaluate(*e.a));
    case Kind::not_: return !boolean(*e.a, "'not'");
    case Kind::or_: return boolean(*e.a, "'or'") || boolean(*e.b, "'or'");
    case Kind::and_: return boolean(*e.a, "'and'") && boolean(*e.b, "'and'");
    case Kind::equal:
    case Kind::not_equal:
    case Kind::less:
    case Kind::less_equal:
    case Kind::greater:
    case Kind::greater_equal:
    case Kind::bit_or:
    case Kind::bit_xor:
    case Kind::bit_and:
    case Kind::shift_left:
    case Kind::shift_right:
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::divide:
    case Kind::floor_divide:
    case Kind::modulo: return evaluate_binary(e);
    case Kind::conditional: return evaluate(boolean(*e.a, "the condition of '?'") ? *e.b : *e.c);
    case Kind::call: return evaluate_call(e);
    case Kind::subscript: return evaluate_subscript(e);
    case Kind::method: return evaluate_method(e);
    case Kind::machine_property: return evaluate_machine(e);
    case Kind::list: stop(e.where, "a list is not a value here");
    case Kind::raw_pattern: return evaluate_raw_pattern(e);
    case Kind::raw_hbm: return evaluate_raw_hbm(e);
  }
  throw Fault(FaultKind::internal, "ncemu", "no expression of kind {}", static_cast<int>(e.kind));
}

Value Evaluator::evaluate_name(const Expression& e) {
  for (Slot slot = e.slot; slot != no_slot; slot = unit_.slots[slot].outer) {
    const Value& value = slots_[slot];
    if (std::holds_alternative<std::monostate>(value)) continue;
    if (std::holds_alternative<Poison>(value)) throw Stop{e.where, {}, {}, {}, true};
    return value;
  }
  stop(e.where, fmt::format("'{}' has no value here", e.text),
       fmt::format("line {} gives it one, in a branch that was not taken or later",
                   reporter_.sources().location(unit_.slots[e.slot].where).line));
}

Value Evaluator::evaluate_word(const Expression& e) {
  if (is_word(e.text)) return Text{e.text};
  const auto hint = unit_.suggestions.find(&e);
  stop(e.where, fmt::format("unknown name '{}'", e.text),
       hint == unit_.suggestions.end() ? std::string() : hint->second);
}

Value Evaluator::evaluate_binary(const Expression& e) {
  std::int64_t quick = 0;
  if (try_integer(e, quick)) return quick;
  const Value a = evaluate(*e.a);
  return binary_operation(e, a, evaluate(*e.b));
}

Value Evaluator::evaluate_machine(const Expression& e) const {
  const Target& target = builder_.target();
  switch (static_cast<MachineProperty>(e.what)) {
    case MachineProperty::name: return Text{machine_name_};
    case MachineProperty::generation: return std::int64_t{target.generation};
    case MachineProperty::sbuf_bytes: return std::int64_t{target.sbuf_partition_bytes};
    case MachineProperty::psum_banks: return std::int64_t{target.psum_banks};
  }
  throw Fault(FaultKind::internal, "ncemu", "no machine property {}", e.what);
}

Value Evaluator::evaluate_call(const Expression& e) {
  const auto argument = [&](std::size_t i) -> const Expression& { return *e.arguments[i]; };
  const auto number = [&](const Expression& a) {
    const Value v = evaluate(a);
    if (!is_number(v)) stop(a.where, fmt::format("'{}' needs numbers, found {}", e.text, describe(v)));
    return v;
  };
  switch (static_cast<Function>(e.what)) {
    case Function::min:
    case Function::max: {
      const bool greatest = static_cast<Function>(e.what) == Function::max;
      Value best = number(argument(0));
      bool real = std::holds_alternative<double>(best);
      for (std::size_t i = 1; i < e.arguments.size(); ++i) {
        const Value v = number(argument(i));
        real = real || std::holds_alternative<double>(v);
        const auto *x = std::get_if<std::int64_t>(&v), *y = std::get_if<std::int64_t>(&best);
        const bool less = x && y ? *x < *y : as_double(v) < as_double(best);
        const bool more = x && y ? *x > *y : as_double(v) > as_double(best);
        if (greatest ? more : less) best = v;
      }
      if (real) return as_double(best);
      return best;
    }
    case Function::abs: {
      const Value v = number(argument(0));
      if (const auto* real = std::get_if<double>(&v)) return std::abs(*real);
      const std::int64_t i = std::get<std::int64_t>(v);
      if (i == std::numeric_limits<std::int64_t>::min()) overflow(e);
      return i < 0 ? -i : i;
    }
    case Function::ceil_div:
    case Function::round_up: {
      const std::int64_t a = integer(argument(0), "the first argument");
      const std::int64_t b =
          integer_within(argument(1), "the divisor", 1, std::numeric_limits<std::int64_t>::max());
      const std::int64_t quotient = floor_divide(a, b) + (a % b != 0 ? 1 : 0);
      std::int64_t result = quotient;
      if (static_cast<Function>(e.what) == Function::round_up && __builtin_mul_overflow(quotient, b, &result))
        overflow(e);
      return result;
    }
    case Function::log2: {
      const Value v = number(argument(0));
      if (const auto* real = std::get_if<double>(&v)) {
        if (!(*real > 0)) stop(argument(0).where, fmt::format("log2 of {}", *real));
        return std::log2(*real);
      }
      const std::int64_t i = std::get<std::int64_t>(v);
      if (i < 1 || (i & (i - 1)) != 0) {
        stop(argument(0).where, fmt::format("log2 of {}, which is not a power of two", i),
             "write a number with a point for the real logarithm");
      }
      return std::int64_t{std::countr_zero(static_cast<std::uint64_t>(i))};
    }
    case Function::sizeof_: return std::int64_t{size_of(type(argument(0)))};
    case Function::bits:
      return FloatBits{
          static_cast<std::uint32_t>(integer_within(argument(0), "the bit pattern", 0, 0xFFFFFFFF))};
  }
  throw Fault(FaultKind::internal, "ncemu", "no function {}", e.what);
}

// ---- values of a wanted kind ----------------------------------------------------------------

std::int64_t Evaluator::integer(const Expression& e, std::string_view what) {
  std::int64_t result = 0;
  if (try_integer(e, result)) return result;
  const Value v = evaluate(e);
  if (const auto* i = std::get_if<std::int64_t>(&v)) return *i;
  stop(e.where, fmt::format("{} must be an integer, found {}", what, describe(v)));
}

std::int64_t Evaluator::integer_within(const Expression& e, std::string_view what, std::int64_t lowest,
                                       std::int64_t highest) {
  const std::int64_t v = integer(e, what);
  if (v >= lowest && v <= highest) return v;
  if (highest == std::numeric_limits<std::int64_t>::max()) {
    stop(e.where, fmt::format("{} must be at least {}, found {}", what, lowest, v));
  }
  stop(e.where, fmt::format("{} must be between {} and {}, found {}", what, lowest, highest, v));
}

bool Evaluator::boolean(const Expression& e, std::string_view what) {
  const Value v = evaluate(e);
  if (const auto* b = std::get_if<bool>(&v)) return *b;
  stop(e.where, fmt::format("{} needs true or false, found {}", what, describe(v)),
       is_number(v) ? "compare it: x != 0" : "");
}

DType Evaluator::type(const Expression& e) {
  const Value v = evaluate(e);
  if (const auto* t = std::get_if<DType>(&v)) return *t;
  stop(e.where, fmt::format("expected a type, found {}", describe(v)));
}

void Evaluator::stop_word(const Expression& e, std::string_view what, std::string found,
                          std::span<const std::string_view> words) const {
  const std::string_view near = did_you_mean(e.text, {words.begin(), words.end()});
  std::string all;
  for (const std::string_view w : words) all += fmt::format("{}{}", all.empty() ? "" : ", ", w);
  stop(e.where, fmt::format("{} cannot be {}", what, found.empty() ? fmt::format("'{}'", e.text) : found),
       near.empty() ? fmt::format("it is one of {}", all) : fmt::format("did you mean '{}'?", near));
}

// A number as an fp32 immediate. Literals are rounded once, from their decimal text.
float Evaluator::single(const Expression& e, const Value& value) {
  if (e.kind == Kind::real) return e.single;
  if (e.kind == Kind::negate && e.a->kind == Kind::real) return -e.a->single;
  if (const auto* bits = std::get_if<FloatBits>(&value)) return std::bit_cast<float>(bits->bits);
  if (const auto* i = std::get_if<std::int64_t>(&value)) return static_cast<float>(*i);
  if (const auto* d = std::get_if<double>(&value)) {
    if (std::isfinite(*d) && std::abs(*d) > 3.4028235677973366e38) {
      stop(e.where, fmt::format("{} is too large for fp32", *d));
    }
    return static_cast<float>(*d);
  }
  stop(e.where, fmt::format("expected a number, found {}", describe(value)));
}

}  // namespace ncemu::language
