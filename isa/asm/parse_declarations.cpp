#include <fmt/format.h>

#include <algorithm>

#include "isa/asm/parser.h"

namespace ncemu::language {

// type[dimension, ...]
std::unique_ptr<ShapeSyntax> Parser::parse_shape() {
  auto shape = std::make_unique<ShapeSyntax>();
  const Where start = peek().where;
  if (!at(TokenKind::name) && !at(TokenKind::left_paren)) unexpected("a type");
  shape->type = parse_primary();
  if (accept(TokenKind::left_bracket) && !accept(TokenKind::right_bracket)) {
    do shape->dimensions.push_back(parse_expression());
    while (accept(TokenKind::comma));
    expect(TokenKind::right_bracket, "',' or ']' after the dimension");
  }
  shape->where = join(start, last_);
  return shape;
}

// .sbuf name[a][b] : type[P, ...], buffers = n @ partition = 0 offset = 4096
void Parser::parse_tile(Where where, Space space, Statements& out) {
  Statement& s = add(StatementKind::tile, where, out);
  const Token name = expect_new_name("the name of a tile");
  s.name = name.text;
  s.name_where = name.where;
  s.slot = declare(name, SlotInfo::Kind::declaration);
  s.tile = std::make_unique<TileSyntax>();
  TileSyntax& tile = *s.tile;
  tile.space = space;
  while (accept(TokenKind::left_bracket)) {
    do tile.array.push_back(parse_expression());
    while (accept(TokenKind::comma));
    expect(TokenKind::right_bracket, "']' after the array's size");
  }
  expect(TokenKind::colon, "':' and the tile's type");
  tile.shape = std::move(*parse_shape());

  bool placed = false;
  while (!at_line_end()) {
    if (accept(TokenKind::comma)) {
    } else if (accept(TokenKind::at)) {
      placed = true;
    } else if (!placed) {
      unexpected("',' or '@'");
    }
    const Token option = expect(TokenKind::name, placed ? "'partition', 'offset' or 'bank'" : "'buffers'");
    const Expression** target = nullptr;
    if (option.text == "buffers") target = &tile.buffers;
    if (placed && option.text == "partition") target = &tile.partition;
    if (placed && option.text == "offset" && space == Space::sbuf) target = &tile.offset;
    if (placed && option.text == "bank" && space == Space::psum) target = &tile.bank;
    if (target == nullptr) {
      stop(option.where, fmt::format("unknown option '{}' of '.{}'", option.text, ncemu::name(space)),
           space == Space::sbuf ? "write ', buffers = n' and '@ partition = p offset = bytes'"
                                : "write ', buffers = n' and '@ partition = p bank = b'");
    }
    if (*target != nullptr) stop(option.where, fmt::format("'{}' is given twice", option.text));
    expect(TokenKind::assign, fmt::format("'=' after '{}'", option.text));
    *target = parse_expression();
  }
  levels_.back().block->has_tiles = true;
  for (Macro* macro : open_macros_) macro->contains_tiles = true;
}

void Parser::parse_tensor(Where where, TensorKind kind, Statements& out) {
  Statement& s = add(StatementKind::tensor, where, out);
  s.tensor_kind = kind;
  const Token name = expect_new_name("the name of a tensor");
  s.name = name.text;
  s.name_where = name.where;
  s.slot = declare(name, SlotInfo::Kind::declaration);
  expect(TokenKind::colon, "':' and the tensor's type");
  s.shape = parse_shape();
}

// .const name : type[...] = file "x.npy" | [ ... ] | bits [ ... ] | eye | iota | fill(v)
void Parser::parse_constant(Where where, Statements& out) {
  Statement& s = add(StatementKind::constant, where, out);
  s.tensor_kind = TensorKind::constant;
  const Token name = expect_new_name("the name of a constant");
  s.name = name.text;
  s.name_where = name.where;
  s.slot = declare(name, SlotInfo::Kind::declaration);
  expect(TokenKind::colon, "':' and the constant's type");
  s.constant = std::make_unique<ConstantSyntax>();
  ConstantSyntax& constant = *s.constant;
  constant.shape = std::move(*parse_shape());
  expect(TokenKind::assign, "'=' and the constant's value");
  constant.value_where = peek().where;
  using Source = ConstantSyntax::Source;
  if (accept_name("file")) {
    constant.source = Source::file;
    constant.path = expect(TokenKind::string, "the name of a .npy file, in quotes").text;
  } else if (accept_name("bits")) {
    constant.source = Source::bits;
    if (!at(TokenKind::left_bracket)) unexpected("'[' after 'bits'");
    parse_list(constant, 0);
  } else if (at(TokenKind::left_bracket)) {
    constant.source = Source::list;
    parse_list(constant, 0);
  } else if (accept_name("eye")) {
    constant.source = Source::eye;
  } else if (accept_name("iota")) {
    constant.source = Source::iota;
  } else if (accept_name("fill")) {
    constant.source = Source::fill;
    expect(TokenKind::left_paren, "'(' after 'fill'");
    constant.value = parse_expression();
    expect(TokenKind::right_paren, "')'");
  } else {
    unexpected("'file', a list, 'bits', 'eye', 'iota' or 'fill(value)'");
  }
  constant.value_where = join(constant.value_where, last_);
}

// A list whose rows, if it is nested, are equally long.
void Parser::parse_list(ConstantSyntax& constant, std::size_t level) {
  constexpr std::size_t deepest = 12;
  const Where start = expect(TokenKind::left_bracket, "'['").where;
  if (level >= deepest) stop(start, "the list is nested too deep");
  const bool is_new = constant.list_shape.size() == level;
  if (is_new && !constant.items.empty()) stop(start, "a list holds either numbers or lists, not both");
  if (is_new) constant.list_shape.push_back(-1);
  std::int64_t count = 0;
  while (!at(TokenKind::right_bracket)) {
    if (count > 0) expect(TokenKind::comma, "',' or ']'");
    if (at(TokenKind::right_bracket)) break;  // a comma may follow the last item
    ++count;
    if (at(TokenKind::left_bracket)) {
      parse_list(constant, level + 1);
      continue;
    }
    if (constant.list_shape.size() > level + 1)
      stop(peek().where, "a list holds either numbers or lists, not both");
    ListItem item;
    item.where = peek().where;
    const std::size_t sign = at(TokenKind::minus) ? 1 : 0;
    const TokenKind kind = peek(sign).kind;
    const TokenKind after = peek(sign + 1).kind;
    if ((kind == TokenKind::integer || kind == TokenKind::real) &&
        (after == TokenKind::comma || after == TokenKind::right_bracket)) {
      if (sign != 0) next();
      const Token token = next();
      item.kind = kind == TokenKind::integer ? ListItem::Kind::integer : ListItem::Kind::real;
      item.integer = sign != 0 ? -token.integer : token.integer;
      item.real = sign != 0 ? -token.real : token.real;
      item.single = sign != 0 ? -token.single : token.single;
    } else {
      item.kind = ListItem::Kind::expression;
      item.value = parse_expression();
    }
    constant.items.push_back(item);
  }
  next();
  std::int64_t& expected = constant.list_shape[level];
  if (expected < 0) expected = count;
  if (expected != count) {
    stop(join(start, last_), fmt::format("this list has {} items, the one before it {}", count, expected));
  }
}

}  // namespace ncemu::language
