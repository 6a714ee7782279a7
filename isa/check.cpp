#include "isa/check.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "isa/check_earlier.h"
#include "isa/rules.h"

namespace ncemu {
namespace {

// Contradiction C29 of the datasheet: what the hardware's map allows, the documents have removed.
constexpr std::string_view psum_source =
    "A transfer may read PSUM, but the documents do not have it any more; copy the tile to SBUF first.";

bool reads_psum(const Instruction& instruction) {
  bool found = false;
  for_each_access(instruction, [&](const auto& pattern, Role role) {
    if constexpr (std::is_same_v<std::decay_t<decltype(pattern)>, AccessPattern>)
      found = found || (role == Role::read && pattern.space == Space::psum);
  });
  return found;
}

}  // namespace

Location location(const Program& program, std::uint32_t site) {
  const Site& s = program.sites[site];
  if (s.file == no_index) return {program.name, 0, 0, 0};
  return {program.files[s.file], s.line, s.column, 0};
}

Diagnostic diagnose(const Program& program, Severity severity, std::uint32_t site, std::string message) {
  Diagnostic diagnostic;
  diagnostic.severity = severity;
  diagnostic.where = location(program, site);
  diagnostic.message = std::move(message);
  for (std::uint32_t s = program.sites[site].parent; s != no_index; s = program.sites[s].parent) {
    Diagnostic note;
    note.severity = Severity::note;
    note.where = location(program, s);
    note.message = "expanded from here";
    diagnostic.notes.push_back(std::move(note));
  }
  return diagnostic;
}

void check_program(const Program& program, Diagnostics& diagnostics) {
  std::vector<Violation> violations;
  std::set<std::pair<std::uint32_t, const char*>> reported;
  for (const Engine engine : all_engines) {
    for (const Instruction& instruction : program.stream(engine)) {
      check_instruction(instruction, engine, program.target, &program, violations);
      for (const Violation& v : violations) {
        if (!reported.insert({instruction.site, v.rule.data()}).second) continue;
        const std::string_view mnemonic = info(instruction.opcode).mnemonic;
        Diagnostic d = diagnose(program, Severity::error, instruction.site,
                                v.operand.empty() ? fmt::format("{}: {}", mnemonic, v.message)
                                                  : fmt::format("{} {}: {}", mnemonic, v.operand, v.message));
        d.hint = v.rule;
        d.reference = fmt::format("datasheet {}", v.section);
        diagnostics.add(std::move(d));
      }
      violations.clear();
      if (info(instruction.opcode).is_dma() && reads_psum(instruction) &&
          reported.insert({instruction.site, psum_source.data()}).second) {
        Diagnostic d = diagnose(program, Severity::warning, instruction.site,
                                fmt::format("{} reads psum", info(instruction.opcode).mnemonic));
        d.hint = psum_source;
        d.reference = "datasheet 3.4";
        diagnostics.add(std::move(d));
      }
    }
  }
  check_earlier(program, diagnostics);
}

}  // namespace ncemu
