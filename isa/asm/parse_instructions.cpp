#include <fmt/format.h>

#include <algorithm>

#include "isa/asm/parser.h"

namespace ncemu::language {
namespace {

template <typename T>
inline constexpr bool is_positional = std::is_same_v<T, AccessPattern> || std::is_same_v<T, MemoryOperand> ||
                                      std::is_same_v<T, Register> || std::is_same_v<T, IntOperand>;

template <typename T>
constexpr std::string_view expectation() {
  if constexpr (std::is_same_v<T, AccessPattern>) return "a view in SBUF or PSUM";
  if constexpr (std::is_same_v<T, MemoryOperand>) return "a view";
  if constexpr (std::is_same_v<T, Register>) return "a register";
  if constexpr (std::is_same_v<T, IntOperand>) return "an integer or a register";
  return "a value";
}

}  // namespace

// What the row's form asks for, in its order.
const std::vector<Parser::Field>& Parser::fields(const InstructionInfo& row) {
  auto [found, is_new] = fields_.try_emplace(&row);
  if (is_new) {
    Operands operands = default_operands(row.opcode);
    std::size_t needed = 0;
    for_each_field(operands, [&](std::string_view, const auto&, Role) { ++needed; });
    if (auto* compute = std::get_if<DmaCompute>(&operands)) compute->sources.resize(DmaCompute::most_sources);
    // An unconditional branch compares nothing.
    const bool optional_registers = std::holds_alternative<CompareBranch>(operands);
    for_each_field(operands, [&](std::string_view name, const auto& field, Role) {
      using T = std::decay_t<decltype(field)>;
      const bool is_register = std::is_same_v<T, Register> || std::is_same_v<T, IntOperand>;
      const bool required =
          is_positional<T> && !(is_register && optional_registers) && found->second.size() < needed;
      found->second.push_back({name, is_positional<T>, required, std::is_same_v<T, Axes>, expectation<T>()});
    });
  }
  return found->second;
}

void Parser::parse_instruction(const Token& mnemonic, Statements& out) {
  const InstructionInfo* row = find_instruction(mnemonic.text);
  if (row == nullptr) {
    std::vector<std::string_view> candidates;
    for (const InstructionInfo& r : all_instructions()) candidates.push_back(r.mnemonic);
    for (const Macro& m : unit_.macros) candidates.push_back(m.name);
    const std::string_view near = did_you_mean(mnemonic.text, candidates);
    const bool is_macro = macros_.contains(near.empty() ? mnemonic.text : near);
    stop(mnemonic.where, fmt::format("unknown instruction '{}'", mnemonic.text),
         macros_.contains(mnemonic.text)
             ? fmt::format("a macro call needs parentheses: {}(...)", mnemonic.text)
         : near.empty() ? std::string()
                        : fmt::format("did you mean '{}{}'?", near, is_macro ? "(...)" : ""));
  }
  Statement& s = add(StatementKind::instruction, mnemonic.where, out);
  s.name = mnemonic.text;
  s.instruction = std::make_unique<InstructionSyntax>();
  InstructionSyntax& instruction = *s.instruction;
  instruction.row = row;
  const std::vector<Field>& fields = this->fields(*row);
  instruction.fields.assign(fields.size(), nullptr);
  instruction.keeps_rank =
      std::any_of(fields.begin(), fields.end(), [](const Field& f) { return f.is_axes; });

  std::size_t positional = 0;
  bool after_comma = false;
  const auto at_clause = [&] {
    return (at_name("wait") || at_name("signal")) && peek(1).kind != TokenKind::assign;
  };
  while (!at_line_end() || after_comma) {
    if (at_line_end()) unexpected("an operand after ','");
    if (at_name("wait") && at_clause()) {
      parse_wait(instruction);
    } else if (at_name("signal") && at_clause()) {
      parse_signal(instruction);
    } else {
      parse_operand(mnemonic, instruction, fields, positional);
    }
    after_comma = accept(TokenKind::comma);
    if (!after_comma && !at_line_end() && !at_clause()) unexpected("',' or the end of the line");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].required && instruction.fields[i] == nullptr) {
      stop(mnemonic.where,
           fmt::format("{} needs operand '{}': {}", mnemonic.text, fields[i].name, fields[i].expects));
    }
  }
}

void Parser::parse_operand(const Token& mnemonic, InstructionSyntax& instruction,
                           const std::vector<Field>& fields, std::size_t& positional) {
  const Where where = peek().where;
  if (!at(TokenKind::name) || peek(1).kind != TokenKind::assign) {
    while (positional < fields.size() && !fields[positional].positional) ++positional;
    const Expression* value = parse_expression();
    if (positional >= fields.size()) {
      std::string positions;
      for (const Field& f : fields) {
        if (f.positional) positions += fmt::format("{}{}", positions.empty() ? "" : ", ", f.name);
      }
      stop(value->where,
           positions.empty() ? fmt::format("{} takes no operands without a name", mnemonic.text)
                             : fmt::format("too many operands: {} takes {}", mnemonic.text, positions),
           "the others are written 'name = value'");
    }
    if (instruction.fields[positional] != nullptr) {
      stop(value->where, fmt::format("operand '{}' is given twice", fields[positional].name));
    }
    instruction.fields[positional++] = value;
    return;
  }
  const Token name = next();
  next();
  const Expression* value = parse_expression();
  if (name.text == "engine" || name.text == "issuer") {
    const bool dma = instruction.row->is_dma();
    if (dma != (name.text == "issuer")) {
      stop(name.where, dma ? fmt::format("{} is a transfer: its engine is called 'issuer'", mnemonic.text)
                           : fmt::format("{} is no transfer: its engine is called 'engine'", mnemonic.text));
    }
    if (instruction.engine != nullptr) stop(name.where, fmt::format("'{}' is given twice", name.text));
    instruction.engine = value;
    return;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name != name.text) continue;
    if (instruction.fields[i] != nullptr)
      stop(name.where, fmt::format("operand '{}' is given twice", name.text));
    instruction.fields[i] = value;
    return;
  }
  std::vector<std::string_view> candidates;
  std::string all;
  for (const Field& f : fields) candidates.push_back(f.name);
  candidates.push_back(instruction.row->is_dma() ? "issuer" : "engine");
  for (const std::string_view c : candidates) all += fmt::format("{}{}", all.empty() ? "" : ", ", c);
  const std::string_view near = did_you_mean(name.text, candidates);
  stop(where, fmt::format("{} has no operand '{}'", mnemonic.text, name.text),
       near.empty() ? fmt::format("it has {}", all) : fmt::format("did you mean '{}'?", near));
}

// wait ready >= 4, wait S[3] == r7
void Parser::parse_wait(InstructionSyntax& instruction) {
  WaitClause clause;
  clause.where = next().where;
  if (instruction.wait)
    stop(clause.where, "an instruction carries one wait", "put further ones on event_semaphore");
  if (at_name("S") && peek(1).kind == TokenKind::left_bracket) {
    next();
    next();
    clause.raw = parse_expression();
    expect(TokenKind::right_bracket, "']' after the semaphore's number");
  } else {
    if (!at(TokenKind::name)) unexpected("a semaphore: its name or S[number]");
    clause.semaphore = parse_name();
  }
  switch (peek().kind) {
    case TokenKind::less: clause.condition = Comparison::lt; break;
    case TokenKind::less_equal: clause.condition = Comparison::le; break;
    case TokenKind::equal: clause.condition = Comparison::eq; break;
    case TokenKind::not_equal: clause.condition = Comparison::ne; break;
    case TokenKind::greater_equal: clause.condition = Comparison::ge; break;
    case TokenKind::greater: clause.condition = Comparison::gt; break;
    default: unexpected("a comparison: <, <=, ==, !=, >= or >");
  }
  next();
  clause.value = parse_binary(value_level);
  clause.where = join(clause.where, last_);
  instruction.wait = clause;
}

// signal ready += 1 @complete, signal S[4]++ @read, signal E[5] set @complete
void Parser::parse_signal(InstructionSyntax& instruction) {
  SignalClause clause;
  clause.where = next().where;
  if (instruction.signal)
    stop(clause.where, "an instruction carries one signal", "put further ones on event_semaphore");
  bool event = false;
  if ((at_name("S") || at_name("E")) && peek(1).kind == TokenKind::left_bracket) {
    event = next().text == "E";
    next();
    clause.raw = parse_expression();
    expect(TokenKind::right_bracket, "']' after the number");
  } else {
    if (!at(TokenKind::name)) unexpected("a semaphore: its name or S[number], or an event: E[number]");
    clause.semaphore = parse_name();
  }
  if (event) {
    if (!at_name("set") && !at_name("clear")) unexpected("'set' or 'clear'");
    clause.operation = next().text == "set" ? UpdateOperation::evt_set : UpdateOperation::evt_clr;
  } else if (at(TokenKind::plus) && peek(1).kind == TokenKind::plus) {
    next();
    next();
    clause.operation = UpdateOperation::sem_inc;
  } else if (at(TokenKind::minus) && peek(1).kind == TokenKind::minus) {
    next();
    next();
    clause.operation = UpdateOperation::sem_dec;
  } else {
    clause.operation = accept(TokenKind::plus)    ? UpdateOperation::sem_add_imm
                       : accept(TokenKind::minus) ? UpdateOperation::sem_sub_imm
                                                  : UpdateOperation::sem_wr_imm;
    expect(TokenKind::assign, "'++', '--', '+=', '-=' or '='");
    clause.value = parse_binary(value_level);
  }
  if (accept(TokenKind::at)) {
    if (!at_name("read") && !at_name("complete")) unexpected("'read' or 'complete' after '@'");
    clause.when = next().text == "read" ? UpdateWhen::read : UpdateWhen::complete;
  }
  clause.where = join(clause.where, last_);
  instruction.signal = clause;
}

}  // namespace ncemu::language
