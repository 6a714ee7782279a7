#pragma once

// Every rule on every instruction of a program, as diagnostics at the places they came from.

#include <string>

#include "isa/diagnostics.h"
#include "isa/program.h"

namespace ncemu {

Location location(const Program& program, std::uint32_t site);

// A diagnostic at `site`, with the macro calls that led there as notes.
Diagnostic diagnose(const Program& program, Severity severity, std::uint32_t site, std::string message);

// Each broken rule once per place in the source, however often the place was executed.
void check_program(const Program& program, Diagnostics& diagnostics);

}  // namespace ncemu
