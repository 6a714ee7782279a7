#include <array>

#include "emu/data/exec.h"
#include "emu/data/lane_slices.h"
#include "isa/fault.h"

namespace ncemu {
namespace {

using Run = void (*)(const Instruction&, Engine, State&);

// Inside a template the untaken branch refers to nothing: a control row needs no function, any other
// row without one is a link error that names it.
#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence)                                      \
  template <CostClass Class>                                                                           \
  void run_##mnemonic([[maybe_unused]] const Instruction& instruction, [[maybe_unused]] Engine engine, \
                      [[maybe_unused]] State& state) {                                                 \
    if constexpr (Class != CostClass::control) {                                                       \
      exec::mnemonic(std::get<form>(instruction.operands), engine, state);                             \
    } else {                                                                                           \
      ensure(false, "control instructions are the sequencer's business");                              \
    }                                                                                                  \
  }
#include "isa/instructions.def"
#undef INSTRUCTION

constexpr std::size_t code_limit = 256;  // codes are small

constexpr std::array<Run, code_limit> make_table() {
  std::array<Run, code_limit> table{};
#define INSTRUCTION(mnemonic, code, v2, v3, form, cost, sentence) \
  table[code] = run_##mnemonic<CostClass::cost>;
#include "isa/instructions.def"
#undef INSTRUCTION
  return table;
}
constexpr std::array<Run, code_limit> table = make_table();

}  // namespace

void execute(const Instruction& instruction, Engine engine, State& state) {
  const auto code = static_cast<std::size_t>(instruction.opcode);
  ensure(code < code_limit && table[code] != nullptr, "every opcode has a row in the instruction table");
  if (state.stochastic_rounding) state.stochastic_rounding->begin(engine);
  if (state.watch) state.watch->before(instruction, state);
  if (!execute_in_slices(instruction, engine, state, table[code])) table[code](instruction, engine, state);
  if (state.watch) state.watch->after(instruction, state);
}

}  // namespace ncemu
