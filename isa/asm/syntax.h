#pragma once

// What the parser makes of a source: blocks of statements and expression trees. A tree is built once
// and evaluated often (a `.for` body runs by the hundred thousand), so names are slots of the
// evaluator and instructions know their row of the table.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isa/asm/source.h"
#include "isa/program.h"

namespace ncemu::language {

using Slot = std::uint32_t;
inline constexpr Slot no_slot = 0xFFFFFFFF;

// A name given by the source. `.if` opens no block, so a slot may be empty when its branch was not taken;
// `outer` is what the name meant before.
struct SlotInfo {
  enum class Kind : std::uint8_t {
    constant,
    counter,
    parameter,
    macro_parameter,
    loop_variable,
    declaration
  };
  std::string_view name;
  Kind kind = Kind::constant;
  Slot outer = no_slot;
  Where where;
};

// clang-format off
enum class ExpressionKind : std::uint8_t {
  integer, real, text, boolean, type, name, word, register_,
  negate, complement, not_,
  or_, and_, equal, not_equal, less, less_equal, greater, greater_equal,
  bit_or, bit_xor, bit_and, shift_left, shift_right, add, subtract, multiply, divide, floor_divide, modulo,
  conditional, call, subscript, method, machine_property, list, raw_pattern, raw_hbm,
};

enum class Function : std::uint8_t { min, max, abs, ceil_div, round_up, log2, sizeof_, bits };
enum class Method : std::uint8_t { reshape, permute, broadcast, as };
enum class MachineProperty : std::uint8_t { name, generation, sbuf_bytes, psum_banks };
// clang-format on

struct Expression;

// One position of a subscript: an index, or lo:hi:step, or lo:+length. Absent parts are null.
struct Subscript {
  enum class Kind : std::uint8_t { index, range, length } kind = Kind::index;
  const Expression* first = nullptr;   // index or lo
  const Expression* second = nullptr;  // hi or length
  const Expression* step = nullptr;
  Where where;
};

struct Expression {
  ExpressionKind kind = ExpressionKind::integer;
  std::uint8_t what = 0;    // Function, Method, MachineProperty or DType
  std::uint16_t depth = 1;  // of the tree, which the parser bounds
  Slot slot = no_slot;      // of names
  Where where;
  Where operator_where;  // of the operator, for errors about both sides
  std::int64_t integer = 0;
  double real = 0;
  float single = 0;
  std::string_view text;  // of names, words and strings
  const Expression* a = nullptr;
  const Expression* b = nullptr;
  const Expression* c = nullptr;
  std::vector<const Expression*> arguments;
  std::vector<Subscript> subscripts;
};

// ---- statements -----------------------------------------------------------------------------

// clang-format off
enum class StatementKind : std::uint8_t {
  broken,  // had a syntax error, which is reported; what it would have declared is poisoned
  instruction, macro_call, label,
  let, set, view, param, assert_, tile, tensor, constant, semaphore, print, machine, sync, tables,
  for_, if_, scope, loop, engine,
};
// clang-format on

struct Statement;

struct Block {
  std::vector<Statement*> statements;
  std::vector<Slot> slots;  // names of this block, emptied whenever it is entered
  bool has_tiles = false;   // declares on-chip memory itself, `.if` branches included
};

struct Macro {
  std::string_view name;
  Where where;
  std::vector<Slot> parameters;
  Slot first_slot = 0, last_slot = 0;  // all names of the macro, inner blocks included
  Block body;
  std::string file;             // where it was defined, to recognise a second include
  bool contains_tiles = false;  // somewhere inside
};

struct WaitClause {
  Where where;
  const Expression* semaphore = nullptr;  // a name, or null: `raw` is S[raw]
  const Expression* raw = nullptr;
  Comparison condition = Comparison::ge;
  const Expression* value = nullptr;
};

struct SignalClause {
  Where where;
  const Expression* semaphore = nullptr;
  const Expression* raw = nullptr;  // S[raw] or E[raw]
  UpdateOperation operation = UpdateOperation::sem_inc;
  const Expression* value = nullptr;  // of the _imm operations
  UpdateWhen when = UpdateWhen::complete;
};

struct InstructionSyntax {
  const InstructionInfo* row = nullptr;
  std::vector<const Expression*> fields;  // by field of the form, in order; null: not given
  const Expression* engine = nullptr;     // engine = or issuer =
  bool keeps_rank = false;                // operands keep their shape as written: the form has axes
  std::optional<WaitClause> wait;
  std::optional<SignalClause> signal;
};

struct ShapeSyntax {
  const Expression* type = nullptr;
  std::vector<const Expression*> dimensions;
  Where where;
};

struct TileSyntax {
  Space space = Space::sbuf;
  std::vector<const Expression*> array;
  ShapeSyntax shape;
  const Expression* buffers = nullptr;
  const Expression* partition = nullptr;
  const Expression* offset = nullptr;
  const Expression* bank = nullptr;
};

// One number of a `.const` list: plain literals are kept as they are, since lists may be long.
struct ListItem {
  enum class Kind : std::uint8_t { integer, real, expression } kind = Kind::integer;
  std::int64_t integer = 0;
  double real = 0;
  float single = 0;
  const Expression* value = nullptr;
  Where where;
};

struct ConstantSyntax {
  enum class Source : std::uint8_t { file, list, bits, eye, iota, fill } source = Source::fill;
  ShapeSyntax shape;
  std::string_view path;
  std::vector<ListItem> items;
  std::vector<std::int64_t> list_shape;  // of a nested list
  const Expression* value = nullptr;     // of fill
  Where value_where;
};

struct IfBranch {
  const Expression* condition = nullptr;  // null: else
  std::vector<Statement*> statements;
};

struct Statement {
  StatementKind kind = StatementKind::broken;
  Where where;
  std::uint32_t number = 0;  // unique, in text order
  std::string_view name;     // what it declares, or the macro called, or the label
  Where name_where;
  Slot slot = no_slot;
  std::vector<Slot> poisoned;  // by a broken statement

  const Expression* a = nullptr;  // the value; from, condition, register start
  const Expression* b = nullptr;  // to; message
  const Expression* c = nullptr;  // step
  const Expression* d = nullptr;  // unroll
  std::vector<const Expression*> arguments;
  std::vector<IfBranch> branches;
  Block body;
  const Macro* macro = nullptr;
  bool flag = false;  // `auto` of .sync and .tables
  TensorKind tensor_kind = TensorKind::input;
  std::unique_ptr<InstructionSyntax> instruction;
  std::unique_ptr<TileSyntax> tile;
  std::unique_ptr<ShapeSyntax> shape;
  std::unique_ptr<ConstantSyntax> constant;
};

// A parsed kernel. Owns its trees; views point into Sources.
struct Unit {
  Block body;
  std::vector<SlotInfo> slots;
  std::deque<Expression> expressions;
  std::deque<Statement> statements;
  std::deque<Macro> macros;
  std::vector<const Statement*> params;
  std::vector<const Statement*> sync_modes, table_modes, machines;
  std::unordered_map<const Expression*, std::string> suggestions;  // for words that name nothing
  bool structure_is_sound = true;                                  // every block closes where it should
};

}  // namespace ncemu::language
