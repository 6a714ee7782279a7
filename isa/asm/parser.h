#pragma once

// Tokens to trees. Syntax errors are reported and the statement is left out; the rest is parsed on.

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "isa/asm/lexer.h"
#include "isa/asm/report.h"
#include "isa/asm/syntax.h"

namespace ncemu::language {

// Parses the file and what it includes into `unit`.
void parse_source(Sources& sources, std::uint32_t file, Reporter& reporter, Unit& unit);

// Parses a file that holds one expression (the value of a -D option). Names mean themselves.
// Null if it is none, which is reported.
const Expression* parse_value(Sources& sources, std::uint32_t file, Reporter& reporter, Unit& unit);

// True if the text is a word of some enumeration of the instruction set: exp, max, X, static, ...
bool is_word(std::string_view text);

class Parser {
 public:
  Parser(Sources& sources, Reporter& reporter, Unit& unit)
      : sources_(sources), reporter_(reporter), unit_(unit) {}

  void parse_kernel(std::uint32_t file);
  const Expression* parse_single_value(std::uint32_t file);

 private:
  static constexpr int deepest_nesting = 64;
  static constexpr std::uint16_t deepest_tree = 1000;
  static constexpr std::size_t most_files = 1000;
  static constexpr int value_level = 4;  // of parse_binary: what binds tighter than comparisons

  struct Level {
    Block* block;
    std::vector<Slot> declared;
  };
  struct Field {
    std::string_view name;
    bool positional;
    bool required;
    bool is_axes;
    std::string_view expects;
  };
  using Statements = std::vector<Statement*>;

  // ---- tokens
  const Token& peek(std::size_t ahead = 0) const;
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_name(std::string_view word) const { return at(TokenKind::name) && peek().text == word; }
  bool at_line_end() const { return at(TokenKind::end_of_line) || at(TokenKind::end_of_file); }
  Token next();
  bool accept(TokenKind kind);
  bool accept_name(std::string_view word);
  Token expect(TokenKind kind, std::string_view what);
  Token expect_new_name(std::string_view what);
  void expect_word(std::string_view word, std::string_view where);
  void expect_line_end();
  void skip_line();
  [[noreturn]] void unexpected(std::string_view expected) const;
  std::string describe(const Token& token) const;

  // ---- names
  void open_nested();
  void enter(Block& block);
  void leave();
  Slot declare(const Token& name, SlotInfo::Kind kind);
  Slot lookup(std::string_view name) const;
  std::string suggest(std::string_view name) const;

  // ---- blocks and statements
  void parse_statements(Statements& out);
  void parse_statement(Statements& out);
  void parse_directive(Statements& out);
  void parse_plain(Statements& out);
  void parse_body(Block& block, const Statement& opener);
  void close_block(Where opener, std::string_view what);
  Statement& add(StatementKind kind, Where where, Statements& out);
  bool at_block_end() const;
  // Runs `header`, which parses the rest of an opening line; on an error the block becomes broken.
  void parse_header(Statement& statement, const std::function<void()>& header);

  void parse_include(Where where, Statements& out);
  void parse_tokens_of(std::uint32_t file, Statements& out);
  void parse_macro(Where where);
  void parse_if(Where where, Statements& out);
  void parse_for(Where where, Statements& out);
  void parse_loop(Where where, Statements& out);
  void parse_scope(Where where, Statements& out);
  void parse_engine(Where where, Statements& out);
  void parse_binding(Where where, std::string_view directive, Statements& out);
  void parse_set(Where where, Statements& out);
  void parse_tile(Where where, Space space, Statements& out);
  void parse_tensor(Where where, TensorKind kind, Statements& out);
  void parse_constant(Where where, Statements& out);
  void parse_list(ConstantSyntax& constant, std::size_t level);
  void parse_switch(Where where, std::string_view directive, Statements& out);
  std::unique_ptr<ShapeSyntax> parse_shape();

  void parse_macro_call(const Token& name, Statements& out);
  void parse_instruction(const Token& mnemonic, Statements& out);
  void parse_operand(const Token& mnemonic, InstructionSyntax& instruction, const std::vector<Field>& fields,
                     std::size_t& positional);
  void parse_wait(InstructionSyntax& instruction);
  void parse_signal(InstructionSyntax& instruction);
  const std::vector<Field>& fields(const InstructionInfo& row);

  // ---- expressions
  const Expression* parse_expression();
  const Expression* parse_binary(int level);
  const Expression* parse_unary();
  const Expression* parse_postfix(const Expression* base);
  const Expression* parse_primary();
  const Expression* parse_name();
  const Expression* parse_call(const Token& name);
  const Expression* parse_list_expression();
  const Expression* parse_raw();
  const Expression* parse_machine(Where where);
  Subscript parse_subscript();
  std::vector<const Expression*> parse_arguments();
  Expression& make(ExpressionKind kind, Where where);
  const Expression* sealed(Expression& e) const;

  Sources& sources_;
  Reporter& reporter_;
  Unit& unit_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  Where last_;           // of the last token taken
  int nesting_ = 0;      // of the expression being read
  int open_blocks_ = 0;  // with the branches of `.if`
  std::vector<Level> levels_;
  std::unordered_map<std::string_view, Slot> visible_;
  std::unordered_map<std::string_view, Macro*> macros_;
  std::vector<std::pair<std::string_view, Where>> unresolved_calls_;
  std::vector<Macro*> open_macros_;
  std::vector<std::string> open_files_;
  std::unordered_map<const InstructionInfo*, std::vector<Field>> fields_;
};

}  // namespace ncemu::language
