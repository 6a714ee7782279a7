#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "isa/asm/parser.h"

namespace ncemu::language {
namespace {

using Kind = ExpressionKind;

struct Operator {
  TokenKind token;
  std::string_view word;  // of `or` and `and`
  int level;
  Kind kind;
};
// Python's precedence, loosest first.
constexpr int comparison_level = 3;
constexpr int unary_level = 9;
// clang-format off
constexpr Operator operators[] = {
  {TokenKind::name,          "or",  0, Kind::or_},
  {TokenKind::name,          "and", 1, Kind::and_},
  {TokenKind::equal,         "",    3, Kind::equal},
  {TokenKind::not_equal,     "",    3, Kind::not_equal},
  {TokenKind::less,          "",    3, Kind::less},
  {TokenKind::less_equal,    "",    3, Kind::less_equal},
  {TokenKind::greater,       "",    3, Kind::greater},
  {TokenKind::greater_equal, "",    3, Kind::greater_equal},
  {TokenKind::bar,           "",    4, Kind::bit_or},
  {TokenKind::caret,         "",    5, Kind::bit_xor},
  {TokenKind::ampersand,     "",    6, Kind::bit_and},
  {TokenKind::shift_left,    "",    7, Kind::shift_left},
  {TokenKind::shift_right,   "",    7, Kind::shift_right},
  {TokenKind::plus,          "",    8, Kind::add},
  {TokenKind::minus,         "",    8, Kind::subtract},
  {TokenKind::star,          "",    9, Kind::multiply},
  {TokenKind::slash,         "",    9, Kind::divide},
  {TokenKind::floor_slash,   "",    9, Kind::floor_divide},
  {TokenKind::percent,       "",    9, Kind::modulo},
};
struct FunctionRow {
  std::string_view name;
  Function function;
  std::size_t fewest, most;
};
constexpr FunctionRow functions[] = {
  {"min",      Function::min,      1, 64}, {"max",      Function::max,      1, 64},
  {"abs",      Function::abs,      1, 1},  {"ceil_div", Function::ceil_div, 2, 2},
  {"round_up", Function::round_up, 2, 2},  {"log2",     Function::log2,     1, 1},
  {"sizeof",   Function::sizeof_,  1, 1},  {"bits",     Function::bits,     1, 1},
};
struct MethodRow {
  std::string_view name;
  Method method;
};
constexpr MethodRow methods[] = {{"reshape", Method::reshape}, {"permute", Method::permute},
                                 {"broadcast", Method::broadcast}, {"as", Method::as}};
struct PropertyRow {
  std::string_view name;
  MachineProperty property;
};
constexpr PropertyRow properties[] = {{"name", MachineProperty::name}, {"generation", MachineProperty::generation},
                                      {"sbuf_bytes", MachineProperty::sbuf_bytes},
                                      {"psum_banks", MachineProperty::psum_banks}};
// clang-format on

// r0 .. r63; -1 for anything else.
int register_number(std::string_view text) {
  if (text.size() < 2 || text.size() > 3 || text[0] != 'r' || (text[1] == '0' && text.size() > 2)) return -1;
  int number = 0;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9') return -1;
    number = number * 10 + (c - '0');
  }
  return number < 64 ? number : -1;
}

const Operator* find_operator(const Token& token, int level) {
  for (const Operator& o : operators) {
    if (o.level == level && o.token == token.kind && (o.word.empty() || o.word == token.text)) return &o;
  }
  return nullptr;
}

template <typename Rows>
std::string suggest_row(std::string_view name, const Rows& rows) {
  std::vector<std::string_view> candidates;
  for (const auto& row : rows) candidates.push_back(row.name);
  const std::string_view near = did_you_mean(name, candidates);
  if (!near.empty()) return fmt::format("did you mean '{}'?", near);
  std::string all;
  for (const std::string_view c : candidates) all += fmt::format("{}{}", all.empty() ? "" : ", ", c);
  return "known: " + all;
}

template <typename Row, std::size_t n>
const Row* find_row(std::string_view name, const Row (&rows)[n]) {
  const auto found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.name == name; });
  return found == std::end(rows) ? nullptr : &*found;
}

}  // namespace

Expression& Parser::make(ExpressionKind kind, Where where) {
  Expression& e = unit_.expressions.emplace_back();
  e.kind = kind;
  e.where = where;
  return e;
}

// Completes a node: where it ends and how deep it is, so that no evaluation runs out of stack.
const Expression* Parser::sealed(Expression& e) const {
  e.where = join(e.where, last_);
  std::uint16_t depth = 0;
  const auto look = [&](const Expression* child) {
    if (child != nullptr) depth = std::max(depth, child->depth);
  };
  look(e.a);
  look(e.b);
  look(e.c);
  for (const Expression* child : e.arguments) look(child);
  for (const Subscript& s : e.subscripts) {
    look(s.first);
    look(s.second);
    look(s.step);
  }
  if (depth >= deepest_tree) stop(e.where, "the expression is too deep");
  e.depth = static_cast<std::uint16_t>(depth + 1);
  return &e;
}

// A conditional or anything tighter.
const Expression* Parser::parse_expression() {
  if (++nesting_ > deepest_nesting) stop(peek().where, "the expression is nested too deep");
  const Expression* condition = parse_binary(0);
  if (at(TokenKind::question)) {
    Expression& e = make(Kind::conditional, condition->where);
    e.operator_where = next().where;
    e.a = condition;
    e.b = parse_expression();
    expect(TokenKind::colon, "':' of 'condition ? value : value'");
    e.c = parse_expression();
    condition = sealed(e);
  }
  --nesting_;
  return condition;
}

const Expression* Parser::parse_binary(int level) {
  if (level > unary_level) return parse_unary();
  // `not` binds looser than a comparison and tighter than `and`.
  if (level == comparison_level - 1) {
    if (!at_name("not")) return parse_binary(level + 1);
    if (++nesting_ > deepest_nesting) stop(peek().where, "the expression is nested too deep");
    Expression& e = make(Kind::not_, next().where);
    e.a = parse_binary(level);
    --nesting_;
    return sealed(e);
  }
  const Expression* left = parse_binary(level + 1);
  while (const Operator* o = find_operator(peek(), level)) {
    Expression& e = make(o->kind, left->where);
    e.operator_where = next().where;
    e.a = left;
    e.b = parse_binary(level + 1);
    left = sealed(e);
    if (level == comparison_level && find_operator(peek(), level) != nullptr) {
      stop(peek().where, "comparisons do not chain", "write 'a < b and b < c'");
    }
  }
  return left;
}

const Expression* Parser::parse_unary() {
  if (!at(TokenKind::minus) && !at(TokenKind::tilde)) return parse_postfix(parse_primary());
  if (++nesting_ > deepest_nesting) stop(peek().where, "the expression is nested too deep");
  const Token token = next();
  Expression& e = make(token.kind == TokenKind::minus ? Kind::negate : Kind::complement, token.where);
  e.a = parse_unary();
  --nesting_;
  return sealed(e);
}

const Expression* Parser::parse_postfix(const Expression* base) {
  for (;;) {
    if (at(TokenKind::left_bracket)) {
      next();
      Expression& e = make(Kind::subscript, base->where);
      e.a = base;
      do e.subscripts.push_back(parse_subscript());
      while (accept(TokenKind::comma));
      expect(TokenKind::right_bracket, "']' after the subscript");
      base = sealed(e);
    } else if (at(TokenKind::dot)) {
      next();
      const Token name = expect(TokenKind::name, "a method after '.'");
      const MethodRow* row = find_row(name.text, methods);
      if (row == nullptr) {
        stop(name.where, fmt::format("views have no method '{}'", name.text),
             suggest_row(name.text, methods));
      }
      expect(TokenKind::left_paren, fmt::format("'(' after '.{}'", name.text));
      Expression& e = make(Kind::method, base->where);
      e.what = static_cast<std::uint8_t>(row->method);
      e.operator_where = name.where;
      e.a = base;
      e.arguments = parse_arguments();
      const std::size_t needed = row->method == Method::broadcast ? 2 : 1;
      const bool exact = row->method == Method::broadcast || row->method == Method::as;
      if (e.arguments.size() < needed || (exact && e.arguments.size() > needed)) {
        stop(name.where,
             fmt::format("'.{}' takes {}{} argument{}, found {}", name.text, exact ? "" : "at least ", needed,
                         needed == 1 ? "" : "s", e.arguments.size()));
      }
      base = sealed(e);
    } else {
      return base;
    }
  }
}

// Behind the opening parenthesis, up to and with the closing one.
std::vector<const Expression*> Parser::parse_arguments() {
  std::vector<const Expression*> arguments;
  if (accept(TokenKind::right_paren)) return arguments;
  do arguments.push_back(parse_expression());
  while (accept(TokenKind::comma));
  expect(TokenKind::right_paren, "',' or ')' after the argument");
  return arguments;
}

Subscript Parser::parse_subscript() {
  Subscript s;
  s.where = peek().where;
  const auto absent = [&] {
    return at(TokenKind::colon) || at(TokenKind::comma) || at(TokenKind::right_bracket);
  };
  if (!at(TokenKind::colon)) s.first = parse_expression();
  if (accept(TokenKind::colon)) {
    s.kind = Subscript::Kind::range;
    if (accept(TokenKind::plus)) {
      s.kind = Subscript::Kind::length;
      s.second = parse_expression();
      if (s.first == nullptr) stop(s.second->where, "':+n' needs a start: 'lo:+n'");
    } else if (!absent()) {
      s.second = parse_expression();
    }
    if (accept(TokenKind::colon) && !absent()) s.step = parse_expression();
  }
  s.where = join(s.where, last_);
  return s;
}

const Expression* Parser::parse_primary() {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::integer:
    case TokenKind::real: {
      Expression& e = make(token.kind == TokenKind::integer ? Kind::integer : Kind::real, token.where);
      e.integer = token.integer;
      e.real = token.real;
      e.single = token.single;
      next();
      return &e;
    }
    case TokenKind::string: {
      Expression& e = make(Kind::text, token.where);
      e.text = token.text;
      next();
      return &e;
    }
    case TokenKind::left_paren: {
      next();
      const Expression* inner = parse_expression();
      expect(TokenKind::right_paren, "')'");
      return inner;
    }
    case TokenKind::left_bracket: return parse_list_expression();
    case TokenKind::dot: return parse_raw();
    case TokenKind::name: return parse_name();
    default: unexpected("a value");
  }
}

const Expression* Parser::parse_list_expression() {
  if (++nesting_ > deepest_nesting) stop(peek().where, "the list is nested too deep");
  Expression& e = make(Kind::list, next().where);
  if (!at(TokenKind::right_bracket)) {
    do e.arguments.push_back(parse_expression());
    while (accept(TokenKind::comma));
  }
  expect(TokenKind::right_bracket, "',' or ']'");
  --nesting_;
  return sealed(e);
}

// .ap(...) and .hbm(...)
const Expression* Parser::parse_raw() {
  const Token dot = next();
  const Token name = expect(TokenKind::name, "'ap' or 'hbm' after '.'");
  if (name.text != "ap" && name.text != "hbm") {
    stop(name.where, fmt::format("'.{}' is no operand", name.text),
         "raw operands are .ap(...) and .hbm(...)");
  }
  const bool on_chip = name.text == "ap";
  expect(TokenKind::left_paren, fmt::format("'(' after '.{}'", name.text));
  Expression& e = make(on_chip ? Kind::raw_pattern : Kind::raw_hbm, dot.where);
  e.arguments = parse_arguments();
  const std::size_t needed = on_chip ? 6 : 4;
  if (e.arguments.size() != needed && e.arguments.size() != needed + 2) {
    stop(join(dot.where, last_),
         fmt::format("'.{}' takes {} arguments, or {} with an index register, found {}", name.text, needed,
                     needed + 2, e.arguments.size()),
         on_chip ? ".ap(space, type, partition, count, offset, [[step, num], ...])"
                 : ".hbm(name, type, offset, [[step, num], ...])");
  }
  return sealed(e);
}

const Expression* Parser::parse_machine(Where where) {
  next();  // the dot
  const Token name = expect(TokenKind::name, "a property after 'machine.'");
  const PropertyRow* row = find_row(name.text, properties);
  if (row == nullptr) {
    stop(name.where, fmt::format("'machine' has no '{}'", name.text), suggest_row(name.text, properties));
  }
  Expression& e = make(Kind::machine_property, where);
  e.what = static_cast<std::uint8_t>(row->property);
  return sealed(e);
}

const Expression* Parser::parse_call(const Token& name) {
  const FunctionRow* row = find_row(name.text, functions);
  if (row == nullptr) {
    if (macros_.contains(name.text)) {
      stop(name.where, fmt::format("'{}' is a macro: a statement, not a value", name.text));
    }
    stop(name.where, fmt::format("unknown function '{}'", name.text), suggest_row(name.text, functions));
  }
  next();
  Expression& e = make(Kind::call, name.where);
  e.what = static_cast<std::uint8_t>(row->function);
  e.text = name.text;
  e.arguments = parse_arguments();
  if (e.arguments.size() < row->fewest || e.arguments.size() > row->most) {
    stop(join(name.where, last_), fmt::format("'{}' takes {}{} argument{}, found {}", name.text,
                                              row->most == row->fewest ? "" : "at least ", row->fewest,
                                              row->fewest == 1 ? "" : "s", e.arguments.size()));
  }
  return sealed(e);
}

const Expression* Parser::parse_name() {
  const Token name = next();
  const Slot slot = lookup(name.text);
  if (slot == no_slot && name.text == "machine" && at(TokenKind::dot)) return parse_machine(name.where);
  if (at(TokenKind::left_paren)) return parse_call(name);
  if (name.text == "and" || name.text == "or" || name.text == "not") {
    stop(name.where, fmt::format("expected a value, found '{}'", name.text));
  }
  if (name.text == "true" || name.text == "false") {
    Expression& e = make(Kind::boolean, name.where);
    e.integer = name.text == "true";
    return &e;
  }
  if (name.text == "inf" || name.text == "nan") {
    Expression& e = make(Kind::real, name.where);
    e.real = name.text == "inf" ? std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::quiet_NaN();
    e.single = static_cast<float>(e.real);
    return &e;
  }
  if (const auto type = find<DType>(name.text)) {
    Expression& e = make(Kind::type, name.where);
    e.what = static_cast<std::uint8_t>(*type);
    return &e;
  }
  if (const int number = slot == no_slot ? register_number(name.text) : -1; number >= 0) {
    Expression& e = make(Kind::register_, name.where);
    e.integer = number;
    e.text = name.text;
    return &e;
  }
  // A word that names nothing may still be a word of the operand's enumeration or a label.
  Expression& e = make(slot == no_slot ? Kind::word : Kind::name, name.where);
  e.slot = slot;
  e.text = name.text;
  if (slot == no_slot && !is_word(name.text)) unit_.suggestions.emplace(&e, suggest(name.text));
  return &e;
}

}  // namespace ncemu::language
