#include "isa/coverage.h"

#include <algorithm>

#include "isa/instruction.h"

namespace ncemu {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    result.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

bool exists(std::string_view mnemonic, int generation) {
  const InstructionInfo* row = find_instruction(mnemonic);
  return row != nullptr && !row->engines(generation).empty();
}

std::vector<CoverageRow> make_rows() {
  return {
#define COVERED(name, section, since, mnemonics) {name, section, since, words(mnemonics), {}},
#define OUTSIDE(name, section, since, reason) {name, section, since, {}, reason},
#include "isa/coverage.def"
#undef COVERED
#undef OUTSIDE
  };
}

}  // namespace

std::string_view name(CoverageState state) {
  switch (state) {
    case CoverageState::implemented: return "implemented";
    case CoverageState::missing: return "missing";
    case CoverageState::absent: return "absent";
    case CoverageState::outside: return "outside";
  }
  return "";
}

CoverageState CoverageRow::state(int generation) const {
  if (generation < since) return CoverageState::absent;
  if (!reason.empty()) return CoverageState::outside;
  const bool all = std::all_of(mnemonics.begin(), mnemonics.end(),
                               [&](std::string_view mnemonic) { return exists(mnemonic, generation); });
  return all ? CoverageState::implemented : CoverageState::missing;
}

std::span<const CoverageRow> coverage() {
  static const std::vector<CoverageRow> rows = make_rows();
  return rows;
}

}  // namespace ncemu
