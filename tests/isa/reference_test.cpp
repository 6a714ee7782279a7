#include "isa/reference.h"

#include <doctest/doctest.h>

#include "isa/asm/assembler.h"
#include "isa/fault.h"
#include "isa/rules.h"

using namespace ncemu;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// Lines, blanks joined: pages wrap long sentences.
std::string joined(const std::string& page) {
  std::string text;
  for (const char c : page) {
    if (c == '\n' || c == ' ') {
      if (!text.empty() && text.back() != ' ') text += ' ';
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the list names every mnemonic with its sentence") {
  const std::string list = list_instructions();
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    CHECK(contains(list, row.mnemonic));
    CHECK(contains(list, row.sentence));
  }
  CHECK(contains(list, "v2: vector, gpsimd; v3: vector, scalar, gpsimd"));
}

TEST_CASE("a page names every operand, the rules that apply and an example of the instruction") {
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    const std::string page = joined(reference_page(row.mnemonic));
    CHECK(contains(page, row.sentence));
    for_each_field(default_operands(row.opcode), [&](std::string_view name, const auto&, Role) {
      CHECK(contains(page, std::string(name) + " "));
    });
    for (const Rule& rule : rules_of(row)) CHECK(contains(page, rule.sentence));
    CHECK(contains(std::string(example(row.mnemonic)), row.mnemonic));
    CHECK(contains(page, "semantics"));
  }
}

TEST_CASE("no line of a page is wider than a page unless its semantics are") {
  for (const InstructionInfo& row : all_instructions()) {
    const std::string page = reference_page(row.mnemonic);
    std::size_t begin = 0;
    for (std::size_t end = page.find('\n'); end != std::string::npos;
         begin = end + 1, end = page.find('\n', begin)) {
      const std::string line = page.substr(begin, end - begin);
      CAPTURE(line);
      CHECK(line.size() <= 120);
    }
  }
}

TEST_CASE("an unknown mnemonic is refused with the nearest one") {
  try {
    (void)reference_page("tensor_scaler");
    FAIL("found");
  } catch (const Fault& fault) {
    CHECK(fault.kind() == FaultKind::input);
    CHECK(std::string(fault.what()) ==
          "there is no instruction 'tensor_scaler'; did you mean tensor_scalar?");
  }
}

TEST_CASE("rules of a page are those that the instruction can break") {
  const auto has = [](std::string_view mnemonic, std::string_view part) {
    for (const Rule& rule : rules_of(*find_instruction(mnemonic))) {
      if (rule.sentence.find(part) != std::string_view::npos) return true;
    }
    return false;
  };
  CHECK(has("matmul", "one PSUM bank"));
  CHECK_FALSE(has("tensor_copy", "one PSUM bank"));
  CHECK(has("dma_copy", "does not write PSUM"));
  CHECK_FALSE(has("dma_copy", "65 to 128 partitions"));
  CHECK_FALSE(has("nop", "partition"));
}

TEST_CASE("a page lists the operators that a rule allows somewhere, by engine, and what they compute") {
  const std::string page = joined(reference_page("tensor_tensor"));
  CHECK(contains(page, "on vector: add subtract mult divide mod max min is_equal"));
  CHECK(contains(page, "on gpsimd: add subtract mult pow; default add"));
  CHECK(contains(page, "pow a ^ b"));
  CHECK_FALSE(contains(page, "rsqrt"));
  CHECK_FALSE(contains(page, "abs_max"));
  CHECK(contains(joined(reference_page("tensor_scalar")), "on scalar v3: add mult; default bypass"));
  const std::string activation = joined(reference_page("activation"));
  CHECK(contains(activation, "one of idle reset reduce reset_reduce; default idle"));
  CHECK_FALSE(contains(activation, "prelu x"));
  CHECK(contains(activation, "log exp_log [2^-64, 2^64] ln x"));
  CHECK(contains(activation, "reciprocal reciprocal |x| in [2^-42, 2^42] 1 / x"));
}

TEST_CASE("a page names the memories that the engines of the instruction reach") {
  CHECK(contains(joined(reference_page("iota")), "dst write tile in SBUF pattern"));
  CHECK(contains(joined(reference_page("matmul")), "dst write tile in PSUM moving read tile in SBUF"));
  CHECK(contains(joined(reference_page("memset")), "tile in SBUF or PSUM (on gpsimd: SBUF)"));
  CHECK(contains(joined(reference_page("dma_copy")), "dst write tile in SBUF or tensor in HBM"));
}

TEST_CASE("every example assembles after the declarations it stands on") {
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    const std::string source =
        std::string(example_declarations()) + std::string(example(row.mnemonic)) + "\n";
    const Assembly assembly = assemble_text(source, "example.nca");
    CHECK_MESSAGE(assembly.ok(), assembly.diagnostics.text());
    bool found = false;
    for (const auto& stream : assembly.program.streams) {
      for (const Instruction& i : stream) found = found || i.opcode == row.opcode;
    }
    CHECK(found);
  }
}
