#include "isa/coverage.h"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>

#include "isa/instruction.h"

using namespace ncemu;

namespace {

const CoverageRow& row_of(std::string_view name) {
  for (const CoverageRow& row : coverage()) {
    if (row.name == name) return row;
  }
  throw std::runtime_error("no such row");
}

}  // namespace

TEST_CASE("every instruction of the table stands for one of the datasheet's") {
  std::set<std::string_view> named;
  for (const CoverageRow& row : coverage()) named.insert(row.mnemonics.begin(), row.mnemonics.end());
  for (const InstructionInfo& row : all_instructions()) {
    CAPTURE(row.mnemonic);
    CHECK(named.contains(row.mnemonic));
  }
}

TEST_CASE("a row has mnemonics or a reason why it is outside, and a name of its own") {
  std::set<std::string_view> names;
  for (const CoverageRow& row : coverage()) {
    CAPTURE(row.name);
    CHECK(row.mnemonics.empty() == !row.reason.empty());
    CHECK(names.insert(row.name).second);
  }
}

TEST_CASE("the state of a row is that of the generation") {
  CHECK(row_of("iota").state(2) == CoverageState::implemented);
  CHECK(row_of("nonzero_with_count").state(2) == CoverageState::absent);
  CHECK(row_of("nonzero_with_count").state(3) == CoverageState::implemented);
  CHECK(row_of("sendrecv").state(2) == CoverageState::absent);
  CHECK(row_of("sendrecv").state(3) == CoverageState::outside);
  CHECK(row_of("exponential").state(3) == CoverageState::absent);
  CHECK(CoverageRow{"x", "1", 2, {"no_such_instruction"}, {}}.state(2) == CoverageState::missing);
  CHECK(CoverageRow{"x", "1", 2, {"topk"}, {}}.state(2) == CoverageState::missing);
}
