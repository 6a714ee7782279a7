// Instructions: operands of the form's fields, engine, wait and signal.

#include <fmt/format.h>

#include <limits>

#include "isa/asm/evaluator.h"
#include "isa/fault.h"

namespace ncemu::language {

// Gives each field of a form the value the text gives it; fields that are not given keep their default.
class FieldReader {
 public:
  FieldReader(Evaluator& evaluator, const InstructionSyntax& instruction)
      : evaluator_(evaluator), instruction_(instruction) {}

  template <typename T>
  void operator()(std::string_view name, T& field, Role role) {
    const Expression* e = instruction_.fields[next_++];
    if (e != nullptr) {
      name_ = name;
      role_ = role;
      read(*e, field);
    }
    if constexpr (std::is_same_v<T, AccessPattern>) {
      if (role == Role::write) destination_ = field.dtype;
    }
    if constexpr (std::is_same_v<T, AluOp>) operator_ = field;
  }

 private:
  std::string expected(std::string_view what) const {
    return fmt::format("operand '{}' of {} must be {}", name_, instruction_.row->mnemonic, what);
  }
  [[noreturn]] void wrong(const Expression& e, std::string_view what, const Value& found) const {
    stop(e.where, fmt::format("{}, found {}", expected(what), describe(found)));
  }
  // Operands of reductions keep their dimensions: `axes` counts them as they are written.
  bool keeps_rank() const { return instruction_.keeps_rank && role_ == Role::read; }

  void read(const Expression& e, AccessPattern& field) {
    const Value v = evaluator_.evaluate(e);
    evaluator_.blame_ = e.where;
    if (const auto* view = std::get_if<View>(&v)) {
      if (!view->on_chip()) {
        stop(e.where, fmt::format("{}, found {}", expected("in SBUF or PSUM"), describe(v)),
             "dma_copy brings tensors on chip");
      }
      field = view->pattern(keeps_rank());
    } else if (const auto* raw = std::get_if<AccessPattern>(&v)) {
      field = *raw;
    } else {
      unchosen(e, v);
      wrong(e, "a view in SBUF or PSUM", v);
    }
  }

  void read(const Expression& e, std::optional<AccessPattern>& field) {
    field.reset();
    if (!is_none(e)) read(e, field.emplace());
  }

  // [row, column]
  void read(const Expression& e, ArrayPair& field) {
    if (e.kind != ExpressionKind::list || e.arguments.size() != 2)
      stop(e.where, expected("a list of two: [row, column]"));
    const auto number = [&](const Expression& part, std::string_view what) {
      return static_cast<std::uint8_t>(evaluator_.integer_within(part, what, 0, 255));
    };
    field.row = number(*e.arguments[0], "a row of the array");
    field.column = number(*e.arguments[1], "a column of the array");
  }

  // [0, 1, ..., 31]
  void read(const Expression& e, ShuffleMask& field) {
    if (e.kind != ExpressionKind::list || e.arguments.size() != field.source.size()) {
      stop(e.where,
           fmt::format("{}, found {}", expected(fmt::format("a list of {} lanes", field.source.size())),
                       e.kind == ExpressionKind::list ? fmt::format("{} of them", e.arguments.size())
                                                      : "something else"));
    }
    for (std::size_t i = 0; i < field.source.size(); ++i) {
      field.source[i] = static_cast<std::uint8_t>(
          evaluator_.integer_within(*e.arguments[i], fmt::format("lane {} of the mask", i), 0, 255));
    }
  }

  void read(const Expression& e, MemoryOperand& field) {
    const Value v = evaluator_.evaluate(e);
    evaluator_.blame_ = e.where;
    if (const auto* view = std::get_if<View>(&v)) {
      field = view->memory();
    } else if (const auto* pattern = std::get_if<AccessPattern>(&v)) {
      field = *pattern;
    } else if (const auto* hbm = std::get_if<HbmPattern>(&v)) {
      field = *hbm;
    } else {
      unchosen(e, v);
      wrong(e, "a view", v);
    }
  }

  void unchosen(const Expression& e, const Value& v) const {
    if (!std::holds_alternative<TileArray>(v)) return;
    stop(e.where, fmt::format("{}, found {}", expected("one tile"), describe(v)),
         fmt::format("choose one: {}[i]", evaluator_.source(e)));
  }

  // A number, a register, or a [P, 1] view: one value per lane.
  void read(const Expression& e, ScalarOperand& field) {
    if (is_none(e)) {
      field = std::monostate{};
      return;
    }
    const Value v = evaluator_.evaluate(e);
    evaluator_.blame_ = e.where;
    if (const auto* view = std::get_if<View>(&v)) {
      field = view->pointer();
    } else if (const auto* raw = std::get_if<AccessPattern>(&v)) {
      if (raw->elements() != 1 || raw->index.present()) wrong(e, "one value per lane", v);
      field = PointerOperand{raw->space, raw->dtype, raw->partition, raw->offset, raw->place};
    } else if (std::holds_alternative<Affine>(v)) {
      field = evaluator_.as_register(e, v);
    } else if (const auto* integer = std::get_if<std::int64_t>(&v); integer != nullptr && takes_integers()) {
      field = immediate(e, *integer);
    } else if (is_number(v) || std::holds_alternative<FloatBits>(v)) {
      field = evaluator_.single(e, v);
    } else {
      unchosen(e, v);
      wrong(e, "a number, a register or a view of one value per lane", v);
    }
  }

  // Integers stay integers for the bitvec class and where a value fills an integer type.
  bool takes_integers() const {
    if (operator_) return is_bitvec(*operator_);
    const bool fills = instruction_.row->opcode == Opcode::memset ||
                       instruction_.row->opcode == Opcode::tensor_copy_predicated;
    return fills && destination_ && is_integer(*destination_);
  }

  // 32 bits, with or without sign.
  std::int32_t immediate(const Expression& e, std::int64_t value) const {
    if (value < std::numeric_limits<std::int32_t>::min() || value > 0xFFFFFFFF) {
      stop(e.where, fmt::format("{}, found {}", expected("a 32-bit integer"), value));
    }
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  }

  bool is_none(const Expression& e) const { return e.kind == ExpressionKind::word && e.text == "none"; }

  void read(const Expression& e, Register& field) {
    if (is_none(e)) {
      field = Register{};
      return;
    }
    const Value v = evaluator_.evaluate(e);
    if (!std::holds_alternative<Affine>(v)) wrong(e, "a register", v);
    field = evaluator_.as_register(e, v);
  }

  void read(const Expression& e, IntOperand& field) {
    const Value v = evaluator_.evaluate(e);
    if (std::holds_alternative<Affine>(v)) {
      field = evaluator_.as_register(e, v);
    } else if (const auto* integer = std::get_if<std::int64_t>(&v)) {
      field = immediate(e, *integer);
    } else {
      wrong(e, "an integer or a register", v);
    }
  }

  void read(const Expression& e, BranchTarget&) {
    if (!evaluator_.engine_) stop(e.where, "branches are written in '.engine' blocks");
    if (e.text.empty()) stop(e.where, expected("a label"));
    evaluator_.branch_ = &e;
  }

  void read(const Expression& e, bool& field) {
    const Value v = evaluator_.evaluate(e);
    const auto* b = std::get_if<bool>(&v);
    if (b == nullptr) wrong(e, "true or false", v);
    field = *b;
  }

  void read(const Expression& e, float& field) {
    const Value v = evaluator_.evaluate(e);
    if (!is_number(v) && !std::holds_alternative<FloatBits>(v)) wrong(e, "a number", v);
    field = evaluator_.single(e, v);
  }

  // [[step, num], ...], slowest first.
  void read(const Expression& e, AffineDims& field) {
    const auto dimensions = evaluator_.raw_dimensions(e);
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
      const auto [step, count] = dimensions[dimensions.size() - 1 - i];
      if (step < std::numeric_limits<std::int32_t>::min() || step > std::numeric_limits<std::int32_t>::max())
        stop(e.where, fmt::format("a step fits 32 bits, found {}", step));
      if (count < 1 || count > 65535)
        stop(e.where, fmt::format("a count is between 1 and 65535, found {}", count));
      field.dims[i] = {static_cast<std::int32_t>(step), static_cast<std::uint16_t>(count)};
    }
  }

  void read(const Expression& e, DType& field) { field = evaluator_.type(e); }

  template <typename T>
  void read(const Expression& e, T& field) {
    // The usual cases first: naming the operand for a message costs more than reading it.
    if constexpr (std::is_enum_v<T>) {
      const auto found = find<T>(e.text);
      field =
          found ? *found
                : evaluator_.word<T>(e, fmt::format("operand '{}' of {}", name_, instruction_.row->mnemonic));
    } else {
      static_assert(std::is_integral_v<T>, "a field type that the assembler cannot read");
      constexpr std::int64_t lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
      std::int64_t value = 0;
      if (!evaluator_.try_integer(e, value) || value < lowest || value > highest) {
        value = evaluator_.integer_within(e, fmt::format("operand '{}'", name_), lowest, highest);
      }
      field = static_cast<T>(value);
    }
  }

  Evaluator& evaluator_;
  const InstructionSyntax& instruction_;
  std::size_t next_ = 0;
  std::string_view name_;
  Role role_ = Role::value;
  std::optional<AluOp> operator_;  // the last one read: the class of the scalar that follows
  std::optional<DType> destination_;
};

void Evaluator::emit(const Statement& s) {
  const InstructionSyntax& i = *s.instruction;
  if (--limits_.instructions < 0) {
    Stop error{s.where, "the source makes more instructions than a program may have", {}, {}, false};
    error.hint = "loops that the assembler unrolls belong in '.loop', which runs on the machine";
    add_notes(error);
    reporter_.report(error);
    throw GiveUp{};
  }
  std::optional<Engine> engine;
  if (i.engine != nullptr) engine = word<Engine>(*i.engine, "the engine");
  builder_.at(site_of(s));

  Instruction* instruction = nullptr;
  branch_ = nullptr;
  if (i.row->is_dma()) instruction = emit_transfer(i, engine);
  if (instruction == nullptr) {
    Operands operands = default_operands(i.row->opcode);
    if (auto* compute = std::get_if<DmaCompute>(&operands)) compute->sources.resize(count_sources(i));
    for_each_field(operands, FieldReader(*this, i));
    blame_ = s.where;
    if (i.row->is_dma()) complete_raw_transfer(i, operands, engine);
    instruction = &builder_.emit(i.row->opcode, std::move(operands), engine);
  }
  if (branch_ != nullptr) {
    const auto size = static_cast<std::uint32_t>(builder_.program().stream(*engine_).size());
    labels_.back().pending.push_back({size - 1, branch_->text, branch_->where});
    branch_ = nullptr;
  }
  attach(*instruction, i);
}

std::uint8_t Evaluator::semaphore(const Expression* named, const Expression* raw) {
  const std::int64_t last = std::int64_t{builder_.target().semaphores} - 1;
  if (raw != nullptr) return static_cast<std::uint8_t>(integer_within(*raw, "a semaphore's number", 0, last));
  const Value v = evaluate(*named);
  if (const auto* s = std::get_if<SemaphoreNumber>(&v)) return s->number;
  stop(named->where, fmt::format("expected a semaphore, found {}", describe(v)),
       "declare it: .semaphore name");
}

void Evaluator::attach(Instruction& instruction, const InstructionSyntax& i) {
  if (!i.wait && !i.signal) return;
  if (automatic_sync_ && !engine_) {
    stop(i.wait ? i.wait->where : i.signal->where,
         fmt::format("'{}' outside an '.engine' block", i.wait ? "wait" : "signal"),
         "'.sync auto' adds waits and signals itself; '.sync manual' leaves all of them to you");
  }
  const std::int64_t most = builder_.target().semaphore_max;
  if (i.wait) {
    instruction.wait.semaphore = semaphore(i.wait->semaphore, i.wait->raw);
    instruction.wait.condition = i.wait->condition;
    const Value v = evaluate(*i.wait->value);
    if (std::holds_alternative<Affine>(v)) {
      instruction.wait.value_is_register = true;
      instruction.wait.value = as_register(*i.wait->value, v).number;
    } else {
      instruction.wait.value =
          static_cast<std::uint16_t>(integer_within(*i.wait->value, "the value of a wait", 0, most));
    }
  }
  if (i.signal) {
    instruction.update.semaphore = semaphore(i.signal->semaphore, i.signal->raw);
    instruction.update.operation = i.signal->operation;
    instruction.update.when = i.signal->when;
    if (i.signal->value != nullptr) {
      instruction.update.value =
          static_cast<std::uint16_t>(integer_within(*i.signal->value, "the value of a signal", 0, most));
    }
  }
}

}  // namespace ncemu::language
