#pragma once

// Why no engine can go on, in words: for each engine that has not ended where it stands, what it waits for,
// how much is missing and who could still signal it.

#include <span>
#include <string>

#include "emu/machine/machine.h"

namespace ncemu {

std::string describe_deadlock(const Program& program, std::span<const Standing> standings);

}  // namespace ncemu
