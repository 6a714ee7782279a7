#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "isa/asm/parser.h"
#include "isa/fault.h"

namespace ncemu::language {

const std::vector<std::string_view>& directive_names() {
  static const std::vector<std::string_view> names = {
      "assert",  "const", "elif",  "else",  "end",       "engine", "for",     "hbm",    "if",
      "include", "inout", "input", "let",   "loop",      "macro",  "machine", "output", "param",
      "print",   "psum",  "sbuf",  "scope", "semaphore", "set",    "sync",    "tables", "view"};
  return names;
}

void Parser::parse_directive(Statements& out) {
  const Token dot = next();
  const Token word = expect(TokenKind::name, "a directive after '.'");
  const Where where = join(dot.where, word.where);
  const std::string_view d = word.text;
  if (d == "for") return parse_for(where, out);
  if (d == "loop") return parse_loop(where, out);
  if (d == "if") return parse_if(where, out);
  if (d == "scope") return parse_scope(where, out);
  if (d == "engine") return parse_engine(where, out);
  if (d == "macro") return parse_macro(where);
  if (d == "include") return parse_include(where, out);
  if (d == "let" || d == "param" || d == "view") {
    parse_binding(where, d, out);
  } else if (d == "set") {
    parse_set(where, out);
  } else if (d == "sbuf" || d == "psum") {
    parse_tile(where, d == "sbuf" ? Space::sbuf : Space::psum, out);
  } else if (d == "input") {
    parse_tensor(where, TensorKind::input, out);
  } else if (d == "output") {
    parse_tensor(where, TensorKind::output, out);
  } else if (d == "inout") {
    parse_tensor(where, TensorKind::inout, out);
  } else if (d == "hbm") {
    parse_tensor(where, TensorKind::scratch, out);
  } else if (d == "const") {
    parse_constant(where, out);
  } else if (d == "assert" || d == "print") {
    Statement& s = add(d == "print" ? StatementKind::print : StatementKind::assert_, where, out);
    s.a = parse_expression();
    if (d == "assert" && accept(TokenKind::comma)) s.b = parse_expression();
  } else if (d == "semaphore") {
    Statement& s = add(StatementKind::semaphore, where, out);
    const Token name = expect_new_name("the name of a semaphore");
    s.name = name.text;
    s.slot = declare(name, SlotInfo::Kind::declaration);
  } else if (d == "machine" || d == "sync" || d == "tables") {
    parse_switch(where, d, out);
  } else {
    const std::string_view near = did_you_mean(d, directive_names());
    stop(where, fmt::format("unknown directive '.{}'", d),
         near.empty() ? std::string() : fmt::format("did you mean '.{}'?", near));
  }
  expect_line_end();
}

void Parser::parse_switch(Where where, std::string_view directive, Statements& out) {
  if (directive == "machine") {
    Statement& s = add(StatementKind::machine, where, out);
    if (!at(TokenKind::name) && !at(TokenKind::string)) unexpected("the name of a machine");
    const Token name = next();
    s.name = name.text;
    s.name_where = name.where;
    unit_.machines.push_back(&s);
    return;
  }
  Statement& s = add(directive == "sync" ? StatementKind::sync : StatementKind::tables, where, out);
  if (!at_name("auto") && !at_name("manual")) unexpected("'auto' or 'manual'");
  s.flag = next().text == "auto";
  (directive == "sync" ? unit_.sync_modes : unit_.table_modes).push_back(&s);
}

// .let, .param, .view NAME = value. The value is parsed before the name exists: `.let x = x + 1` means the
// outer x.
void Parser::parse_binding(Where where, std::string_view directive, Statements& out) {
  const StatementKind kind = directive == "let"     ? StatementKind::let
                             : directive == "param" ? StatementKind::param
                                                    : StatementKind::view;
  Statement& s = add(kind, where, out);
  const Token name = expect_new_name("the name of a value");
  s.name = name.text;
  s.name_where = name.where;
  const auto slot_kind = kind == StatementKind::param ? SlotInfo::Kind::parameter : SlotInfo::Kind::constant;
  try {
    expect(TokenKind::assign, fmt::format("'=' after '.{} {}'", directive, name.text));
    s.a = parse_expression();
  } catch (const Stop&) {
    declare(name, slot_kind);
    throw;
  }
  s.slot = declare(name, slot_kind);
  if (kind == StatementKind::param) {
    if (levels_.size() > 1) stop(where, "'.param' belongs to the file, not to a block");
    unit_.params.push_back(&s);
  }
}

// .set NAME = value changes a counter, or makes one in this block.
void Parser::parse_set(Where where, Statements& out) {
  Statement& s = add(StatementKind::set, where, out);
  const Token name = expect_new_name("the name of a counter");
  s.name = name.text;
  s.name_where = name.where;
  const Slot known = lookup(name.text);
  if (known != no_slot && unit_.slots[known].kind != SlotInfo::Kind::counter) {
    stop(name.where, fmt::format("'{}' is not a counter and cannot change", name.text),
         fmt::format("it was given in line {}; '.set' changes what '.set' made",
                     sources_.location(unit_.slots[known].where).line));
  }
  expect(TokenKind::assign, fmt::format("'=' after '.set {}'", name.text));
  s.a = parse_expression();
  s.slot = known != no_slot ? known : declare(name, SlotInfo::Kind::counter);
}

void Parser::parse_for(Where where, Statements& out) {
  Statement& s = add(StatementKind::for_, where, out);
  enter(s.body);
  parse_header(s, [&] {
    const Token name = expect_new_name("the name of a loop variable");
    s.name = name.text;
    s.slot = declare(name, SlotInfo::Kind::loop_variable);
    expect_word("in", "after the loop variable");
    s.a = parse_expression();
    expect(TokenKind::range, "'..'");
    s.b = parse_expression();
    if (accept_name("step")) s.c = parse_expression();
  });
  parse_body(s.body, s);
  leave();
}

void Parser::parse_loop(Where where, Statements& out) {
  Statement& s = add(StatementKind::loop, where, out);
  enter(s.body);
  parse_header(s, [&] {
    const Token name = expect_new_name("the name of a loop variable");
    s.name = name.text;
    s.slot = declare(name, SlotInfo::Kind::loop_variable);
    expect(TokenKind::assign, "'=' after the loop variable");
    s.a = parse_expression();
    expect(TokenKind::range, "'..'");
    s.b = parse_expression();
    if (accept_name("step")) s.c = parse_expression();
    if (accept(TokenKind::comma)) {
      expect_word("unroll", "after ','");
      expect(TokenKind::assign, "'=' after 'unroll'");
      s.d = parse_expression();
    }
  });
  parse_body(s.body, s);
  leave();
}

void Parser::parse_scope(Where where, Statements& out) {
  Statement& s = add(StatementKind::scope, where, out);
  enter(s.body);
  parse_header(s, [] {});
  parse_body(s.body, s);
  leave();
}

void Parser::parse_engine(Where where, Statements& out) {
  Statement& s = add(StatementKind::engine, where, out);
  enter(s.body);
  parse_header(s, [&] { s.a = parse_expression(); });
  parse_body(s.body, s);
  leave();
}

void Parser::parse_if(Where where, Statements& out) {
  Statement& s = add(StatementKind::if_, where, out);
  open_nested();
  s.branches.emplace_back();
  parse_header(s, [&] { s.branches.back().condition = parse_expression(); });
  parse_statements(s.branches.back().statements);
  while (at_block_end() && peek(1).text != "end" && s.branches.back().condition != nullptr) {
    next();
    const bool has_condition = next().text == "elif";
    s.branches.emplace_back();
    parse_header(s, [&] {
      if (has_condition) s.branches.back().condition = parse_expression();
    });
    parse_statements(s.branches.back().statements);
  }
  close_block(where, ".if");
  --open_blocks_;
}

void Parser::parse_macro(Where where) {
  Macro& macro = unit_.macros.emplace_back();
  macro.where = where;
  macro.file = open_files_.back();
  macro.first_slot = static_cast<Slot>(unit_.slots.size());
  Statement opener;
  opener.where = where;
  enter(macro.body);
  const Where before = where;
  parse_header(opener, [&] {
    const Token name = expect_new_name("the name of a macro");
    macro.name = name.text;
    macro.where = name.where;
    if (find_instruction(name.text) != nullptr) {
      stop(name.where, fmt::format("'{}' is an instruction and cannot be a macro", name.text));
    }
    expect(TokenKind::left_paren, "'(' after the macro's name");
    if (!accept(TokenKind::right_paren)) {
      do {
        const Token parameter = expect_new_name("the name of a parameter");
        const std::size_t count = macro.body.slots.size();
        macro.parameters.push_back(declare(parameter, SlotInfo::Kind::macro_parameter));
        if (macro.body.slots.size() == count) {
          stop(parameter.where, fmt::format("macro '{}' has two parameters '{}'", name.text, parameter.text));
        }
      } while (accept(TokenKind::comma));
      expect(TokenKind::right_paren, "',' or ')' after the parameter");
    }
    const auto known = macros_.find(name.text);
    if (known != macros_.end()) {
      const Macro& first = *known->second;
      // A file that two others include defines its macros twice, alike.
      if (first.file == macro.file && first.where.offset == name.where.offset) return;
      stop(name.where, fmt::format("macro '{}' exists already", name.text),
           fmt::format("it is defined in {}:{}", sources_.location(first.where).file,
                       sources_.location(first.where).line));
    }
    macros_.emplace(name.text, &macro);
  });
  open_macros_.push_back(&macro);
  parse_statements(macro.body.statements);
  open_macros_.pop_back();
  close_block(before, ".macro");
  leave();
  macro.last_slot = static_cast<Slot>(unit_.slots.size());
}

void Parser::parse_include(Where where, Statements& out) {
  const Token path = expect(TokenKind::string, "the name of a file, in quotes");
  expect_line_end();
  const std::filesystem::path from = sources_.file(where.file).name();
  const std::string full = (from.parent_path() / std::filesystem::path(path.text)).string();
  const std::string identity = canonical_path(full);
  if (std::find(open_files_.begin(), open_files_.end(), identity) != open_files_.end()) {
    stop(path.where, fmt::format("\"{}\" includes itself", path.text));
  }
  if (sources_.size() >= most_files) stop(path.where, "more than a thousand files are included");
  if (open_files_.size() >= static_cast<std::size_t>(deepest_nesting))
    stop(path.where, "includes are nested too deep");
  std::uint32_t file = 0;
  try {
    file = sources_.add(full, read_text_file(full), join(where, path.where));
  } catch (const Fault& fault) {
    stop(path.where, fmt::format("\"{}\" {}", path.text, fault.message()),
         fmt::format("looked for {}", fault.where()));
  }
  open_files_.push_back(identity);
  parse_tokens_of(file, out);
  open_files_.pop_back();
}

}  // namespace ncemu::language
