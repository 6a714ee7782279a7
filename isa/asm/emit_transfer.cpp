// Transfers: between views the Builder checks shapes and chooses issuer, queue and mode; raw patterns (`.ap`,
// `.hbm`) are taken as they are.

#include <fmt/format.h>

#include <cmath>

#include "isa/asm/evaluator.h"
#include "isa/fault.h"

namespace ncemu::language {
namespace {

// visit(index in InstructionSyntax::fields, field) for each field of a form.
template <typename Form, typename Visit>
void for_each_slot(Form& form, Visit&& visit) {
  std::size_t k = 0;
  Form::fields(form, [&](std::string_view, auto& field, Role) { visit(k++, field); });
}

template <typename T, typename U>
inline constexpr bool is = std::is_same_v<std::decay_t<T>, U>;

}  // namespace

// How many sources the text gives; none is left out in between.
std::size_t Evaluator::count_sources(const InstructionSyntax& i) {
  std::size_t last = 0;
  const Expression* hole = nullptr;
  bool missing = false;
  DmaCompute widest;
  widest.sources.resize(DmaCompute::most_sources);
  std::size_t source = 0;
  for_each_slot(widest, [&](std::size_t k, auto& field) {
    const Expression* e = i.fields[k];
    if constexpr (is<decltype(field), MemoryOperand>) {
      if (&field == &widest.dst) return;
      ++source;
      if (e == nullptr) {
        missing = true;
        return;
      }
      if (missing && hole == nullptr) hole = e;
      last = source;
    } else if constexpr (is<decltype(field), float>) {
      if (e != nullptr && source > last && hole == nullptr) hole = e;
    }
  });
  if (hole != nullptr)
    stop(hole->where, "the sources of dma_compute are given without gaps, and scales only for those given");
  return last;
}

Route Evaluator::complete_route(const InstructionSyntax& i, const Operands& operands, bool& queue_given,
                                bool& mode_given) {
  Route route;
  std::size_t k = 0;
  for_each_field(operands, [&](std::string_view name, const auto& field, Role) {
    const Expression* e = k < i.fields.size() ? i.fields[k] : nullptr;
    ++k;
    if (e == nullptr) return;
    if constexpr (is<decltype(field), std::uint8_t>) {
      if (name != "queue") return;
      route.queue = static_cast<std::uint8_t>(integer_within(*e, name, 0, 255));
      queue_given = true;
    } else if constexpr (is<decltype(field), DgeMode>) {
      route.mode = word<DgeMode>(*e, "the mode");
      mode_given = true;
    }
  });
  return route;
}

// nullptr: not all sides are views.
Instruction* Evaluator::emit_transfer(const InstructionSyntax& i, std::optional<Engine> issuer) {
  Operands operands = default_operands(i.row->opcode);
  auto* compute = std::get_if<DmaCompute>(&operands);
  if (compute != nullptr) compute->sources.resize(count_sources(i));
  std::vector<View> sides;
  Where where = i.fields[0]->where;
  bool raw = false;
  std::size_t slot = 0;
  for_each_field(operands, [&](std::string_view, auto& field, Role) {
    const Expression* e = i.fields[slot++];
    if constexpr (is<decltype(field), MemoryOperand>) {
      if (raw) return;
      const Value value = evaluate(*e);
      if (const auto* view = std::get_if<View>(&value)) {
        sides.push_back(*view);
        where = join(where, e->where);
      } else {
        raw = true;
      }
    }
  });
  if (raw) return nullptr;

  bool queue_given = false, mode_given = false;
  const Route route = complete_route(i, operands, queue_given, mode_given);
  const auto queue = queue_given ? std::optional(route.queue) : std::nullopt;
  const auto mode = mode_given ? std::optional(route.mode) : std::nullopt;
  if (compute != nullptr) {
    std::vector<ScaledView> sources;
    for (std::size_t n = 1; n < sides.size(); ++n) sources.push_back({sides[n]});
    std::size_t source = 0;
    for_each_slot(*compute, [&](std::size_t k, auto& field) {
      const Expression* e = i.fields[k];
      if constexpr (is<decltype(field), ComputeOp>) {
        if (e != nullptr) field = word<ComputeOp>(*e, "operand 'op' of dma_compute");
      } else if constexpr (is<decltype(field), float>) {
        if (e != nullptr) sources[source].scale = single(*e, evaluate(*e));
        ++source;
      }
    });
    blame_ = where;
    return &builder_.dma_compute(sides[0], sources, compute->op, issuer, queue, mode);
  }
  if (std::holds_alternative<DmaTranspose>(operands)) {
    blame_ = where;
    return &builder_.dma_transpose(sides[0], sides[1], issuer, queue, mode);
  }
  CopyOptions options;
  for_each_slot(std::get<DmaCopy>(operands), [&](std::size_t k, auto& field) {
    const Expression* e = i.fields[k];
    if (e == nullptr) return;
    if constexpr (is<decltype(field), ScalarOperand>) {
      options.index = row_index(*e, sides[0].on_chip() ? sides[0] : sides[1]);
    } else if constexpr (is<decltype(field), Bounds>) {
      options.bounds = word<Bounds>(*e, "operand 'bounds' of dma_copy");
    } else if constexpr (is<decltype(field), bool>) {
      options.accumulate = boolean(*e, "operand 'accumulate' of dma_copy");
    }
  });
  blame_ = where;
  return &builder_.dma_copy(sides[0], sides[1], issuer, queue, mode, options);
}

// One row number for each partition of the tile.
PointerOperand Evaluator::row_index(const Expression& e, const View& tile) {
  const Value value = evaluate(e);
  blame_ = e.where;
  const auto* view = std::get_if<View>(&value);
  if (view == nullptr)
    stop(e.where,
         fmt::format("operand 'index' of dma_copy must be a [P, 1] tile, found {}", describe(value)));
  if (tile.on_chip() && view->size(0) != tile.size(0)) {
    stop(e.where, fmt::format("operand 'index' of dma_copy is {}, the tile {} has {} partitions",
                              view->describe(), tile.describe(), tile.size(0)));
  }
  return view->pointer();
}

// A transfer of raw patterns: the Builder's defaults, as far as they do not depend on views.
void Evaluator::complete_raw_transfer(const InstructionSyntax& i, Operands& operands,
                                      std::optional<Engine>& issuer) {
  bool queue_given = false, mode_given = false;
  complete_route(i, operands, queue_given, mode_given);
  bool dynamic = false, from_hbm = false;
  for_each_field(operands, [&](std::string_view, const auto& field, Role role) {
    if constexpr (is<decltype(field), MemoryOperand>) {
      dynamic = dynamic || std::visit([](const auto& pattern) { return pattern.index.present(); }, field);
      from_hbm = from_hbm || (role == Role::read && std::holds_alternative<HbmPattern>(field));
    } else if constexpr (is<decltype(field), ScalarOperand>) {
      dynamic = dynamic || !std::holds_alternative<std::monostate>(field);
    }
  });
  if (!mode_given && dynamic) {
    stop(i.fields[0]->where, "a transfer of raw patterns with an index needs its mode",
         "add mode = software or mode = hardware");
  }
  if (!issuer) issuer = engine_ ? *engine_ : from_hbm ? Engine::sync : Engine::gpsimd;
  if (queue_given) return;
  const auto queue = static_cast<std::uint8_t>(*issuer);
  std::visit(
      [&](auto& form) {
        if constexpr (requires { form.queue; }) form.queue = queue;
      },
      operands);
}

}  // namespace ncemu::language
