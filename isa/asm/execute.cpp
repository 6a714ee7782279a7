// Statements: control flow, macros, and what happens after an error.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isa/asm/evaluator.h"
#include "isa/fault.h"

namespace ncemu::language {
namespace {

// Values a counter takes from `from` by `step` before it reaches `to`.
std::uint64_t iterations(std::int64_t from, std::int64_t to, std::int64_t step) {
  if (step > 0 ? from >= to : from <= to) return 0;
  const auto distance = step > 0 ? static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)
                                 : static_cast<std::uint64_t>(from) - static_cast<std::uint64_t>(to);
  const std::uint64_t size =
      step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return distance / size + (distance % size != 0 ? 1 : 0);
}

// The k-th value of a counter, which is in range because its loop's bounds are.
std::int64_t nth(std::int64_t from, std::int64_t step, std::uint64_t k) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) + static_cast<std::uint64_t>(step) * k);
}

}  // namespace

Evaluator::Evaluator(const Unit& unit, Reporter& reporter, Builder& builder, bool automatic_sync,
                     Limits limits)
    : unit_(unit),
      reporter_(reporter),
      builder_(builder),
      automatic_sync_(automatic_sync),
      limits_(limits),
      machine_name_(builder.target().machine),
      slots_(unit.slots.size()),
      has_failed_(unit.statements.size() + 1, 0),
      sites_(unit.statements.size() + 1),
      keys_(unit.statements.size() + 1) {}

void Evaluator::run() { execute_all(unit_.body.statements); }

void Evaluator::execute_all(const std::vector<Statement*>& statements) {
  for (const Statement* s : statements) execute(*s);
}

// A statement that failed is reported once and left out from then on.
void Evaluator::execute(const Statement& statement) {
  if (has_failed_[statement.number] != 0 || statement.kind == StatementKind::broken) {
    if (statement.slot != no_slot) slots_[statement.slot] = Poison{};
    for (const Slot slot : statement.poisoned) slots_[slot] = Poison{};
    return;
  }
  blame_ = statement.where;
  try {
    charge(statement);
    dispatch(statement);
  } catch (Stop& error) {
    failed(statement, std::move(error));
  } catch (const Fault& fault) {
    if (fault.kind() == FaultKind::internal) throw;
    failed(statement, Stop{blame_, fault.what(), {}, {}, false});
  }
}

void Evaluator::failed(const Statement& statement, Stop error) {
  has_failed_[statement.number] = 1;
  if (statement.slot != no_slot) slots_[statement.slot] = Poison{};
  branch_ = nullptr;
  add_notes(error);
  // What follows a mistake is looked at for more mistakes, not for its result.
  constexpr std::int64_t enough_steps = 2'000'000;
  limits_.steps = std::min(limits_.steps, enough_steps);
  reporter_.report(error);
}

void Evaluator::add_notes(Stop& error) const {
  for (auto f = frames_.rbegin(); f != frames_.rend(); ++f) {
    error.notes.push_back(reporter_.note(
        f->call->where, fmt::format("in the macro '{}', called from here", f->call->macro->name)));
  }
  for (auto from = reporter_.sources().file(error.where.file).included_from(); from && frames_.empty();
       from = reporter_.sources().file(from->file).included_from()) {
    error.notes.push_back(reporter_.note(*from, "included from here"));
  }
}

void Evaluator::charge(const Statement& statement) {
  constexpr std::int64_t steps_between_calls = 4096;
  if (limits_.progress && limits_.steps % steps_between_calls == 0) limits_.progress();
  if (--limits_.steps >= 0) return;
  if (!reporter_.failed()) {
    Stop error{statement.where, "the source runs for too many steps before it ends", {}, {}, false};
    error.hint = "loops that the assembler unrolls belong in '.loop', which runs on the machine";
    add_notes(error);
    reporter_.report(error);
  }
  throw GiveUp{};
}

std::uint32_t Evaluator::include_site(std::uint32_t file) {
  const auto from = reporter_.sources().file(file).included_from();
  if (!from) return no_index;
  const auto known = include_sites_.find(file);
  if (known != include_sites_.end()) return known->second;
  const std::uint32_t parent = include_site(from->file);
  const Location location = reporter_.sources().location(*from);
  builder_.at(location.file, location.line, location.column, parent);
  return include_sites_[file] = builder_.site();
}

// The Program's site of a statement under the current macro calls; made once, then looked up.
std::uint32_t Evaluator::site_of(const Statement& statement) {
  auto& known = sites_[statement.number];
  const std::uint32_t parent = frames_.empty() ? include_site(statement.where.file) : frames_.back().site;
  for (const auto& [p, site] : known) {
    if (p == parent) return site;
  }
  const Location location = reporter_.sources().location(statement.where);
  builder_.at(location.file, location.line, location.column, parent);
  known.emplace_back(parent, builder_.site());
  return builder_.site();
}

void Evaluator::dispatch(const Statement& s) {
  switch (s.kind) {
    case StatementKind::broken:
    case StatementKind::machine:
    case StatementKind::sync:
    case StatementKind::tables: return;  // of the whole file: the assembler looked at them before
    case StatementKind::instruction: return emit(s);
    case StatementKind::macro_call: return execute_call(s);
    case StatementKind::label: return execute_label(s);
    case StatementKind::let: return define(s, evaluate(*s.a));
    case StatementKind::set: return execute_set(s);
    case StatementKind::view: {
      const Value value = evaluate(*s.a);
      return define(s, as_view(*s.a, value));
    }
    case StatementKind::param: return declare_parameter(s);
    case StatementKind::assert_: return execute_assert(s);
    case StatementKind::tile: return declare_tile(s);
    case StatementKind::tensor: return declare_tensor(s);
    case StatementKind::constant: return declare_constant(s);
    case StatementKind::semaphore: return declare_semaphore(s);
    case StatementKind::print: return execute_print(s);
    case StatementKind::for_: return execute_for(s);
    case StatementKind::if_: return execute_if(s);
    case StatementKind::scope: return run_block(s.body, s, s.body.has_tiles);
    case StatementKind::loop: return execute_loop(s);
    case StatementKind::engine: return execute_engine(s);
  }
}

// One execution of a block: its names are new, its tiles live until the end.
void Evaluator::run_block(const Block& block, const Statement& owner, bool opens_scope,
                          const Value* variable) {
  for (const Slot slot : block.slots) slots_[slot] = std::monostate{};
  if (variable != nullptr) slots_[owner.slot] = *variable;
  if (opens_scope) {
    std::string& key = keys_[owner.number];
    if (key.empty()) key = fmt::format("{}", owner.number);
    builder_.open_scope(key);
  }
  if (engine_) labels_.emplace_back();
  execute_all(block.statements);
  if (engine_) close_labels();
  if (opens_scope) builder_.close_scope();
}

void Evaluator::execute_for(const Statement& s) {
  const std::int64_t from = integer(*s.a, "the start of '.for'");
  const std::int64_t to = integer(*s.b, "the end of '.for'");
  const std::int64_t step = s.c == nullptr ? 1 : integer(*s.c, "the step of '.for'");
  if (step == 0) stop(s.c->where, "the step of '.for' is 0");
  const std::uint64_t count = iterations(from, to, step);
  for (std::uint64_t k = 0; k < count; ++k) {
    charge(s);
    const Value variable = nth(from, step, k);
    run_block(s.body, s, s.body.has_tiles, &variable);
  }
}

void Evaluator::execute_if(const Statement& s) {
  for (const IfBranch& branch : s.branches) {
    if (branch.condition != nullptr && !boolean(*branch.condition, "the condition of '.if'")) continue;
    execute_all(branch.statements);
    return;
  }
}

// .loop r = a .. b step s, unroll = n: the machine runs rounds of n iterations; what is left of constant
// bounds follows as straight copies.
void Evaluator::execute_loop(const Statement& s) {
  if (!automatic_sync_) stop(s.where, "'.loop' needs '.sync auto'", "write the branches in '.engine' blocks");
  if (engine_) stop(s.where, "'.loop' inside an '.engine' block", "write its branches there");
  constexpr std::int64_t lowest = std::numeric_limits<std::int32_t>::min(),
                         highest = std::numeric_limits<std::int32_t>::max();
  const std::int64_t step = s.c == nullptr ? 1 : integer_within(*s.c, "the step of '.loop'", 1, highest);
  const std::int64_t unroll = s.d == nullptr ? 1 : integer_within(*s.d, "'unroll'", 1, highest);
  const auto bound = [&](const Expression& e) -> IntOperand {
    const Value v = evaluate(e);
    if (std::holds_alternative<Affine>(v)) {
      if (unroll != 1) stop(e.where, "'unroll' needs constant bounds");
      return as_register(e, v);
    }
    return static_cast<std::int32_t>(integer_within(e, "a bound of '.loop'", lowest, highest));
  };
  const IntOperand from = bound(*s.a);
  const IntOperand to = bound(*s.b);
  builder_.at(site_of(s));
  blame_ = s.where;
  const auto body = [&](const Value& variable) {
    charge(s);
    run_block(s.body, s, s.body.has_tiles, &variable);
  };
  const auto* a = std::get_if<std::int32_t>(&from);
  const auto* b = std::get_if<std::int32_t>(&to);
  if (a == nullptr || b == nullptr) {
    const Register counter = builder_.open_loop(from, to, static_cast<std::int32_t>(step));
    body(Affine{counter, 1, 0});
    builder_.close_loop();
    return;
  }
  const auto count = static_cast<std::int64_t>(iterations(*a, *b, step));
  const std::int64_t whole = count / unroll * unroll;
  if (whole > 0) {
    const std::int64_t end = *a + whole * step;
    if (end > highest || unroll * step > highest) stop(s.where, "the loop's counter does not fit in 32 bits");
    const Register counter =
        builder_.open_loop(*a, static_cast<std::int32_t>(end), static_cast<std::int32_t>(unroll * step));
    for (std::int64_t k = 0; k < unroll; ++k) body(Affine{counter, 1, k * step});
    builder_.close_loop();
  }
  for (std::int64_t k = whole; k < count; ++k) body(*a + k * step);
}

void Evaluator::execute_engine(const Statement& s) {
  if (engine_) stop(s.where, "'.engine' blocks cannot be nested");
  const Engine engine = word<Engine>(*s.a, "the engine");
  builder_.at(site_of(s));
  blame_ = s.where;
  builder_.open_engine(engine);
  engine_ = engine;
  engine_start_ = static_cast<std::uint32_t>(builder_.program().stream(engine).size());
  run_block(s.body, s, s.body.has_tiles);
  engine_.reset();
  builder_.close_engine();
}

void Evaluator::execute_label(const Statement& s) {
  if (!engine_) stop(s.where, fmt::format("label '{}' outside an '.engine' block", s.name));
  auto& labels = labels_.back().labels;
  for (const auto& [name, index] : labels) {
    if (name == s.name) stop(s.where, fmt::format("label '{}' exists already in this block", s.name));
  }
  const auto size = static_cast<std::uint32_t>(builder_.program().stream(*engine_).size());
  labels.emplace_back(s.name, size - engine_start_);
}

// Branches of this block that name one of its labels; the others may mean a label of an enclosing block.
void Evaluator::close_labels() {
  LabelFrame frame = std::move(labels_.back());
  labels_.pop_back();
  for (const Reference& reference : frame.pending) {
    const auto found = std::find_if(frame.labels.begin(), frame.labels.end(),
                                    [&](const auto& label) { return label.first == reference.label; });
    if (found != frame.labels.end()) {
      Instruction& instruction = builder_.program().stream(*engine_)[reference.index];
      for_each_field(instruction.operands, [&](std::string_view, auto& field, Role) {
        if constexpr (std::is_same_v<std::decay_t<decltype(field)>, BranchTarget>)
          field.index = found->second;
      });
    } else if (!labels_.empty()) {
      labels_.back().pending.push_back(reference);
    } else if (unknown_labels_.emplace(reference.where.file, reference.where.offset).second) {
      Stop error{reference.where,
                 fmt::format("no label '{}' in this '.engine' block", reference.label),
                 {},
                 {},
                 false};
      add_notes(error);
      reporter_.report(error);
    }
  }
}

void Evaluator::execute_call(const Statement& s) {
  const Macro& macro = *s.macro;
  if (frames_.size() >= deepest_calls) {
    stop(s.where, fmt::format("macro calls are nested more than {} deep", deepest_calls));
  }
  std::vector<Value> arguments;
  arguments.reserve(s.arguments.size());
  for (const Expression* a : s.arguments) arguments.push_back(evaluate(*a));

  // A macro that calls itself must find its names again afterwards.
  int& active = active_[&macro];
  std::vector<Value> saved;
  if (active > 0) saved.assign(slots_.begin() + macro.first_slot, slots_.begin() + macro.last_slot);
  ++active;
  frames_.push_back({&s, site_of(s)});

  for (const Slot slot : macro.body.slots) slots_[slot] = std::monostate{};
  for (std::size_t i = 0; i < arguments.size(); ++i) slots_[macro.parameters[i]] = arguments[i];
  if (macro.contains_tiles) {
    std::string& key = keys_[s.number];
    if (key.empty()) key = fmt::format("{}", s.number);
    builder_.open_scope(key);
  }
  if (engine_) labels_.emplace_back();
  execute_all(macro.body.statements);
  if (engine_) close_labels();
  if (macro.contains_tiles) builder_.close_scope();

  frames_.pop_back();
  --active_[&macro];
  std::copy(saved.begin(), saved.end(), slots_.begin() + macro.first_slot);
}

void Evaluator::execute_assert(const Statement& s) {
  if (boolean(*s.a, "the condition of '.assert'")) return;
  std::string message = fmt::format("'{}' does not hold", source(*s.a));
  if (s.b != nullptr) {
    const Value text = evaluate(*s.b);
    const auto* t = std::get_if<Text>(&text);
    if (t == nullptr)
      stop(s.b->where, fmt::format("the message of '.assert' must be a string, found {}", describe(text)));
    message = t->text;
  }
  stop(s.a->where, message);
}

void Evaluator::execute_print(const Statement& s) {
  const Value value = evaluate(*s.a);
  const View view = as_view(*s.a, value);
  builder_.at(site_of(s));
  builder_.print(std::string(source(*s.a)), view);
}

void Evaluator::execute_set(const Statement& s) {
  const Value value = evaluate(*s.a);
  slots_[s.slot] = value;
}

}  // namespace ncemu::language
