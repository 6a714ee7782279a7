// Random legal instructions, and words with random bytes that still decode to legal ones, run in every mode:
// whatever they hold, a run ends, with a message if it must, and never with an error of our own.
// NCEMU_TEST_SEEDS asks for more rounds, or for fewer where time is dear.

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

#include "emu/machine/machine.h"
#include "isa/asm/assembler.h"
#include "isa/codec.h"
#include "isa/fault.h"
#include "isa/reference.h"
#include "isa/rules.h"
#include "isa/text.h"
#include "tests/support/mutate.h"
#include "tests/support/random_instruction.h"

using namespace ncemu;

namespace {

std::uint64_t rounds(std::uint64_t usual) {
  const char* asked = std::getenv("NCEMU_TEST_SEEDS");
  return asked == nullptr ? usual : std::strtoull(asked, nullptr, 10);
}

constexpr Mode modes[] = {Mode::functional, Mode::timed, Mode::timing_only, Mode::check};

// Small memories, so that thousands of machines are cheap.
Target target_of(std::string_view machine) {
  Target target = *find_target(machine);
  target.sbuf_partition_bytes = 16384;
  return target;
}

struct Outcomes {
  int finished = 0, ended = 0;
};

// Empty: the run ended, whatever it says.
std::string run(const Program& program, Mode mode, Outcomes& outcomes) {
  MachineConfig config = builtin_machine(program.target.machine);
  config.target = program.target;
  RunOptions options;
  options.mode = mode;
  options.max_instructions = 1000;
  try {
    Machine machine(config, program, options);
    const RunResult result = machine.run();
    outcomes.finished += result.status == RunStatus::finished;
    outcomes.ended += result.status != RunStatus::finished;
    return {};
  } catch (const Fault& fault) {
    // What a program does wrong is told by the result.
    return std::string("a fault escaped: ") + fault.what();
  } catch (const std::exception& error) {
    return std::string("an error escaped: ") + error.what();
  }
}

// Most signals take from semaphores what nobody gave: nothing behind them would run.
void detach(Instruction& instruction) {
  instruction.wait = {};
  instruction.update = {};
}

// Streams of their own: registers with any values, what the tensor and the vector engine need, then the
// samples.
void prepare(Program& program, test::RandomInstructions& random) {
  for (auto& stream : program.streams) stream.clear();
  for (const Engine e : all_engines) {
    for (std::uint8_t r = 0; r < 64; r = static_cast<std::uint8_t>(r + 7)) {
      Instruction move;
      move.opcode = Opcode::register_move;
      const auto value = random.chance(70) ? random.below(9) : random.below(std::uint64_t{1} << 32);
      move.operands = RegisterMove{Register{r}, static_cast<std::int32_t>(static_cast<std::uint32_t>(value))};
      program.stream(e).push_back(move);
    }
  }
  for (const char* mnemonic : {"load_stationary", "act_table_load", "load_mask", "match_value_load"}) {
    auto sample = random.next(*find_instruction(mnemonic));
    detach(sample.instruction);
    program.stream(sample.engine).push_back(sample.instruction);
  }
}

// Branches of the samples may lead as far as this.
void fill_up(Program& program) {
  for (auto& stream : program.streams) {
    while (stream.size() < 64) stream.push_back({});
  }
}

std::string text_of(const Program& program) {
  std::string text;
  for (const Engine e : all_engines) {
    for (const Instruction& i : program.stream(e)) {
      if (i.opcode == Opcode::nop || i.opcode == Opcode::register_move) continue;
      text += std::string(name(e)) + "  " + print(i, e, program) + "\n";
    }
  }
  return text;
}

void check_all_modes(const Program& program, Outcomes& outcomes, std::uint64_t round) {
  for (const Mode mode : modes) {
    const std::string wrong = run(program, mode, outcomes);
    if (wrong.empty()) continue;
    FAIL_CHECK("round ", round, ", mode ", static_cast<int>(mode), ": ", wrong, "\n", text_of(program));
    return;
  }
}

}  // namespace

TEST_CASE("random legal instructions run, or end with the program's own fault") {
  for (const std::string_view machine : {"trn1", "trn2"}) {
    test::RandomInstructions random(17, target_of(machine));
    Outcomes outcomes;
    for (std::uint64_t round = 0; round < rounds(200); ++round) {
      Program program = random.program();
      prepare(program, random);
      for (int i = 0; i < 5; ++i) {
        auto sample = random.next();
        if (random.chance(95)) detach(sample.instruction);
        program.stream(sample.engine).push_back(sample.instruction);
      }
      fill_up(program);
      check_all_modes(program, outcomes, round);
    }
    MESSAGE(machine, ": ", outcomes.finished, " runs finished, ", outcomes.ended, " ended early");
    CHECK(outcomes.finished > 0);
    CHECK(outcomes.ended > 0);
  }
}

TEST_CASE("words with changed bytes that are still legal run, or end with the program's own fault") {
  for (const std::string_view machine : {"trn1", "trn2"}) {
    test::RandomInstructions random(23, target_of(machine));
    Outcomes outcomes;
    std::uint64_t legal = 0;
    for (std::uint64_t round = 0; round < rounds(200); ++round) {
      Program program = random.program();
      prepare(program, random);
      for (int i = 0; i < 40; ++i) {
        auto sample = random.next();
        std::vector<Word> words = encode_words(sample.instruction);
        for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
          const std::size_t at = 16 + random.below(words.size() * word_bytes - 16);
          words[at / word_bytes][at % word_bytes] ^= static_cast<std::byte>(1U << random.below(8));
        }
        try {
          Instruction changed = decode(std::as_bytes(std::span(words)), "word");
          if (changed == sample.instruction) continue;
          detach(changed);
          std::vector<Violation> violations;
          check_instruction(changed, sample.engine, program.target, &program, violations);
          if (!violations.empty()) continue;
          program.stream(sample.engine).push_back(changed);
          ++legal;
        } catch (const Fault&) {  // no word of ours any more
        }
      }
      fill_up(program);
      check_all_modes(program, outcomes, round);
    }
    MESSAGE(machine, ": ", legal, " changed words, ", outcomes.finished, " runs finished, ", outcomes.ended,
            " ended early");
    CHECK(legal > rounds(200));
  }
}

TEST_CASE("changed examples that still assemble run, or end with the program's own fault") {
  std::mt19937_64 random(29);
  AssembleOptions options;
  options.most_steps = 3000;
  options.most_instructions = 500;
  Outcomes outcomes;
  std::uint64_t assembled = 0;
  for (std::uint64_t round = 0; round < 20 * rounds(200); ++round) {
    const InstructionInfo& row = all_instructions()[random() % all_instructions().size()];
    const std::string text =
        std::string(example_declarations()) + test::mutate(std::string(example(row.mnemonic)) + "\n", random);
    const Assembly assembly = assemble_text(text, "fuzz.nca", options);
    if (!assembly.ok()) continue;
    ++assembled;
    // Two of the modes by turns: the declarations are large.
    const std::string wrong =
        run(assembly.program, round % 2 == 0 ? Mode::functional : Mode::timed, outcomes) +
        run(assembly.program, round % 2 == 0 ? Mode::timing_only : Mode::check, outcomes);
    if (!wrong.empty()) FAIL_CHECK("round ", round, ": ", wrong, "\n", text);
  }
  MESSAGE(assembled, " sources assembled, ", outcomes.finished, " runs finished, ", outcomes.ended,
          " ended early");
  CHECK(assembled > rounds(200) / 2);
}
