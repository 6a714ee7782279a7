#pragma once

// Runs a parsed kernel at assembly time: statements in text order, loops unrolled, macros expanded;
// what remains are calls of the Builder.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "isa/asm/report.h"
#include "isa/asm/syntax.h"
#include "isa/asm/value.h"
#include "isa/builder.h"

namespace ncemu::language {

struct Limits {
  std::int64_t steps = 0;          // statements executed, instructions and iterations included
  std::int64_t instructions = 0;   // emitted
  std::function<void()> progress;  // may be empty
};

class Evaluator {
 public:
  Evaluator(const Unit& unit, Reporter& reporter, Builder& builder, bool automatic_sync, Limits limits);

  // -D: the value instead of the parameter's default.
  void override_parameter(const Statement& param, const Expression& value) { overrides_[&param] = &value; }
  // Executes everything. Throws GiveUp after too many errors or steps.
  void run();

 private:
  friend class FieldReader;

  struct Frame {  // a macro call in progress
    const Statement* call;
    std::uint32_t site;
  };
  struct Reference {      // a branch whose label has not been met
    std::uint32_t index;  // in the engine's stream
    std::string_view label;
    Where where;
  };
  struct LabelFrame {
    std::vector<std::pair<std::string_view, std::uint32_t>> labels;
    std::vector<Reference> pending;
  };
  static constexpr std::size_t deepest_calls = 64;

  // ---- statements (execute.cpp)
  void execute_all(const std::vector<Statement*>& statements);
  void execute(const Statement& statement);
  void dispatch(const Statement& statement);
  void run_block(const Block& block, const Statement& owner, bool opens_scope,
                 const Value* variable = nullptr);
  void failed(const Statement& statement, Stop error);
  void add_notes(Stop& error) const;
  void charge(const Statement& statement);
  std::uint32_t site_of(const Statement& statement);
  std::uint32_t include_site(std::uint32_t file);
  void execute_for(const Statement& s);
  void execute_if(const Statement& s);
  void execute_loop(const Statement& s);
  void execute_engine(const Statement& s);
  void execute_call(const Statement& s);
  void execute_label(const Statement& s);
  void execute_assert(const Statement& s);
  void execute_print(const Statement& s);
  void execute_set(const Statement& s);
  void close_labels();

  // ---- declarations (declare.cpp)
  void define(const Statement& s, const Value& value);
  void declare_parameter(const Statement& s);
  void declare_tile(const Statement& s);
  void declare_tensor(const Statement& s);
  void declare_constant(const Statement& s);
  void declare_semaphore(const Statement& s);
  std::vector<std::int64_t> shape(const ShapeSyntax& syntax);
  std::string tensor_name(const Statement& s) const;
  std::vector<std::byte> constant_data(const ConstantSyntax& c, DType dtype,
                                       const std::vector<std::int64_t>& dims);

  // ---- instructions (emit.cpp, emit_transfer.cpp)
  void emit(const Statement& s);
  Instruction* emit_transfer(const InstructionSyntax& i, std::optional<Engine> issuer);
  void complete_raw_transfer(const InstructionSyntax& i, Operands& operands, std::optional<Engine>& issuer);
  Route complete_route(const InstructionSyntax& i, const Operands& operands, bool& queue_given,
                       bool& mode_given);
  std::size_t count_sources(const InstructionSyntax& i);
  PointerOperand row_index(const Expression& e, const View& tile);
  void attach(Instruction& instruction, const InstructionSyntax& i);
  std::uint8_t semaphore(const Expression* named, const Expression* raw);

  // ---- expressions (evaluate.cpp, views.cpp)
  Value evaluate(const Expression& e);
  Value evaluate_name(const Expression& e);
  Value evaluate_word(const Expression& e);
  Value evaluate_binary(const Expression& e);
  Value evaluate_call(const Expression& e);
  Value evaluate_machine(const Expression& e) const;
  bool try_integer(const Expression& e, std::int64_t& result) const;
  std::int64_t integer(const Expression& e, std::string_view what);
  std::int64_t integer_within(const Expression& e, std::string_view what, std::int64_t lowest,
                              std::int64_t highest);
  bool boolean(const Expression& e, std::string_view what);
  DType type(const Expression& e);
  float single(const Expression& e, const Value& value);
  template <typename E>
  E word(const Expression& e, std::string_view what);
  [[noreturn]] void stop_word(const Expression& e, std::string_view what, std::string found,
                              std::span<const std::string_view> words) const;

  Value evaluate_subscript(const Expression& e);
  Value choose(const Expression& e, TileArray array);
  View subscript(const Expression& e, View view);
  View subscript_range(const Expression& e, const Subscript& s, const View& view, int dimension);
  Value evaluate_method(const Expression& e);
  Value evaluate_raw_pattern(const Expression& e);
  Value evaluate_raw_hbm(const Expression& e);
  std::vector<std::array<std::int64_t, 2>> raw_dimensions(const Expression& e);
  View as_view(const Expression& e, const Value& value);
  Register as_register(const Expression& e, const Value& value) const;
  std::string_view source(const Expression& e) const { return reporter_.sources().text(e.where); }

  const Unit& unit_;
  Reporter& reporter_;
  Builder& builder_;
  bool automatic_sync_;
  Limits limits_;
  std::string machine_name_;
  std::vector<Value> slots_;
  std::vector<char> has_failed_;  // statements that failed once are left out afterwards
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      sites_;  // of each statement: (parent, site)
  std::map<std::uint32_t, std::uint32_t> include_sites_;
  std::vector<std::string> keys_;  // of each statement as a block of the Builder
  std::vector<Frame> frames_;
  std::unordered_map<const Macro*, int> active_;
  std::map<const Statement*, const Expression*> overrides_;
  std::map<const Statement*, std::uint16_t> tensors_;  // what a constant or scratch declaration made
  std::map<const Statement*, std::uint8_t> semaphores_;
  std::deque<TileRef> arrays_;
  std::vector<LabelFrame> labels_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> unknown_labels_;  // places reported already
  std::optional<Engine> engine_;                                      // of the `.engine` block
  std::uint32_t engine_start_ = 0;                                    // its first index in the stream
  const Expression* branch_ = nullptr;  // the label of the instruction being read
  Where blame_;                         // where a Fault of a view or the Builder belongs
};

// A word of the enumeration, by the operand's type first: `op = max` works although max is also a function.
template <typename E>
E Evaluator::word(const Expression& e, std::string_view what) {
  if (!e.text.empty()) {
    if (const auto found = find<E>(e.text)) return *found;
  }
  if (e.kind != ExpressionKind::word) {
    const Value v = evaluate(e);
    if (const auto* text = std::get_if<Text>(&v)) {
      if (const auto found = find<E>(text->text)) return *found;
    }
    stop_word(e, what, describe(v), names<E>());
  }
  stop_word(e, what, {}, names<E>());
}

}  // namespace ncemu::language
