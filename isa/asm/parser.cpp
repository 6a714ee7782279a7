#include "isa/asm/parser.h"

#include <fmt/format.h>

#include <algorithm>

namespace ncemu::language {
namespace {

// Words with a fixed meaning; a source cannot give them another.
bool is_reserved(std::string_view word) {
  constexpr std::string_view words[] = {"and", "or",  "not",     "true", "false",
                                        "inf", "nan", "machine", "wait", "signal"};
  if (std::find(std::begin(words), std::end(words), word) != std::end(words)) return true;
  return find<DType>(word).has_value();
}

}  // namespace

bool is_word(std::string_view text) {
  return find<AluOp>(text) || find<ActivationFunction>(text) || find<TableSet>(text) ||
         find<ReduceCommand>(text) || find<Axes>(text) || find<DgeMode>(text) || find<Comparison>(text) ||
         find<Engine>(text) || find<Space>(text);
}

void parse_source(Sources& sources, std::uint32_t file, Reporter& reporter, Unit& unit) {
  Parser(sources, reporter, unit).parse_kernel(file);
}

const Expression* parse_value(Sources& sources, std::uint32_t file, Reporter& reporter, Unit& unit) {
  return Parser(sources, reporter, unit).parse_single_value(file);
}

// ---- tokens ---------------------------------------------------------------------------------

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token Parser::next() {
  const Token token = peek();
  last_ = token.where;
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  next();
  return true;
}

bool Parser::accept_name(std::string_view word) {
  if (!at_name(word)) return false;
  next();
  return true;
}

std::string Parser::describe(const Token& token) const {
  switch (token.kind) {
    case TokenKind::end_of_file:
    case TokenKind::end_of_line: return "the end of the line";
    default: return fmt::format("'{}'", sources_.text(token.where));
  }
}

void Parser::unexpected(std::string_view expected) const {
  stop(peek().where, fmt::format("expected {}, found {}", expected, describe(peek())));
}

Token Parser::expect(TokenKind kind, std::string_view what) {
  if (!at(kind)) unexpected(what);
  return next();
}

void Parser::expect_word(std::string_view word, std::string_view where) {
  if (!accept_name(word)) unexpected(fmt::format("'{}' {}", word, where));
}

Token Parser::expect_new_name(std::string_view what) {
  const Token name = expect(TokenKind::name, what);
  if (is_reserved(name.text)) {
    stop(name.where, fmt::format("'{}' has a fixed meaning and cannot be {}", name.text, what));
  }
  return name;
}

void Parser::expect_line_end() {
  if (!at_line_end()) unexpected("the end of the line");
}

void Parser::skip_line() {
  while (!at_line_end()) next();
  accept(TokenKind::end_of_line);
}

// ---- names ----------------------------------------------------------------------------------

// Blocks and branches are read, and later executed, by recursion.
void Parser::open_nested() {
  if (++open_blocks_ <= deepest_nesting) return;
  reporter_.error(peek().where, "blocks are nested too deep");
  throw GiveUp{};
}

void Parser::enter(Block& block) {
  open_nested();
  levels_.push_back({&block, {}});
}

void Parser::leave() {
  for (auto i = levels_.back().declared.rbegin(); i != levels_.back().declared.rend(); ++i) {
    const SlotInfo& info = unit_.slots[*i];
    if (info.outer == no_slot) {
      visible_.erase(info.name);
    } else {
      visible_[info.name] = info.outer;
    }
  }
  levels_.pop_back();
  --open_blocks_;
}

// A name of the innermost block. Declared again in the same block (the other branch of an `.if`, or a
// mistake that evaluation finds) it is the same slot.
Slot Parser::declare(const Token& name, SlotInfo::Kind kind) {
  Level& level = levels_.back();
  for (const Slot slot : level.declared) {
    if (unit_.slots[slot].name == name.text) return slot;
  }
  const auto slot = static_cast<Slot>(unit_.slots.size());
  unit_.slots.push_back({name.text, kind, lookup(name.text), name.where});
  visible_[name.text] = slot;
  level.declared.push_back(slot);
  level.block->slots.push_back(slot);
  return slot;
}

Slot Parser::lookup(std::string_view name) const {
  const auto found = visible_.find(name);
  return found == visible_.end() ? no_slot : found->second;
}

std::string Parser::suggest(std::string_view name) const {
  std::vector<std::string_view> candidates;
  for (const auto& [known, slot] : visible_) candidates.push_back(known);
  for (const auto type : names<DType>()) candidates.push_back(type);
  std::sort(candidates.begin(), candidates.end());  // the map's order is nobody's business
  const std::string_view near = did_you_mean(name, candidates);
  return near.empty() ? std::string() : fmt::format("did you mean '{}'?", near);
}

// ---- blocks ---------------------------------------------------------------------------------

void Parser::parse_kernel(std::uint32_t file) {
  enter(unit_.body);
  open_files_.push_back(canonical_path(sources_.file(file).name()));
  parse_tokens_of(file, unit_.body.statements);
  for (const auto& [name, where] : unresolved_calls_) {
    std::vector<std::string_view> candidates;
    for (const Macro& macro : unit_.macros) candidates.push_back(macro.name);
    for (const InstructionInfo& row : all_instructions()) candidates.push_back(row.mnemonic);
    const auto later = macros_.find(name);
    const std::string_view near = did_you_mean(name, candidates);
    if (later != macros_.end()) {
      reporter_.error(where, fmt::format("macro '{}' is called before its definition", name),
                      fmt::format("it is defined in line {}", sources_.location(later->second->where).line));
    } else {
      reporter_.error(where, fmt::format("unknown macro '{}'", name),
                      near.empty() ? std::string() : fmt::format("did you mean '{}'?", near));
    }
  }
  leave();
}

const Expression* Parser::parse_single_value(std::uint32_t file) {
  Block block;
  enter(block);
  tokens_ = tokenize(sources_, file, reporter_);
  const Expression* value = nullptr;
  try {
    value = parse_expression();
    expect_line_end();
  } catch (const Stop& error) {
    reporter_.report(error);
    value = nullptr;
  }
  leave();
  return value;
}

// The statements of a file, as if they stood where its include stands.
void Parser::parse_tokens_of(std::uint32_t file, Statements& out) {
  std::vector<Token> outer_tokens = std::move(tokens_);
  const std::size_t outer_at = at_;
  const Where outer_last = last_;
  tokens_ = tokenize(sources_, file, reporter_);
  at_ = 0;
  parse_statements(out);
  while (!at(TokenKind::end_of_file)) {
    const Where where = join(peek().where, peek(1).where);
    reporter_.error(where, fmt::format("'.{}' without a block to belong to", peek(1).text));
    unit_.structure_is_sound = false;
    skip_line();
    parse_statements(out);
  }
  tokens_ = std::move(outer_tokens);
  at_ = outer_at;
  last_ = outer_last;
}

bool Parser::at_block_end() const {
  if (!at(TokenKind::dot) || peek(1).kind != TokenKind::name) return false;
  const std::string_view word = peek(1).text;
  return word == "end" || word == "else" || word == "elif";
}

// Up to the end of the file or what closes the block.
void Parser::parse_statements(Statements& out) {
  for (;;) {
    while (accept(TokenKind::end_of_line)) {
    }
    if (at(TokenKind::end_of_file) || at_block_end()) return;
    parse_statement(out);
  }
}

Statement& Parser::add(StatementKind kind, Where where, Statements& out) {
  Statement& s = unit_.statements.emplace_back();
  s.kind = kind;
  s.where = where;
  s.number = static_cast<std::uint32_t>(unit_.statements.size());
  out.push_back(&s);
  return s;
}

// One statement; on an error the line is left out, and the names it declares are poisoned.
void Parser::parse_statement(Statements& out) {
  nesting_ = 0;
  const std::size_t before = out.size();
  const std::size_t slots_before = unit_.slots.size();
  try {
    if (at(TokenKind::dot)) {
      parse_directive(out);
    } else {
      parse_plain(out);
    }
  } catch (const Stop& error) {
    reporter_.report(error);
    skip_line();
    if (out.size() == before) add(StatementKind::broken, error.where, out);
    Statement& s = *out.back();
    s.kind = StatementKind::broken;
    for (std::size_t i = slots_before; i < unit_.slots.size(); ++i)
      s.poisoned.push_back(static_cast<Slot>(i));
  }
}

void Parser::parse_header(Statement& statement, const std::function<void()>& header) {
  try {
    header();
    expect_line_end();
  } catch (const Stop& error) {
    reporter_.report(error);
    statement.kind = StatementKind::broken;
    while (!at_line_end()) next();
  }
}

void Parser::parse_body(Block& block, const Statement& opener) {
  parse_statements(block.statements);
  close_block(opener.where, sources_.text(opener.where));
}

void Parser::close_block(Where opener, std::string_view what) {
  while (at_block_end() && peek(1).text != "end") {
    unit_.structure_is_sound = false;
    reporter_.error(join(peek().where, peek(1).where),
                    fmt::format("'.{}' belongs to no '.if'", peek(1).text));
    skip_line();
    Statements unused;  // read for its mistakes, never evaluated
    parse_statements(unused);
  }
  if (at(TokenKind::end_of_file)) {
    unit_.structure_is_sound = false;
    reporter_.error(opener, fmt::format("'{}' is never closed by '.end'", what));
    return;
  }
  next();
  next();
  if (at_line_end()) return;
  reporter_.error(peek().where, fmt::format("expected the end of the line, found {}", describe(peek())));
  while (!at_line_end()) next();
}

void Parser::parse_plain(Statements& out) {
  const Token name = expect(TokenKind::name, "an instruction, a macro call or a directive");
  if (at(TokenKind::colon)) {
    next();
    Statement& s = add(StatementKind::label, name.where, out);
    s.name = name.text;
    return;  // a statement may follow on the same line
  }
  if (at(TokenKind::left_paren) && find_instruction(name.text) == nullptr) {
    parse_macro_call(name, out);
  } else {
    parse_instruction(name, out);
  }
  expect_line_end();
}

void Parser::parse_macro_call(const Token& name, Statements& out) {
  Statement& s = add(StatementKind::macro_call, name.where, out);
  s.name = name.text;
  next();
  s.arguments = parse_arguments();
  const auto found = macros_.find(name.text);
  if (found == macros_.end()) {
    unresolved_calls_.emplace_back(name.text, name.where);
    s.kind = StatementKind::broken;
    return;
  }
  s.macro = found->second;
  const std::size_t wanted = s.macro->parameters.size();
  if (s.arguments.size() != wanted) {
    stop(join(name.where, last_), fmt::format("macro '{}' takes {} argument{}, found {}", name.text, wanted,
                                              wanted == 1 ? "" : "s", s.arguments.size()));
  }
  for (Macro* macro : open_macros_) macro->contains_tiles = macro->contains_tiles || s.macro->contains_tiles;
}

}  // namespace ncemu::language
