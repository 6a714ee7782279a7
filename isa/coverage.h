#pragma once

// What of the datasheet's instructions exists here: `ncemu isa --coverage`.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ncemu {

enum class CoverageState : std::uint8_t {
  implemented,  // by all the mnemonics of the row
  missing,      // the generation has it, the instruction table does not
  absent,       // the generation does not have it
  outside,      // left out on purpose: see the reason
};
std::string_view name(CoverageState state);

struct CoverageRow {
  std::string_view name, section;  // of DATASHEET.md
  int since;                       // first generation that has it
  std::vector<std::string_view> mnemonics;
  std::string_view reason;  // why it is outside; else empty
  CoverageState state(int generation) const;
};

// Those that have machines here.
inline constexpr std::array<int, 2> coverage_generations = {2, 3};

// In the table's order.
std::span<const CoverageRow> coverage();

}  // namespace ncemu
